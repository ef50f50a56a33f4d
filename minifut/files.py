"""Files that appear whole or not at all.

    write_whole(path, data)
    write_together([(path, write), ..])     none appears before all are written
    require_writable(paths)                 asked before the long work is done

Data is written beside its place and renamed. A link is followed, a file that is there
keeps its permissions, and what is no regular file (a pipe, a device such as
`/dev/null`) is written to, never replaced.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

from minifut.errors import UsageError, reason

Write = Callable[[IO[bytes]], object]


def write_whole(path: Path, data: bytes) -> None:
    """Write a file. Raises `UsageError`."""
    write_together([(path, lambda stream: stream.write(data))])


def require_writable(paths: Iterable[Path]) -> None:
    """Refuse files that could not be written. Raises `UsageError`."""
    for path in paths:
        target = Path(os.path.realpath(path))
        try:
            _mode(target)
            if not target.exists():
                os.unlink(_temporary_beside(target))
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {reason(error)}") from None


def write_together(files: Sequence[tuple[Path, Write]]) -> None:
    """Write several files. Raises `UsageError`."""
    ready: list[tuple[Path, str, Path]] = []
    direct: list[tuple[Path, Write]] = []
    path = Path()
    try:
        for path, write in files:
            if path.exists() and not (path.is_file() or path.is_dir()):
                direct.append((path, write))
            else:
                target = Path(os.path.realpath(path))
                mode = _mode(target)
                ready.append((path, _temporary_beside(target), target))
                with open(ready[-1][1], "wb") as stream:
                    write(stream)
                os.chmod(ready[-1][1], mode)
        for path, write in direct:
            # Pipes have no positions, which some writers ask for.
            data = io.BytesIO()
            write(data)
            with path.open("wb") as stream:
                stream.write(data.getbuffer())
        while ready:
            path, temporary, target = ready[0]
            os.replace(temporary, target)
            del ready[0]
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {reason(error)}") from None
    finally:
        for _, temporary, _ in ready:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _temporary_beside(target: Path) -> str:
    import tempfile

    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".minifut-")
    os.close(handle)
    return name


def _mode(target: Path) -> int:
    """The permissions that the file shall have. Raises `OSError` where it may not be
    written."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists():
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
