"""Waiting for the device can be broken off at any point, and begun again."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

import pytest

from minifut.errors import ProgramError
from minifut.opencl.runtime.queue import Waiter


class Queue:
    """A queue that has always finished, or is broken."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def finish(self) -> None:
        if self.error is not None:
            raise self.error


def interrupt_at(line: int, waiter: Waiter) -> bool:
    """Wait, with an interrupt before the given line of `wait`; whether it came."""
    left = line

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if frame.f_code is not Waiter.wait.__code__:
            return None
        if event in ("line", "return"):
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        waiter.wait()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_at_any_point_leaves_the_next_wait_whole() -> None:
    line = 0
    while True:
        waiter = Waiter(Queue())
        interrupted = interrupt_at(line, waiter)
        again = threading.Thread(target=waiter.wait, daemon=True)
        again.start()
        again.join(10)
        assert not again.is_alive(), f"interrupted before line {line} of wait"
        if not interrupted:
            break
        line += 1
    assert line > 2


def test_an_error_is_reported_once() -> None:
    queue = Queue(RuntimeError("out of order"))
    waiter = Waiter(queue)
    with pytest.raises(ProgramError, match="out of order"):
        waiter.wait()
    queue.error = None
    waiter.wait()
