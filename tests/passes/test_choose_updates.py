"""Branches that update short arrays choose elements, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.ir.core import If, Stm
from minifut.ir.search import nodes_of
from minifut.ir.types import shape_of
from minifut.passes.pipelines import DEFAULT, find_pass
from tests.passes.test_versions import compiled

CHOSEN = DEFAULT[: DEFAULT.index(find_pass("choose-updates")) + 1]
HEAD = "def main [n] (xss: [n][4]i32) = map (\\xs -> "
CHOOSING = {
    "a sort": """loop xs = copy xs for i < 4 do loop xs for j < 3 - i do
        let (a, b) = (xs[j], xs[j + 1])
        in if a > b then xs with [j] = b with [j + 1] = a else xs""",
    "the same place on both sides": """let ys = copy xs in
        if ys[0] > 3 then ys with [1] = 9 else ys with [1] = ys[3]""",
    "one after the other": """let ys = copy xs in
        if ys[0] > 3 then ys with [1] = ys[0] with [1] = 7 with [0] = ys[1] else ys""",
    "two dimensions": """let ys = unflatten (copy xs :> [2 * 2]i32) in
        flatten (if ys[0, 1] > 3 then ys with [1, 0] = ys[0, 1] else ys)""",
}
KEPT = {
    "places that data give": """(loop (ys, k) = (replicate 4 0, 0) for x in xs do
        if x < 0 then (ys, k) else if x < 5 && k > 0
        then (ys with [i64.i32 (x % 4)] = x, k) else (ys with [k] = x, k + 1)).0""",
    "other places on both sides": """let ys = copy xs in
        if ys[0] > 3 then ys with [1] = 9 else ys with [2] = ys[3]""",
    "other arrays": """if xs[0] > 3 then (copy xs) with [1] = 9
        else (map (+ 1) xs) with [0] = 3""",
    "what is between is read": """let ys = copy xs in if ys[0] > 3
        then let zs = ys with [1] = 9 in zs with [0] = zs[i64.i32 (zs[3] % 4)] else ys""",
    "a place from outside": """let k = i64.i32 (xs[0] % 4)
        let ys = copy xs in if ys[1] > 3 then ys with [k] = 9 else ys""",
    "a row": """let ys = unflatten (copy xs :> [2 * 2]i32) in
        flatten (if ys[0, 1] > 3 then ys with [1] = copy ys[0] else ys)""",
}


def arrays_in_branches(body: str) -> int:
    _, program = compiled(f"{HEAD}{body}) xss", CHOSEN)
    return sum(
        any(shape_of(bound.type) for bound in statement.pattern)
        for function in program.functions
        for statement in nodes_of(Stm, function)
        if isinstance(statement.exp, If)
    )


@pytest.mark.parametrize("name", CHOOSING)
def test_no_branch_gives_an_array(name: str) -> None:
    assert arrays_in_branches(CHOOSING[name]) == 0


@pytest.mark.parametrize("name", KEPT)
def test_what_is_no_choice_of_elements_stays(name: str) -> None:
    assert arrays_in_branches(KEPT[name]) > 0


@pytest.mark.device
@pytest.mark.parametrize("name", CHOOSING | KEPT)
def test_results_are_the_same(name: str) -> None:
    source = f"{HEAD}{(CHOOSING | KEPT)[name]}) xss"
    xss = np.random.default_rng(1).integers(-9, 9, (100, 4), np.int32)
    wanted = minifut.compile(source, backend="interpreter").main(xss)
    assert np.array_equal(minifut.compile(source).main(xss), wanted)
