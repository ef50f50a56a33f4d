"""Programs without the checks that were proved do what they did with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.core import Assert, Program
from minifut.ir.parser import names_after
from minifut.ir.traverse import walk
from minifut.passes.pipelines import INLINE, REMOVE_CHECKS, SIMPLIFY
from minifut.rewrite.trace import Trace
from tests.passes.meaning import assert_same, outcome
from tests.passes.remove_checks.sources import random_source

NUMBERS = (0, 1, 2, -1, 5, 2**62, 2**63 - 1, -(2**63))
SMALL = (0, 3, -2, 2**31 - 1, -(2**31))


def before_and_after(text: str, trace: Trace | None = None) -> tuple[Program, Program]:
    """A program as simplified, and without the checks that are proved."""
    program = stages.to_core(stages.check(Source("program.fut", text)))
    names = names_after(program)
    for step in (INLINE, SIMPLIFY):
        program = step.function(program, names)
    return program, REMOVE_CHECKS.function(program, names, trace)


def checks(program: Program) -> int:
    return sum(isinstance(node, Assert) for node in walk(program))


def all_arguments() -> list[list[Any]]:
    """Every small size, with numbers that are small and such that wrap."""
    given: list[list[Any]] = []
    for n in range(5):
        for m in (0, 1, 3):
            k = NUMBERS[(3 * n + m) % len(NUMBERS)]
            for number, q in ((n - 1, 1), (k, SMALL[(n + m) % len(SMALL)])):
                xs = np.arange(n, dtype=np.int32)
                ys = np.arange(n * m, dtype=np.int32).reshape(n, m)
                given.append([np.int64(number), np.int32(q), xs, ys])
    return given


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_mean_the_same(seed: int) -> None:
    text = random_source(seed)
    before, after = before_and_after(text)
    for given in all_arguments():
        assert_same(outcome(before, given), outcome(after, given), text)


SAFE = {
    "jacobi": """entry main [n] [m] (a: [n][m]f32) = tabulate_2d n m (\\i j ->
        if i == 0 || i == n - 1 || j == 0 || j == m - 1 then a[i, j]
        else a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])""",
    "clamps": """entry main [n] (a: [n]f32) = tabulate n (\\i ->
        a[i64.max 0 (i - 1)] + a[i64.min (n - 1) (i + 1)])""",
    "window": """entry main [n] (a: [n]f32) = tabulate n (\\i -> f32.sum (map (\\d ->
        let j = i + d - 2 in if j >= 0 && j < n then a[j] else 0) (iota 5)))""",
    "magnitudes": """entry main [n] (a: [n]f32) = tabulate n (\\i ->
        a[i64.abs (-i)] + (if i64.abs (i - 5) < n then a[i64.abs (i - 5)] else 0))""",
    "halves": "entry main [n] (a: [n]f32) = tabulate n (\\i -> a[i / 2] + a[i >> 3])",
    "remainder": "entry main [n] (a: [n]f32) = tabulate n (\\i -> a[(i + 3) % n])",
    "range": """entry main [n] (k: i64) (a: [n]f32) =
        let _ = assert (k >= 0 && k <= n) 0i32
        in loop s = 0 for i in k ..< n do s + a[i]""",
    "triangle": """entry main [n] (a: [n][n]f32) = tabulate n (\\i ->
        loop s = 0 for j < i do s + a[j, i - j - 1])""",
    "flat": """entry main [n] [m] (a: [n][m]f32) = tabulate (n * m) (\\i ->
        if m > 0 then (flatten a)[i] else 0)""",
    "branch": """entry main [n] (a: [n]f32) = tabulate n (\\i ->
        let j = if i == 0 then n - 1 else i - 1 in a[j])""",
    "both": """entry main [n] (a: [n]f32) = tabulate n (\\i ->
        if i > 0 && a[i - 1] > 0 then a[i - 1] else 0)""",
    "either": """entry main [n] (a: [n]f32) = tabulate n (\\i ->
        if i == 0 || a[i - 1] < 0 || i == n - 1 then 0 else a[i - 1] + a[i + 1])""",
    "both of an element": """entry main [n] (k: i64) (a: [n]f32) = tabulate n (\\i ->
        if k >= 0 && k < n && a[k] > 0 then a[k] + a[i] else 0)""",
    "latest": """entry main [n] (a: [n]f32) =
        let at = scan i64.max 0 (map (\\i -> if a[i] > 0 then i else 0) (iota n))
        in map2 (\\k x -> a[k] + x) at a""",
    "next": """entry main [n] (a: [n]f32) =
        let at = scan i64.min i64.highest (map (\\i -> n - 1 - i) (iota n))
        in tabulate n (\\i -> a[at[i]] + a[i64.max 0 (at[i] - 1)])""",
    "mapped places": """entry main [n] (a: [n]f32) =
        let at = map (\\i -> n - 1 - i) (iota n)
        in (map (\\k -> a[k]) at, at)""",
    "mapped range": """entry main [n] [m] (a: [n]f32) (b: [m]f32) =
        tabulate n (\\i -> f32.sum (map (\\j -> a[j])
          (i64.max 0 (i - m + 1)...i64.min (n - 1) i)))""",
}


@pytest.mark.parametrize("name", SAFE)
def test_checks_that_never_fail_are_removed(name: str) -> None:
    """Of those that stand for a user's own assertion one is left."""
    _, after = before_and_after(SAFE[name])
    assert checks(after) == SAFE[name].count("assert")


UNSAFE = {
    "guard too wide": """entry main [n] (a: [n]f32) = tabulate n (\\i ->
        if i >= 0 then a[i + 1] else 0)""",
    "wraps": """entry main [n] (k: i64) (a: [n]f32) = tabulate n (\\i ->
        let j = k + i in if j >= k then a[i64.min (n - 1) (j - k + 1) - 1] else 0)""",
    "narrow": "entry main [n] (a: [n]f32) = tabulate n (\\i -> a[i64.i32 (i32.i64 i)])",
    "least magnitude": """entry main [n] (k: i64) (a: [n]f32) =
        if i64.abs k < n then a[i64.abs k] else 0""",
    "empty": "entry main [n] (a: [n]f32) = a[n - 1]",
    "other size": """entry main [n] [m] (a: [n]f32) (b: [m]f32) =
        tabulate n (\\i -> b[i])""",
    "one of two": """entry main [n] (a: [n]f32) = tabulate n (\\i ->
        if i == 0 || a[i - 1] > 0 then 0 - a[i] + a[i - 1] else 0)""",
    "neither": """entry main [n] (a: [n]f32) = tabulate n (\\i ->
        if i > 0 && a[i - 1] > 0 then 0 else a[i - 1])""",
    "latest, or none": """entry main [n] (a: [n]f32) =
        let at = scan i64.max (-1) (map (\\i -> if a[i] > 0 then i else -1) (iota n))
        in map (\\k -> a[k]) at""",
    "behind the last": """entry main [n] (a: [n]f32) =
        let at = scan i64.max n (iota n) in map (\\k -> a[k]) at""",
    "sums": """entry main [n] (a: [n]f32) =
        let at = scan (+) 0 (iota n) in map (\\k -> a[k]) at""",
    "of another width": """entry main [n] [m] (a: [n]f32) (b: [m]f32) =
        let at = scan i64.max 0 (iota n) in map (\\k -> b[k]) at""",
    "negative": "entry main [n] (k: i64) (a: [n]f32) = tabulate k (\\_ -> n)",
}


@pytest.mark.parametrize("name", UNSAFE)
def test_checks_that_may_fail_stay(name: str) -> None:
    _, after = before_and_after(UNSAFE[name])
    assert checks(after) > 0


def test_the_trace_tells_the_facts() -> None:
    trace = Trace()
    before_and_after(SAFE["jacobi"], trace)
    made = [
        step.made for step in trace.steps if step.rule.name == "remove_proved_check"
    ]
    assert any("(the branch)" in reason for reasons in made for reason in reasons)


def test_a_disjunction_may_be_settled_while_another_is() -> None:
    text = """
      entry main [c] [h] [w] [o] [m] [n] (x: [c][h][w]f32) (k: [o][c][m][n]f32) =
        let (oh, ow) = (h - m + 1, w - n + 1)
        in map (\\filter ->
             tabulate_2d oh ow (\\i j ->
               f32.sum (flatten_3d (map2 (map2 (map2 (*))) filter
                                     (x[:, i:i/m, j:j+n] :> [c][m][n]f32))))) k
    """
    before, after = before_and_after(text)
    given = [np.ones((1, 2, 2), np.float32), np.ones((1, 1, 1, 1), np.float32)]
    assert_same(outcome(before, given), outcome(after, given), "remove-checks")
