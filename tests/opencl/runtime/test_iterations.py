"""Iterations that are the same launches again are done by one batch (iterations.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.opencl import runtime as rt
from minifut.opencl.runtime import batch, kernels
from minifut.opencl.runtime.iterations import Repeated

pytestmark = [pytest.mark.device, pytest.mark.optimised]

TEXT = """
entry turns [n] (count: i64) (xs: [n]f32): [n]f32 =
  loop xs for _i < count do map (+ 1) (rotate 1 xs)

entry pairs [n] (count: i64) (xs: [n]f32) (ys: [n]f32): ([n]f32, [n]f32) =
  loop (xs, ys) for _i < count do (ys, map2 (+) (rotate 1 xs) ys)

entry norms [n] (count: i64) (xs: [n]f32): (f32, [n]f32) =
  loop (s, xs) = (0, xs) for _i < count do
    let ys = map (+ 1) (rotate 3 xs)
    let s = f32.maximum ys
    in (s, map (/ s) ys)

entry counted [n] (count: i64) (xs: [n]f32): [n]f32 =
  loop xs for i < count do map (+ f32.i64 i) (rotate 1 xs)

entry inner [n] (count: i64) (xs: [n]f32): [n]f32 =
  loop xs for _i < count do
    let ys = loop ys = xs for _j < 30i32 do map (+ 1) (rotate 1 ys)
    in map2 (-) ys (rotate 2 xs)

entry signs [n] (count: i64) (xs: [n]f32): [n]f32 =
  (loop (s, xs) = (0f32, xs) for _i < count do
     (-s, map (+ f32.copysign 1 s) (rotate 1 xs))).1

entry either [n] (count: i64) (xs: [n]f32): [n]f32 =
  (loop (p, ys) = (true, xs) for _i < count do
     (!p, if p then map (+ 1) (rotate 1 ys) else xs)).1

entry gather [n] (count: i64) (is: [n]i64) (at: [n]i64): [n]i64 =
  loop at for _i < count do map (\\j -> is[j] + j) at
"""
COUNTS = [0, 1, 2, 3, 9, 10, 40, 41, 42, 43, 100, 1501]
N = 70_000


@pytest.fixture(autouse=True)
def no_launch_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "IN_A_ROW", 1)
    for name in ("SMALL_WORK", "CALLER_WORK", "ALONE_WORK"):
        monkeypatch.setattr(kernels, name, -1)


def compiled() -> Any:
    made = minifut.compile(TEXT, schedule="cpu")
    made.tuning.update({name: 0 for name in made.tuning if "host" in name})
    return made


def numbers(start: int = 0) -> np.ndarray:
    return ((np.arange(N) + start) % 61).astype(np.float32)


@pytest.mark.parametrize(
    "entry", ["turns", "pairs", "norms", "counted", "inner", "signs", "either"]
)
def test_results_are_those_of_launches_alone(
    entry: str, repeated: list[Repeated], monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = [numbers(start) for start in range(2 if entry == "pairs" else 1)]
    counts = [1, 5, 12] if entry == "inner" else COUNTS
    with monkeypatch.context() as alone:
        alone.setattr(batch, "OFTEN", 0)
        run = compiled().entry(entry)
        wanted = [run(count, *arrays) for count in counts]
    assert not repeated
    run = compiled().entry(entry)
    for _ in range(3):
        for count, expected in zip(counts, wanted, strict=True):
            np.testing.assert_equal(run(count, *arrays), expected)
    assert bool(repeated) == (entry != "counted")


def test_all_but_some_iterations_are_left_to_the_device(
    repeated: list[Repeated],
) -> None:
    program = compiled()
    for _ in range(3):
        repeated.clear()
        program.turns(1000, numbers())
    (found,) = repeated
    assert found.count > 980


def test_a_failure_ends_the_iterations(repeated: list[Repeated]) -> None:
    program = compiled()
    good = np.zeros(N, np.int64)
    for _ in range(3):
        program.gather(50, good, good)
    assert repeated
    with pytest.raises(minifut.ProgramError, match=r"Index \[70000\] out of bounds"):
        program.gather(N // 50 + 10, np.full(N, 50), good)
    np.testing.assert_array_equal(program.gather(50, good, good), good)


def test_memory_is_not_kept(repeated: list[Repeated]) -> None:
    program = compiled()
    xs = numbers()
    for _ in range(5):
        program.norms(333, xs)
    session = rt.open_session(None)
    before = session.pool.in_use
    program.norms(333, xs)
    assert session.pool.in_use == before
    assert repeated
