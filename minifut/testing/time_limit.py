"""A limit to the time that a program's tests take."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class TimeLimit(BaseException):
    """The program has used its time."""


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raises `TimeLimit` in the block when the time is over (in the main thread)."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signal_number: int, frame: Any) -> None:
        raise TimeLimit

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
