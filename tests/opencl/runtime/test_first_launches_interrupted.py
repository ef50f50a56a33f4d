"""Launches that wait are left by interrupts, and by other threads, as they must be."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.opencl.runtime import batch, builds, first_launches, kernels, queue
from minifut.opencl.runtime.first_launches import FirstLaunches
from minifut.process_copies import SWITCH
from tests.opencl.runtime.test_first_launches import TEXT, built, cache, wanted

__all__ = ["built", "cache"]

pytestmark = [pytest.mark.device, pytest.mark.optimised]
XS = np.arange(100, dtype=np.int32)
FILES = {module.__file__ for module in (batch, builds, first_launches, kernels, queue)}


@contextmanager
def interrupted_after(lines: int) -> Iterator[list[int]]:
    """Ctrl-C after so many lines of the modules that launch kernels; gives how many
    were left."""
    left = [lines]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield left
    finally:
        sys.settrace(before)


def test_an_interrupt_at_any_line_leaves_nothing_waiting() -> None:
    options: Any = {"schedule": "cpu", "params": {"steps.loop_scan.host": 0}}
    program = minifut.compile(TEXT, **options)
    xs = np.arange(1 << 19, dtype=np.int32) % 100
    expected = wanted(1, xs)
    np.testing.assert_array_equal(program.steps(1, xs), expected)
    lines, left = 0, [0]
    while left[0] <= 0:
        lines += 1
        again = minifut.compile(TEXT, **options)
        try:
            with interrupted_after(lines) as left:
                again.steps(1, xs)
        except KeyboardInterrupt:
            pass
        found = again.steps(1, xs)
        np.testing.assert_array_equal(found, expected, err_msg=f"line {lines}")
    assert lines > 100


def test_kernels_that_equal_built_ones_are_not_built_again(built: list[str]) -> None:
    for schedule in ("gpu", "cpu"):
        for number in range(2):
            built.clear()
            program = minifut.compile(f"{TEXT}-- {number}", schedule=schedule)
            np.testing.assert_array_equal(program.steps(3, XS), wanted(3, XS))
            assert bool(built) == (number == 0)


def test_groups_of_chosen_sizes_are_built_together(
    built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, "1")
    program = minifut.compile(TEXT, schedule="gpu")
    np.testing.assert_array_equal(program.steps(3, XS), wanted(3, XS))
    assert max(text.count("__kernel ") for text in built) > 1


def test_another_thread_that_loads_a_program_launches_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = minifut.compile(TEXT, schedule="cpu")
    add, ran = FirstLaunches.add, []

    def add_and_load(self: FirstLaunches, *launch: Any) -> Any:
        event = add(self, *launch)
        before = list(self.waiting)
        other = "entry main (x: i32) = x + 1"
        thread = threading.Thread(target=minifut.compile, args=(other,))
        thread.start()
        thread.join(60)
        ran.append(self.waiting != before)
        return event

    monkeypatch.setattr(FirstLaunches, "add", add_and_load)
    np.testing.assert_array_equal(program.steps(3, XS), wanted(3, XS))
    assert ran and not any(ran)
