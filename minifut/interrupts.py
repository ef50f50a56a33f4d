"""An interrupt (SIGINT) ends a command at once, whatever it is doing.

    install()                 the process runs a command: answer interrupts from here on
    note_temporary(path)      a file or folder that an interrupted process removes
    forget_temporary(path)    it is in its place, or removed
    with deferred(): ..       an interrupt waits for the end of the (short) block
    with raised(): ..         an interrupt is a `KeyboardInterrupt` in the block

The answer is the line `interrupted` and exit code 130. It is no exception, except where
`raised` requires one: an exception at any moment would be printed or lost by callbacks,
imports and libraries that catch everything. The handler removes temporary files and
ends the process by `os._exit`.

Python runs handlers between two of its instructions, and a driver that compiles a
kernel does not return for seconds. So the signal is written to a pipe as well, by
Python's C code, and a thread that reads it ends the process where the handler has not.

A process that only imports the package keeps Python's handler. This module is the
first that a command loads, and imports little.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing `typing` takes ten times as long as all of the above
    from types import FrameType, TracebackType

EXIT_CODE = 130
MESSAGE = b"interrupted\n"
CLEAR_LINE = b"\r\x1b[K"
"""on a terminal, which may show progress"""
LONGEST_DEFERRAL = 0.5
"""seconds that the main thread has for its own handler"""
ATTEMPTS = 10
"""to remove a folder"""


class _Answer:
    """What an interrupt finds. Assigned to by the main thread, read by the watcher."""

    def __init__(self) -> None:
        self.raises = False
        self.defers = False
        self.is_open = False
        """an interrupt has come and is not answered yet"""
        self.latest = float("-inf")
        """when the handler ran"""
        self.is_announced = False
        self.temporary: dict[str, None] = {}


_answer = _Answer()


def install() -> None:
    """Answer interrupts of this process, unless they are ignored or handled
    (`nohup`, a debugger)."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    signal.signal(signal.SIGINT, _handle)
    if os.name == "posix":
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        _thread.start_new_thread(_watch, (reading,))
    import atexit

    atexit.register(_ignore_from_now_on)  # the first to be registered runs last


def note_temporary(path: str) -> None:
    """Remove this file or folder if an interrupt ends the process."""
    _answer.temporary[path] = None


def forget_temporary(path: str) -> None:
    """Keep what has this path now."""
    _answer.temporary.pop(path, None)


class _Region:
    """A block in which one of the flags of `_answer` is set."""

    def __init__(self, flag: str) -> None:
        self._flag = flag
        self._before = False

    def __enter__(self) -> None:
        self._before = getattr(_answer, self._flag)
        setattr(_answer, self._flag, True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        setattr(_answer, self._flag, self._before)
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            _answer.is_open = False  # a handler has the time to do its work
        elif _answer.is_open and not (_answer.raises or _answer.defers):
            _end()


def deferred() -> _Region:
    """An interrupt waits for the end of the block, for `LONGEST_DEFERRAL` at most."""
    return _Region("defers")


def raised() -> _Region:
    """An interrupt is a `KeyboardInterrupt` in the block, the first time."""
    return _Region("raises")


def _handle(number: int, frame: FrameType | None) -> None:
    is_second, _answer.is_open = _answer.is_open, True
    _answer.latest = time.monotonic()
    if _answer.defers:
        return
    if _answer.raises and not is_second:
        raise KeyboardInterrupt
    _end()


def _watch(reading: int) -> None:
    """End the process where the main thread is in a call that does not return."""
    while True:
        if os.read(reading, 1)[0] != signal.SIGINT:
            continue
        came = time.monotonic()
        time.sleep(LONGEST_DEFERRAL)
        if _answer.is_open or _answer.latest < came - LONGEST_DEFERRAL:
            _end()


def _end() -> None:
    """Remove what is temporary, say so, and end the process."""
    for path in list(_answer.temporary):
        _remove(path)
    if not _answer.is_announced:
        _answer.is_announced = True
        with contextlib.suppress(OSError):
            os.write(2, CLEAR_LINE * os.isatty(2) + MESSAGE)
    os._exit(EXIT_CODE)


def _remove(path: str) -> None:
    """Remove a file or a folder, as far as that is possible: threads of a driver may
    still write there."""
    for _ in range(ATTEMPTS):
        with contextlib.suppress(OSError):
            if not os.path.isdir(path):
                return os.unlink(path)
            for folder, inner, files in os.walk(path, topdown=False):
                for name in files:
                    os.unlink(os.path.join(folder, name))
                for name in inner:
                    os.rmdir(os.path.join(folder, name))
            return os.rmdir(path)
        if not os.path.lexists(path):
            return
        time.sleep(0.01)


def _ignore_from_now_on() -> None:
    """All is done and written: an interrupt has nothing to end any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
