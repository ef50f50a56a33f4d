"""Loops that write over what they read for the last time: meaning, and what is left."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from minifut.analysis.in_place import in_place_updates
from minifut.ir.core import Update
from minifut.ir.interpret import run
from minifut.ir.traverse import walk
from tests.passes.meaning import assert_same, outcome
from tests.passes.short_circuit.test_short_circuit import (
    GIVEN,
    STEPS,
    in_one_thread,
    scratch_arrays,
)
from tests.passes.test_versions import HUGE, thresholds

IN_PLACE = {
    "each element from itself": """
    let c = a[k, k] + m
    in map (map (\\x -> c - x)) a""",
    "less a row that all rows read": """
    let f = map (\\i -> if i <= k then 0 else a[i, k]) (iota n)
    let row = copy a[k]
    in map2 (\\fi r -> map2 (\\x y -> x - fi * y) r row) f a""",
    "by a branch of the position": """
    let c = a[0, 0]
    in tabulate_2d n n (\\i j -> if i == j then a[i, j] + c else m - a[i, j])""",
    "rows that are swapped": """
    let p = (k + m) % n
    let row = copy a[k]
    let other = copy a[p]
    let a = a with [k] = other
    let a = a with [p] = row
    in map (map (+ 1)) a""",
    "three rows that change places": """
    let (p, q) = ((k + m) % n, (k + 1) % n)
    let (row, other, third) = (copy a[k], copy a[p], copy a[q])
    let a = a with [k] = third
    let a = a with [p] = row
    let a = a with [q] = other
    in map (map (+ m)) a""",
    "what a column was before it was cleared": """
    let column = copy a[:, k]
    let a = a with [:, k] = replicate n m
    in a with [:, 0] = map2 (\\c i -> 2 * c + a[i, i]) column (iota n)""",
    "the other end of the row": """
    in tabulate_2d n n (\\i j -> a[i, n - 1 - j] + m)""",
    "a column that all columns read": """
    in tabulate_2d n n (\\i j -> a[i, j] + a[i, 0])""",
}
"""steps of which no array is as large as the matrix"""

COPIED = {
    "the row above": """
    in map (\\i -> map (\\j -> a[i64.max 0 (i - 1), j] + m) (iota n)) (iota n)""",
    "the transposed matrix": """
    in tabulate_2d n n (\\i j -> a[j, i] + m)""",
    "a row that data give": """
    in tabulate_2d n n (\\i j -> a[a[i, k] % n, j] + m)""",
    "the matrix as it was before": """
    let b = map (map (+ m)) a
    in map2 (map2 (\\x y -> x + 2 * y)) (transpose b) a""",
}
"""steps that need a matrix of their own"""

ALL = {**IN_PLACE, **COPIED}


@pytest.mark.parametrize("name", ALL)
def test_each_version_gives_the_same(name: str) -> None:
    before, after = in_one_thread(ALL[name])
    expected = outcome(before, [GIVEN])
    names = thresholds(after)
    for chosen in itertools.product((0, HUGE), repeat=len(names)):
        parameters: dict[str, Any] = dict(zip(names, chosen, strict=True))
        found = run(after, "main", [GIVEN.copy()], parameters)
        assert_same(expected, found, str(parameters))


@pytest.mark.parametrize("name", ALL)
def test_matrices_beside_the_one_that_is_updated(name: str) -> None:
    left = scratch_arrays(in_one_thread(ALL[name])[1], rank=2)
    assert (left == 0) == (name in IN_PLACE)


@pytest.mark.parametrize("name", IN_PLACE)
def test_all_updates_are_in_place(name: str) -> None:
    _, after = in_one_thread(IN_PLACE[name])
    updates = {
        statement.pattern[0].name
        for statement in walk(after)
        if isinstance(getattr(statement, "exp", None), Update)
    }
    (function,) = after.functions
    assert updates <= in_place_updates(function).updates


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", ALL)
def test_on_the_device(name: str) -> None:
    import minifut

    text = STEPS.replace("BODY", ALL[name].strip()).replace("def main", "entry main")
    program = minifut.compile(text)
    wanted = outcome(in_one_thread(ALL[name])[0], [GIVEN])
    thresholds = {*program.tuning} - {"lanes"}
    for least in (0, HUGE):
        program.tuning.update(dict.fromkeys(thresholds, least))
        np.testing.assert_array_equal(program.main(GIVEN.copy()), wanted[0])
