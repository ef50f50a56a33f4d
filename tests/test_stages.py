"""What stages change in the interpreter, they put back."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from minifut import stages
from minifut.errors import Source

TEXT = "entry main (xs: []f32) = f32.sum (map (* 2) xs)"


def settings() -> tuple[object, ...]:
    return gc.get_threshold(), sys.getrecursionlimit(), gc.get_freeze_count()


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """The generations that the collector looked through."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


def test_stages_running_in_threads_leave_the_settings_as_they_were() -> None:
    before = settings()
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with stages.deep_recursion():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=first)
    thread.start()
    entered.wait()
    with stages.deep_recursion():
        leave.set()
        thread.join()
        assert settings() != before
    assert settings() == before


def test_what_stages_make_is_not_looked_through_for_cycles(
    collections: list[int],
) -> None:
    for _ in range(2):  # tables are filled the first time
        del collections[:]
        checked = stages.check(Source("p.fut", TEXT))
        kernels = stages.to_kernels(stages.to_core(checked))
        stages.to_host_module(kernels, "cpu")
    assert not collections


def test_what_users_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        stages.check(Source("p.fut", TEXT))
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
