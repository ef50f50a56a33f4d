"""Functions that threads call: they give what their statements in place would give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.frontend.elaborate import functions
from minifut.ir.calls import called_in_threads
from minifut.ir.interpret import run
from minifut.passes import inline
from tests.opencl.texts import module_text

PROGRAM = """
def table = map (* 3) (iota 40)
def step (x: u64) (y: u64): (u64, u64) = (x * 636413622384679 + y, (y ^ (x >> 7)) + 1)
def scalar (a: u64) (b: u64): u64 =
  let (x, y) = loop (x, y) = (a, b) for i < 5 do step x (y + u64.i64 i)
  in if x > y then x - y else y // (x - y + 3)
def failing (xs: []i64) (i: i64): i64 = xs[i] * 2 + table[i]
def arrays (xs: [4]i64) (k: i64): [4]i64 = map (\\x -> x * k + xs[k % 4]) xs
def chosen (n: i64) (xs: [4]i64): ?[k].[k]i64 = if n % 2 == 0 then xs[: n % 4] else xs
entry scalars (n: i64) (xss: [][4]i64) (is: []i64) =
  (map (\\i -> scalar (u64.i64 i) 3 + scalar 4 (u64.i64 i)) (iota n), xss[0], is[0])
entry checked (n: i64) (xss: [][4]i64) (is: []i64) =
  map (\\i -> failing xss[0] i + failing is (i / 2) + n) is
entry rows (n: i64) (xss: [][4]i64) (is: []i64) =
  map (\\xs -> arrays (arrays xs 3) (n + is[0])) xss
entry columns (n: i64) (xss: [][4]i64) (is: []i64) =
  map (\\i -> i64.sum (arrays (transpose xss[:4])[i] n)) is
entry varying (n: i64) (xss: [][4]i64) (is: []i64) =
  map (\\i -> i64.sum (chosen i xss[i]) + length (chosen (i + n) xss[0])) is
"""
ENTRIES = ("scalars", "checked", "rows", "columns", "varying")


@pytest.fixture
def all_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function stays one, however small."""
    monkeypatch.setattr(functions, "SMALL", -1)
    monkeypatch.setattr(functions, "COPIES", 0)
    monkeypatch.setattr(inline, "SMALL", 0)
    monkeypatch.setattr(inline, "GROWTH", -(10**9))


def arguments() -> list[Any]:
    rng = np.random.default_rng(7)
    return [np.int64(30), rng.integers(0, 9, (7, 4)), rng.integers(0, 4, 11)]


@pytest.mark.usefixtures("all_stay")
def test_kernels_have_functions_and_mean_the_same() -> None:
    core = stages.to_core(stages.check(Source("functions.fut", PROGRAM)))
    kernels = stages.to_kernels(core)
    assert len(called_in_threads(kernels)) >= 4
    for entry in ENTRIES:
        before, after = (run(p, entry, arguments()) for p in (core, kernels))
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)
    for schedule in ("cpu", "gpu"):
        text = module_text(kernels, schedule=schedule)
        # once in the module, however often it is called
        assert text.count("static int fun_scalar(") == 1
        assert text.count("static int fun_step(") == 1


@pytest.mark.usefixtures("all_stay")
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_functions_on_the_device(schedule: str) -> None:
    program = minifut.compile(PROGRAM, schedule=schedule)
    oracle = minifut.compile(PROGRAM, backend="interpreter")
    for entry in ENTRIES:
        results = getattr(program, entry)(*arguments())
        expected = getattr(oracle, entry)(*arguments())
        if not isinstance(expected, tuple):
            results, expected = (results,), (expected,)
        for one, other in zip(results, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    wrong = arguments()
    wrong[2][5] = 20
    with pytest.raises(
        minifut.ProgramError, match=r"Index .20. out of bounds"
    ) as error:
        program.checked(*wrong)
    lines = [place.split(":")[-2] for place in error.value.backtrace]
    assert lines[0] == "7" and "13" in lines[1:]
    assert len(program.rows(*arguments())) == 7


def test_ordinary_programs_are_inlined() -> None:
    core = stages.to_core(stages.check(Source("functions.fut", PROGRAM)))
    assert not called_in_threads(stages.to_kernels(core))


MANY_CALLS = (
    "def large (x: u64) (y: u64): u64 =\n"
    + "".join(
        f"  let x = (x * {i + 3} + y) ^ (x >> {i % 13 + 1})\n"
        f"  let y = if x > y then y + {i} else y * x + {i}\n"
        for i in range(20)
    )
    + "  in x + y\n"
    "entry main (n: i64) = map (\\i ->\n  let x = u64.i64 i\n"
    + "".join(f"  let x = large x {i}\n" for i in range(24))
    + "  in x) (iota n)\n"
)


def test_large_functions_called_often_stay_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(functions, "SMALL", 50)
    monkeypatch.setattr(functions, "COPIES", 1000)
    monkeypatch.setattr(inline, "GROWTH", 500)
    core = stages.to_core(stages.check(Source("many.fut", MANY_CALLS)))
    kernels = stages.to_kernels(core)
    assert called_in_threads(kernels)
    few = run(core, "main", [np.int64(3)])[0]
    np.testing.assert_array_equal(few, run(kernels, "main", [np.int64(3)])[0])
    monkeypatch.setattr(inline, "GROWTH", 10**9)
    copied = stages.to_kernels(core)
    assert not called_in_threads(copied)
    shared, long = (len(module_text(p, schedule="cpu")) for p in (kernels, copied))
    assert shared < long / 3
