"""Loops of maps over the same points become maps of loops, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.core import Loop, Program
from minifut.ir.parser import names_after
from minifut.ir.search import contains
from minifut.ir.soacs import SOAC_EXPRESSIONS
from minifut.ir.traverse import walk
from minifut.passes.pipelines import DEFAULT, INTERCHANGE_LOOPS
from tests.passes.meaning import assert_same, outcome

HEAD = "entry main [n][m] (xs: [n][m]i64) (ys: [n][m]i64) (k: i64) = "
INTERCHANGED = {
    "rows": "loop a = map i64.sum xs for _i < k do map (\\x -> x * x % 7) a",
    "a nest": "loop a = xs for i < k do map (map (\\x -> x * 3 + i)) a",
    "with other arrays": """loop a = xs for _i < k do
        map2 (map2 (\\x y -> x * y % 11 - 1)) a ys""",
    "two arrays in turn": """loop (a, b) = (xs, ys) for _i < k do
        (b, map2 (map2 (\\x y -> x - 2 * y)) a b)""",
    "a number besides": """loop (a, s) = (xs, 5) for i < k do
        (map (map (\\x -> x + s)) a, s * 3 % 13 + i)""",
    "loops of loops": """loop a = xs for i < k do
        loop a for j < 2 do map (map (\\x -> x * 2 - i + j)) a""",
    "elements that depend on the step": """loop a = map i64.sum xs for i < k do
        map2 (+) (map (\\y -> if m == 0 then 0 else y[i % m]) ys) a""",
    "a column of each step": """loop a = replicate n k for i < m do
        map2 (\\x y -> 3 * x - y) a xs[:, i]""",
    "rows that are moved": """loop a = xs for i < k do
        map2 (map2 (\\x y -> x * 3 % 7 - y)) a (rotate i ys)""",
    "a column from below": """loop a = replicate n k for i < m do
        map2 (\\x y -> 3 * x - y) a (reverse ys[:, i])""",
    "rows of rows": """loop a = replicate n (replicate 2 (replicate m k)) for i < k do
        map2 (\\b j -> map2 (\\c l -> map2 (\\x y -> x * 3 - y) c xs[(j + l + i) % n]) b (iota 2))
          a (iota n)""",
    "columns of rows": """loop a = xs for i < k do
        map2 (\\r j -> map2 (-) r ys[(i + j) % n]) a (rotate i (iota n))""",
    "in a map": "map (\\r -> loop r for _i < k do map (\\x -> x * 3 % 5) r) xs",
    "a loop in each point": """loop a = xs for _i < k do
        map (map (\\x -> loop x for j < 3 do x * 2 + j)) a""",
}
KEPT = {
    "neighbours": """loop a = xs for _i < k do
        tabulate_2d n m (\\i j -> a[i, j] + a[(i + 1) % n, j])""",
    "rows that are summed": """loop a = xs for _i < k do
        map (\\r -> let s = i64.sum r in map (\\x -> x + s) r) a""",
    "a number of the arrays": """loop (a, s) = (xs, 1) for _i < k do
        (map (map (+ s)) a, s + a[0, 0])""",
    "a check": "loop a = xs for _i < k do map (map (\\x -> ys[x, 0])) a",
    "a row that data choose": """loop a = replicate m k for i < n do
        map2 (\\x y -> 3 * x - y) a xs[ys[i, 0]]""",
    "a row of each step": """loop a = replicate m k for i < n do
        map2 (\\x y -> 3 * x - y) a xs[i]""",
    "until it is small": """loop a = xs while k > 9 do map (map (\\x -> x / 2)) a""",
}


def before_and_after(text: str) -> tuple[Program, Program]:
    program = stages.to_core(stages.check(Source("program.fut", HEAD + text)))
    names = names_after(program)
    for step in DEFAULT[: DEFAULT.index(INTERCHANGE_LOOPS)]:
        program = step.function(program, names)
    return program, INTERCHANGE_LOOPS.function(program, names)


def loops_of_maps(program: Program) -> list[Loop]:
    return [
        node
        for node in walk(program)
        if isinstance(node, Loop) and contains(node, SOAC_EXPRESSIONS)
    ]


@pytest.mark.parametrize("text", INTERCHANGED.values(), ids=INTERCHANGED)
@pytest.mark.parametrize(("n", "m", "k"), [(3, 4, 3), (2, 5, 0), (1, 1, 1), (0, 2, 2)])
def test_loops_are_in_points(text: str, n: int, m: int, k: int) -> None:
    before, after = before_and_after(text)
    assert not loops_of_maps(after)
    random = np.random.default_rng(n + m)
    xs, ys = (random.integers(-9, 9, (n, m)) for _ in range(2))
    arguments = [xs, ys, np.int64(k)]
    assert_same(outcome(before, arguments), outcome(after, arguments), text)


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_loops_that_are_kept(text: str) -> None:
    before, after = before_and_after(text)
    assert len(loops_of_maps(after)) == len(loops_of_maps(before)) > 0
