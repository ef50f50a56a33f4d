"""A folder for PoCL's files that belongs to this process alone.

A file of PoCL's own cache that is cut off ends the next process with an abort, so
binaries that outlive the process are kept in minifut's cache instead, which checks
them (binaries.py).

A process holds a lock on its folder as long as it runs. What a process left behind
that ended without cleaning up is thus distinguished from what another one uses, also
where processes cannot see each other (containers that share a folder for temporary
files).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from minifut.errors import UsageError
from minifut.interrupts import note_temporary

PREFIX = "minifut-driver-"
ROOM = 8 << 20
"""bytes: a program as PoCL writes it, linked with its library, takes some 2 MB"""

_mine: list[Path] = []


def use_private_folder() -> None:
    """Let PoCL, which is not loaded yet, keep its files in a folder of this process;
    remove those that are not in use any more. A user's own choice of folder stays."""
    if "POCL_CACHE_DIR" in os.environ:
        return
    temporary = Path(tempfile.gettempdir())
    for left in temporary.glob(f"{PREFIX}*"):
        handle = _lock(left)
        if handle is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(handle)
    # Locked under another name first: until then it looks as if it was left behind.
    name = os.urandom(6).hex()
    fresh, folder = temporary / f"new-{name}", temporary / f"{PREFIX}{name}"
    for path in (fresh, folder):
        note_temporary(str(path))
    fresh.mkdir(mode=0o700)
    _lock(fresh)
    fresh.rename(folder)
    os.environ["POCL_CACHE_DIR"] = str(folder)
    _mine.append(folder)


def restore_private_folder() -> None:
    """Make the folder again if it was deleted: PoCL cannot build without it."""
    for folder in _mine:
        if not folder.is_dir():
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o700)
                _lock(folder)


def require_disk_space() -> None:
    """Raise a `UsageError` if there is no space for PoCL's files: LLVM ends the process
    if it cannot write one to the end."""
    folder = os.environ.get("POCL_CACHE_DIR", tempfile.gettempdir())
    with contextlib.suppress(OSError):
        free = min(shutil.disk_usage(folder).free, _largest_file())
        if free < ROOM:
            raise UsageError(
                f"{folder}: the driver needs {ROOM >> 20} MiB for temporary files, "
                f"{free / (1 << 20):.1f} MiB are free; set TMPDIR to another folder"
            )


def _largest_file() -> int:
    """The limit on the size of a file that this process writes."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    except ImportError:
        return ROOM
    return ROOM if limit == resource.RLIM_INFINITY else limit


def private_folders() -> list[Path]:
    """Where PoCL keeps the files of this process, if that is its own folder."""
    return list(_mine)


def _lock(folder: Path) -> int | None:
    """Hold the folder until this process ends or closes what is returned; None if
    another one does, or if it is another user's, or where there are no such locks."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


@atexit.register
def _remove_private_folders() -> None:
    for folder in _mine:
        shutil.rmtree(folder, ignore_errors=True)


if hasattr(os, "register_at_fork"):
    # A forked process ends long before the one that uses the folder.
    os.register_at_fork(after_in_child=_mine.clear)
