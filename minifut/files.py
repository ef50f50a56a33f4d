"""Files: only regular ones are read, and they appear whole or not at all.

    open_regular(path), read_regular(path, most)
    write_whole(path, data)
    write_together([(path, write), ..])     none appears before all are written
    require_writable(paths)                 called before the long work is done

A pipe or a device in the place of a file to read would keep a reader waiting for ever.
Data is written beside its place and renamed. A link is followed, a file that is there
keeps its permissions, and what is no regular file (a pipe with a reader, a device
such as `/dev/null`) is written to, never replaced.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

from minifut.errors import UsageError, reason
from minifut.interrupts import deferred, forget_temporary, note_temporary

Write = Callable[[IO[bytes]], object]

WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
LONGEST_WAIT = 2.0
"""seconds until the other end of a pipe is opened"""
LARGEST_TEXT = 16 << 20
"""bytes of a file that is written by people"""


def open_regular(path: str | Path) -> io.BufferedReader:
    """A regular file, for reading. Raises `OSError`, and never waits: a device is not
    opened, and a pipe that takes the place of the file meanwhile not waited for."""
    _require_regular(os.stat(path))
    handle = os.open(path, os.O_RDONLY | WITHOUT_WAITING)
    try:
        _require_regular(os.fstat(handle))
    except OSError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def _require_regular(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def read_regular(path: str | Path, most: int) -> bytes:
    """The bytes of a regular file. Raises `OSError`, also if there are more than
    `most`."""
    with open_regular(path) as stream:
        if os.fstat(stream.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"larger than {most >> 20} MiB")
        return stream.read()


def read_text(path: str | Path, most: int = LARGEST_TEXT) -> str:
    """The text of a regular file. Raises `OSError` and `UnicodeDecodeError`."""
    return _in_lines(read_regular(path, most).decode("utf-8"))


def _in_lines(text: str) -> str:
    """The text with `\\n` at the end of each line."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


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
                discard(temporary_beside(target))
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
                ready.append((path, temporary_beside(target), target))
                with open(ready[-1][1], "wb") as stream:
                    write(stream)
                os.chmod(ready[-1][1], mode)
        for path, write in direct:
            # Pipes have no positions, which some writers require.
            data = io.BytesIO()
            write(data)
            with _open_direct(path) as stream:
                stream.write(data.getbuffer())
        with deferred():
            while ready:
                path, temporary, target = ready[0]
                replace(temporary, target)
                del ready[0]
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {reason(error)}") from None
    finally:
        for _, temporary, _ in ready:
            discard(temporary)


def _open_direct(path: Path) -> IO[bytes]:
    """A pipe or a device, for writing. Raises `OSError` if no process reads the
    pipe."""
    last = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | WITHOUT_WAITING)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > last:
                raise
            time.sleep(0.01)
        else:
            os.set_blocking(handle, True)
            return os.fdopen(handle, "wb")


def temporary_beside(target: Path, prefix: str = ".minifut-") -> str:
    """A new empty file in the folder of `target`; `discard` or `replace` ends its use.
    Raises `OSError`."""
    path = str(target.parent / f"{prefix}{os.urandom(6).hex()}")
    note_temporary(path)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return path


def discard(temporary: str) -> None:
    """Remove a temporary file."""
    with contextlib.suppress(OSError):
        os.unlink(temporary)
    forget_temporary(temporary)


def replace(temporary: str, target: Path) -> None:
    """Put a temporary file in its place. Raises `OSError`."""
    os.replace(temporary, target)
    forget_temporary(temporary)


def _mode(target: Path) -> int:
    """The permissions that the file shall have. Raises `OSError` where it may not be
    written."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists():
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return target.stat().st_mode & 0o7777
    if not target.parent.exists():
        raise FileNotFoundError(errno.ENOENT, "its folder does not exist")
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
