"""Branches with elements that exist become selects, and mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.core import If, Program
from minifut.ir.parser import names_after
from minifut.ir.traverse import walk
from minifut.passes.pipelines import (
    FUSE,
    INLINE,
    REMOVE_CHECKS,
    SIMPLIFY,
    SPECULATE,
    SPLIT,
)
from tests.passes.meaning import assert_same, outcome

HEAD = "entry main [n] (k: i64) (a: [n]i64) (flags: [n]bool) = "
LONG = "|> (\\y -> y * x + 3) " * 25
"""50 operations"""
SUM = " + ".join(f"a[i64.min i {m}]" for m in range(1, 13))
"""12 elements"""
MORE = "a[i64.min i 13] + a[i64.min i 14]"
CONVERTED = {
    "one side": "tabulate n (\\i -> if flags[i] then a[n - 1 - i] * 2 else 0)",
    "elements by position": """tabulate n (\\i ->
        if flags[i] then a[i] + a[n - 1 - i] else a[n - 1 - i])""",
    "in a reduction": """i64.sum (tabulate n (\\i ->
        if flags[i] then a[n - 1 - i] else 7))""",
    "starts of runs": """i64.sum (map i64.bool (tabulate n (\\i ->
        flags[i] && (i == 0 || !flags[i - 1]))))""",
    "a second test": "filter (\\i -> flags[i] && a[i] + k > 5) (iota n)",
    "one of two tests": "tabulate n (\\i -> a[i] > 6 || a[i] + k < 5 && flags[i])",
    "a fold beside a diagonal": """map (\\i -> i64.maximum (map (\\j ->
        if i == j then 0 else i64.sum (map (\\x -> x * j) a)) (iota n))) (iota n)""",
    "a fold where they differ": """map (\\j ->
        if j != k then i64.sum (map (\\x -> x * j) a) else 0) (iota n)""",
    "a sum of as many elements": f"tabulate n (\\i -> if flags[i] then {SUM} else 0)",
    "nested": """tabulate n (\\i ->
        if flags[i] then (if a[i] > 3 then a[n - 1 - i] else 5) else a[i])""",
    "a long side of 16 points at once": f"""tabulate n (\\i ->
        if flags[i] then (let x = i32.bool flags[n - 1 - i] in x {LONG}) else 0)""",
    "a long side of 8 points at once": f"""tabulate n (\\i ->
        if flags[i] then (let x = f64.bool flags[n - 1 - i] in x {LONG}) else 0)""",
}
KEPT = {
    "a sum of more": f"tabulate n (\\i -> if flags[i] then {SUM} + {MORE} else 0)",
    "a long second test": f"""tabulate n (\\i ->
        flags[i] && (let x = a[i] in x {LONG}) > 3)""",
    "a long side of wide integers": f"""tabulate n (\\i ->
        if flags[i] then (let x = a[n - 1 - i] in x {LONG}) else 0)""",
    "a long side beside a loop": f"""tabulate n (\\i ->
        let y = loop y = 0 while y < i do y * 2 + 3
        in if flags[y % n] then (let x = i32.bool flags[n - 1 - i] in x {LONG}) else 0)""",
    "a side that is longer than that": f"""tabulate n (\\i ->
        if flags[i] then (let x = i32.bool flags[n - 1 - i] in x {LONG * 4}) else 0)""",
    "a side of so many halves of vectors": f"""tabulate n (\\i ->
        if flags[i] then (let x = f64.bool flags[n - 1 - i] in x {LONG * 2}) else 0)""",
    "an element that may not exist": """tabulate n (\\i ->
        if flags[i] && k >= 0 && i + k < n then #[unsafe] a[i + k] else 0)""",
    "a place that depends on data": """tabulate n (\\i ->
        if flags[i] then #[unsafe] a[a[i] % n] else 0)""",
    "a division": "map2 (\\f x -> if f then #[unsafe] a[0] / x else 0) flags a",
    "a fold of half the points": """map (\\i -> i64.maximum (map (\\j ->
        if j < i then 0 else i64.sum (map (\\x -> x * j) a)) (iota n))) (iota n)""",
    "a fold of one point": """map (\\j ->
        if j == k then i64.sum (map (\\x -> x * j) a) else 0) (iota n)""",
    "the same for all points": "tabulate n (\\i -> if k > 3 then a[i] else 0)",
}


def before_and_after(text: str) -> tuple[Program, Program]:
    program = stages.to_core(stages.check(Source("program.fut", HEAD + text)))
    names = names_after(program)
    for step in (INLINE, SIMPLIFY, REMOVE_CHECKS, FUSE, SIMPLIFY, SPLIT):
        program = step.function(program, names)
    return program, SPECULATE.function(program, names)


def with_work(program: Program) -> int:
    """The number of branches that do something."""
    return sum(
        bool(node.then.statements or node.otherwise.statements)
        for node in walk(program)
        if isinstance(node, If)
    )


def arguments(n: int) -> list[Any]:
    values = np.arange(n, dtype=np.int64)
    return [np.int64(n % 3), values * 5 % 11 + 1, values % 3 != 1]


@pytest.mark.parametrize("name", CONVERTED)
def test_branches_become_selects(name: str) -> None:
    before, after = before_and_after(CONVERTED[name])
    assert with_work(after) < with_work(before)
    for n in range(7):
        given = arguments(n)
        assert_same(outcome(before, given), outcome(after, given), f"{name}, {n}")


@pytest.mark.parametrize("name", KEPT)
def test_other_branches_stay(name: str) -> None:
    before, after = before_and_after(KEPT[name])
    assert after is before
