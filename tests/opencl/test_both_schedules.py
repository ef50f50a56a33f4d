"""The texts of both schedules are made at the same time, as they would be in turn."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

import pytest

from minifut import process_copies, stages
from minifut.errors import InternalError, Source
from minifut.opencl.both_schedules import both
from minifut.opencl.module import PartText

TEXT = """
def sum (xs: []f32) = reduce (+) 0 xs
entry main (k: f32) (xs: []f32) (ys: []f32) =
  (sum (map (* k) xs), loop s = 0 for i < 10 do s + sum ys, map (+ k) (rotate 1 ys))
"""
Defined = Callable[[], Sequence[str]]


def process(defined: Defined) -> PartText:
    """The number of the process as a text, after the names that are used already."""
    names = " ".join(defined())
    return PartText("cpu", str(os.getpid()), f"def f():\n{names}", frozenset({"g"}))


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no thread that watches over tests."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(2), raising=False)


def test_modules_are_the_same_however_many_processes_make_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = stages.to_core(stages.check(Source("p.fut", TEXT)))
    kernels, made = stages.to_kernels(core), []
    for given in "1", "2":
        monkeypatch.setenv(process_copies.SWITCH, given)
        made.append(stages.to_host_module(kernels, None))
    assert made[0] == made[1]
    assert "program_gpu" in made[0]


def test_a_copy_makes_the_second_with_names_from_the_first() -> None:
    first, second = both(process, process)
    assert int(first.opening) == os.getpid() != int(second.opening)
    assert second.body == "def f():\nf"
    assert second.called == {"g"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_a_copy_fails_to_make_is_made_here(
    error: type[BaseException], capfd: pytest.CaptureFixture[str]
) -> None:
    own = os.getpid()

    def failing(defined: Defined) -> PartText:
        if os.getpid() != own:
            raise error
        return process(defined)

    _, second = both(process, failing)
    assert int(second.opening) == own
    assert capfd.readouterr() == ("", "")


def test_errors_are_those_of_this_process() -> None:
    def failing(_: Defined) -> PartText:
        raise InternalError("test", "no text")

    for pair in ((failing, process), (process, failing)):
        with pytest.raises(InternalError, match="no text"):
            both(*pair)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_there_is_no_copy_beside_another_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    _, second = both(process, process)
    assert int(second.opening) == os.getpid()
