"""Loops that write where updates would put their results: meaning, and what is left."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from minifut.ir.core import Program, Scratch
from minifut.ir.interpret import run
from minifut.ir.kernels import SegMap
from minifut.ir.traverse import walk
from tests.passes.meaning import assert_same, outcome
from tests.passes.test_versions import HUGE, compiled, thresholds

STEPS = """
def main [n] (a: *[n][n]i64) =
  loop a for k < n - 1 do
    let m = n - k - 1
    BODY
"""

APART = {
    "a column and what is right of it": """
    let col = map (+ a[k, k]) a[k + 1:, k] :> [m]i64
    let rest = map2 (\\c r -> map2 (\\x y -> y - c * x) (copy a[k, k + 1:] :> [m]i64) r)
                    col (a[k + 1:, k + 1:] :> [m][m]i64)
    let a[k + 1:, k] = col
    let a[k + 1:, k + 1:] = rest
    in a""",
    "a row from the one above": """
    let row = map2 (\\x y -> 2 * x + y) a[k] a[k + 1]
    in a with [k + 1] = row""",
    "an element from itself": """
    let part = map (\\x -> x * x - k) a[k, k:] :> [m + 1]i64
    in a with [k, k:] = part""",
    "a column from the rows": """
    let part = map (\\i -> i64.sum a[i]) (iota n)
    in a with [:, k] = part""",
}
"""steps that need no array of their own"""

OVERLAPPING = {
    "the element before": """
    let part = map (+ 1) a[k, :n - 1] :> [n - 1]i64
    in a with [k, 1:] = part""",
    "the element behind": """
    let part = map (+ 1) a[k, 1:] :> [n - 1]i64
    in a with [k, :n - 1] = part""",
    "the other end": """
    let part = map (\\i -> a[k, n - 1 - i] + i) (iota n)
    in a with [k] = part""",
    "a column from other columns": """
    let part = map (\\i -> i64.sum a[:, i]) (iota n)
    in a with [:, k] = part""",
    "a place that data give": """
    let part = map (\\i -> a[k, a[k, i] % n] + i) (iota n)
    in a with [k] = part""",
    "rows of which one is written before": """
    let col = map (+ 1) a[k + 1:, k] :> [m]i64
    let rest = map (\\i -> map (\\j -> a[k + 1 + i, k + j] + 1) (iota m)) (iota m)
    let a[k + 1:, k] = col
    let a[k + 1:, k + 1:] = rest
    in a""",
}
"""steps that do"""

GIVEN = np.array([[4, 1, 2, 0], [2, 5, 1, 3], [1, 3, 8, 2], [0, 2, 1, 3]])


def in_one_thread(text: str) -> tuple[Program, Program]:
    before, after = compiled(STEPS.replace("BODY", text.strip()))
    assert any(name.endswith(".host") for name in thresholds(after))
    return before, after


def scratch_arrays(program: Program, rank: int = 1) -> int:
    """Those of at least that rank in kernels of one thread."""
    kernels = [n for n in walk(program) if isinstance(n, SegMap)]
    alone = [k for k in kernels if [s.as_constant for s in k.space.sizes] == [1]]
    made = [n for k in alone for n in walk(k) if isinstance(n, Scratch)]
    return sum(len(scratch.shape) >= rank for scratch in made)


@pytest.mark.parametrize("name", [*APART, *OVERLAPPING])
def test_each_version_gives_the_same(name: str) -> None:
    before, after = in_one_thread({**APART, **OVERLAPPING}[name])
    expected = outcome(before, [GIVEN])
    names = thresholds(after)
    for chosen in itertools.product((0, HUGE), repeat=len(names)):
        parameters: dict[str, Any] = dict(zip(names, chosen, strict=True))
        found = run(after, "main", [GIVEN.copy()], parameters)
        assert_same(expected, found, str(parameters))


@pytest.mark.parametrize("name", APART)
def test_arrays_that_are_not_needed(name: str) -> None:
    assert scratch_arrays(in_one_thread(APART[name])[1]) == 0


@pytest.mark.parametrize("name", OVERLAPPING)
def test_arrays_that_are_needed(name: str) -> None:
    assert scratch_arrays(in_one_thread(OVERLAPPING[name])[1]) > 0


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", [*APART, *OVERLAPPING])
def test_on_the_device(name: str) -> None:
    import minifut

    step = {**APART, **OVERLAPPING}[name]
    text = STEPS.replace("BODY", step.strip()).replace("def main", "entry main")
    program = minifut.compile(text)
    wanted = outcome(in_one_thread(step)[0], [GIVEN])
    np.testing.assert_array_equal(program.main(GIVEN.copy()), wanted[0])
