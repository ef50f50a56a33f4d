"""A limit to the time that a program's tests take."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

LONGEST = 1e8
"""seconds that a timer is set to at most: the system takes no more than 300 years"""
REPEATED_AFTER = 10.0
"""seconds until `TimeLimit` is raised again: a kernel that runs cannot be stopped"""


class TimeLimit(BaseException):
    """The program has used its time. `is_stuck`: not for the first time."""

    def __init__(self, is_stuck: bool = False) -> None:
        self.is_stuck = is_stuck


@contextlib.contextmanager
def time_limit(seconds: float | None, interval: float = 0) -> Iterator[None]:
    """Raises `TimeLimit` in the block when the time is over (in the main thread); with
    `interval` again each time so many seconds later, while the block goes on."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    is_over = False

    def stop(signal_number: int, frame: Any) -> None:
        nonlocal is_over
        is_stuck, is_over = is_over, True
        raise TimeLimit(is_stuck)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, LONGEST), min(interval, LONGEST))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
