"""Copies of this process (forks) do a part of the work at the same time.

A copy has what this process has read and made so far. Only the thread that made it goes
on in it. It ends with this process, and is ended where it takes much longer than it.
Nothing depends on it: what a copy has not done, for whatever reason, is done here.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

SWITCH = "MINIFUT_BUILD_PROCESSES"
MOST = 4
"""processes: each begins with a part of a second that it cannot share"""
LARGEST = 4 << 30
"""bytes of memory of a process: to copy how it is mapped takes 10 ms for each 2 GiB"""
PATIENCE = 2.0
"""how many times as long as this process a copy may take, and seconds before that"""
POLL = 1e-3
END_WITH_PARENT = 1
"""PR_SET_PDEATHSIG"""
Guard = Callable[[], AbstractContextManager[bool]]
"""whether no other thread holds what a copy would wait for, nor begins to within it"""


def count() -> int:
    """How many processes may compile at once, this one included."""
    cores = getattr(os, "sched_getaffinity", lambda _: (0,))(0)
    given = os.environ.get(SWITCH, "")
    most = min(int(given) if given.isdecimal() else MOST, len(cores))
    return most if most > 1 and _resident() <= LARGEST else 1


def _resident() -> int:
    """Bytes of memory of this process."""
    _, pages, *_ = Path("/proc/self/statm").read_text("ascii").split()
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def done_by_copies(
    jobs: Sequence[Callable[[], object]], only_thread: Guard
) -> Iterator[None]:
    """While the block runs, copies of this process do these jobs, at the end of which
    their effects on files are there, or not. Within `only_thread`, no other thread may
    hold what a copy would wait for."""
    copies: list[int] = []
    begun = time.monotonic()
    try:
        for job in jobs:
            copies += _started(job, only_thread)
        yield
        limit = time.monotonic() + PATIENCE + PATIENCE * (time.monotonic() - begun)
        while copies and time.monotonic() < limit:
            copies = [copy for copy in copies if not _has_ended(copy, os.WNOHANG)]
            time.sleep(POLL if copies else 0)
    finally:
        for copy in copies:
            with contextlib.suppress(ProcessLookupError):
                os.kill(copy, signal.SIGKILL)
            _has_ended(copy)


def _has_ended(copy: int, options: int = 0) -> bool:
    try:
        return os.waitpid(copy, options)[0] == copy
    except ChildProcessError:  # somebody else has waited for it
        return True


def _started(job: Callable[[], object], only_thread: Guard) -> list[int]:
    """The copy that does a job, or none."""
    end_with_parent = ctypes.CDLL(None).prctl
    parent = os.getpid()
    with only_thread() as is_alone, warnings.catch_warnings():
        if not is_alone:
            return []
        warnings.simplefilter("ignore")  # a copy uses nothing of other threads
        allowed = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            # Those of a terminal come to copies as well, which must not raise.
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            copy = os.fork()
            if copy == 0:
                with contextlib.suppress(BaseException):
                    end_with_parent(END_WITH_PARENT, signal.SIGKILL)
                    if os.getppid() == parent:
                        job()
                os._exit(0)
        except (OSError, RuntimeError):  # no memory for it, or not allowed
            return []
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, allowed)
    return [copy]
