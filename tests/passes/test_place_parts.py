"""Concatenations of what kernels make: their meaning, and which parts are copied."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.ir.core import Concat, Update
from minifut.ir.interpret import run
from minifut.ir.parser import names_after
from minifut.ir.traverse import walk
from minifut.passes.place_parts import place_parts
from tests.passes.meaning import assert_same, outcome
from tests.passes.test_versions import compiled

PLACED = {
    "offsets": "def main [n] (xs: [n]i64) = [0] ++ scan (+) 0 xs",
    "two of one kernel": "def main [n] (xs: [n]i64) = map (+ 1) xs ++ map (* 2) xs",
    "two of two kernels": """
def main [n] (xs: [n]i64) = scan i64.max 0 xs ++ map (* 2) xs ++ [7, 8]""",
    "beside the argument": """
def main [n] (xs: [n]i64) = xs ++ map (* 2) xs ++ xs""",
    "rows": """
def main [n] (xs: [n]i64) = map (\\x -> [x, 1]) xs ++ [[3, 4]] ++ map (\\x -> [x, x]) xs""",
    "branches": """
def main [n] (xs: [n]i64) =
  (if n > 5 then map (+ 1) xs else scan (+) 0 xs) ++ map (* 2) xs""",
    "behind what is filtered": """
def main [n] (xs: [n]i64) = filter (> 0) xs ++ map (* 2) (rotate 1 xs)""",
    "scans in maps": """
def main [n] (xs: [n]i64) = [5] ++ map2 (-) (scan (+) 0 xs) xs""",
}  # fmt: skip
"""programs of whose concatenations none is left"""
KEPT = {
    "needed twice": """
def main [n] (xs: [n]i64) = let ys = map (+ 1) xs in (ys ++ xs, ys)""",
    "twice in it": "def main [n] (xs: [n]i64) = let ys = scan (+) 0 xs in ys ++ ys",
    "columns": """
def main [n] (xs: [n]i64) =
  transpose (transpose (map (\\x -> [x, 1]) xs) ++ transpose (map (\\x -> [x]) xs))""",
    "of an unknown size": """
def main [n] (xs: [n]i64) = let ys = map (* 2) xs in filter (> 0) ys ++ ys""",
}


@pytest.mark.parametrize("name", PLACED | KEPT)
@pytest.mark.parametrize("n", [0, 1, 9])
def test_the_meaning_stays(name: str, n: int) -> None:
    source = (PLACED | KEPT)[name]
    _, before = compiled(source)
    after = place_parts(before, names_after(before))
    given = [np.random.default_rng(n).integers(-50, 50, n)]
    assert_same(outcome(before, given), outcome(after, given), name)


@pytest.mark.parametrize("name", PLACED)
def test_no_concatenation_is_left(name: str) -> None:
    _, program = compiled(PLACED[name])
    nodes = list(walk(program))
    assert not any(isinstance(node, Concat) for node in nodes)
    assert any(isinstance(node, Update) for node in nodes)


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PLACED | KEPT)
def test_the_device_agrees(name: str, schedule: str) -> None:
    source = (PLACED | KEPT)[name]
    program = minifut.compile(
        source.replace("def main", "entry main"), schedule=schedule
    )
    _, before = compiled(source)
    for n in (0, 1, 5, 6, 63, 3000):
        given = [np.random.default_rng(n).integers(-50, 50, n)]
        expected = run(before, "main", [np.copy(a) for a in given])
        found = program.main(*given)
        found = found if isinstance(found, tuple) else (found,)
        sized = [np.asarray(e) for e in expected][-len(found) :]
        for one, other in zip(found, sized, strict=True):
            np.testing.assert_array_equal(np.asarray(one), other, err_msg=f"{name} {n}")
