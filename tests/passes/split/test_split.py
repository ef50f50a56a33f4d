"""Maps in pieces compute what they did whole, and their interiors have no conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.ir.core import Body, If, Loop, Program, ScalarOp
from minifut.ir.parser import names_after
from minifut.ir.soacs import Screma
from minifut.ir.traverse import walk
from minifut.passes.pipelines import FUSE, INLINE, REMOVE_CHECKS, SIMPLIFY, SPLIT
from tests.passes.meaning import assert_same, outcome
from tests.passes.split.programs import PROGRAMS

REMAINDERS = ("mod", "rem", "min", "max")


def before_and_after(text: str) -> tuple[Program, Program]:
    """A program as fused, and with its maps split."""
    program = stages.to_core(stages.check(Source("program.fut", text)))
    names = names_after(program)
    for step in (INLINE, SIMPLIFY, REMOVE_CHECKS, FUSE, SIMPLIFY):
        program = step.function(program, names)
    return program, SPLIT.function(program, names)


def arguments(n: int) -> list[Any]:
    values = np.arange(n * n, dtype=np.int64)
    return [np.int64(n % 4), values[:n] * 5 + 1, (values * values % 37).reshape(n, n)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_pieces_mean_the_same(name: str) -> None:
    """At every small size: borders may overlap, and there may be no interior."""
    before, after = before_and_after(PROGRAMS[name])
    assert after is not before
    for n in range(9):
        given = arguments(n)
        assert_same(outcome(before, given), outcome(after, given), f"{name}, {n}")


def interiors(program: Program) -> list[Body]:
    """What is done inside of the borders by each map that has a branch for it."""
    found: list[Body] = []

    def look(body: Body) -> None:
        for statement in body.statements:
            if isinstance(statement.exp, Screma):
                look(statement.exp.function.body)
            elif isinstance(statement.exp, If):
                found.append(statement.exp.then)
            elif isinstance(statement.exp, Loop):
                look(statement.exp.body)

    for function in program.functions:
        look(function.body)
    return found


PLAIN = sorted(PROGRAMS.keys() - {"out of bounds", "from outside"})


@pytest.mark.parametrize("name", PLAIN)
def test_interiors_have_no_conditions(name: str) -> None:
    _, after = before_and_after(PROGRAMS[name])
    assert interiors(after)
    for interior in interiors(after):
        for node in walk(interior):
            assert not isinstance(node, If)
            assert (
                not isinstance(node, ScalarOp) or node.operator.name not in REMAINDERS
            )


def test_clamps_along_rows_stay_where_rows_are_alike() -> None:
    """The interior is one of columns: clamps of the outer dimension cost nothing."""
    for name, tests in (
        ("clamps of rows and columns", 1),
        ("a clamp and a guard of rows", 3),
    ):
        _, after = before_and_after(PROGRAMS[name])
        operators = [n.operator.name for n in walk(after) if isinstance(n, ScalarOp)]
        assert operators.count("ge") + operators.count("lt") == tests, name


RADII = [name for name in PROGRAMS if "radius" in name]
FAR = (-1, -3, 7, 100, 2**47, 2**48, 2**62, 2**63 - 1, -(2**63), -(2**63) + 2)


@pytest.mark.parametrize("name", RADII)
def test_no_radius_is_too_large_or_too_small(name: str) -> None:
    """Where sums wrap around, or nothing is inside, all points are at a border."""
    before, after = before_and_after(PROGRAMS[name])
    for n in (1, 2, 6):
        for radius in FAR:
            given = [np.int64(radius), *arguments(n)[1:]]
            wanted, found = outcome(before, given), outcome(after, given)
            assert_same(wanted, found, f"{name}, {n}, {radius}")


@pytest.mark.parametrize("name", RADII)
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_the_device_agrees_on_radii(name: str, schedule: str) -> None:
    oracle = minifut.compile(PROGRAMS[name], backend="interpreter").main
    main = minifut.compile(PROGRAMS[name], schedule=schedule).main
    for radius in (0, 1, 4, *FAR):
        given = [np.int64(radius), *arguments(40)[1:]]
        results = []
        for run in (oracle, main):
            try:
                results.append((run(*given),))
            except ProgramError:
                results.append("failed")
        assert_same(*results, f"{name}, {radius}")


FOLDS = {
    **{name: PROGRAMS[name] for name in PROGRAMS if "sum" in name or "chang" in name},
    "labels of neighbours": """entry main [n] (k: i64) (_: [n]i64) (b: [n][n]i64) =
        (loop (b, change, t) = (b, true, 0) while change && t <= k do
           let c = tabulate_2d n n (\\i j ->
             if b[i, j] < 3 then b[i, j] else
             let l = if i > 0 && b[i - 1, j] > 2 then i64.min b[i, j] b[i - 1, j]
                     else b[i, j]
             in if j < n - 1 && b[i, j + 1] > 2 then i64.min l b[i, j + 1] else l)
           in (c, or (map2 (\\x y -> or (map2 (!=) x y)) b c), t + 1)).0""",
}


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_the_device_agrees_on_folds(name: str, schedule: str) -> None:
    """Of rows that fill vectors, and of such that do not."""
    oracle = minifut.compile(FOLDS[name], backend="interpreter").main
    main = minifut.compile(FOLDS[name], schedule=schedule).main
    for n in (1, 7, 83):
        given = arguments(n)
        wanted, found = oracle(*given), main(*given)
        pair = (wanted, found) if isinstance(wanted, tuple) else ((wanted,), (found,))
        assert_same(*pair, f"{name}, {n}")


UNTOUCHED = {
    "no condition": "entry main [n] (a: [n]i64) = map (+ 1) a",
    "of values": "entry main [n] (a: [n]i64) = map (\\x -> if x > 3 then x else 3) a",
    "in the middle": """entry main [n] (k: i64) (a: [n]i64) =
        tabulate n (\\i -> if i < k then a[i] else 0)""",
    "every other": """entry main [n] (a: [n]i64) =
        tabulate n (\\i -> if i % 2 == 0 then a[i] else 0)""",
    "far away": """entry main [n] (a: [n]i64) =
        tabulate n (\\i -> if i < 1000 then a[i] else 0)""",
    "parallel inside": """entry main [n] (b: [n][n]i64) = tabulate n (\\i ->
        i64.sum b[i] + (if i == 0 then 0 else i64.sum b[i - 1]))""",
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_other_maps_stay_whole(name: str) -> None:
    before, after = before_and_after(UNTOUCHED[name])
    assert after is before
