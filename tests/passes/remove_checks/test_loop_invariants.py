"""Checks within loops that bounds of their parameters prove, found by induction."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.passes.meaning import assert_same, outcome
from tests.passes.remove_checks.test_removal import before_and_after, checks

SAFE = {
    "binary search": """entry main [n] (xs: [n]i64) (x: i64) =
      (loop (lo, hi) = (0, n) while lo < hi do
         let mid = (lo + hi) / 2
         in if xs[mid] < x then (mid + 1, hi) else (lo, mid)).0""",
    "what was found": """entry main [n] (xs: [n]i64) (x: i64) =
      let at = (loop (lo, hi) = (0, n) while lo < hi do
         let mid = lo + (hi - lo) / 2
         in if xs[mid] < x then (mid + 1, hi) else (lo, mid)).0
      in if at < n then xs[at] else 0""",
    "counting up": """entry main [n] (xs: [n]i64) =
      (loop (i, s) = (0, 0) while i < n do (i + 1, s + xs[i])).1""",
    "counting down": """entry main [n] (xs: [n]i64) =
      (loop (i, s) = (n - 1, 0) while i >= 0 do (i - 1, s + xs[i])).1""",
    "counting some": """entry main [n] (xs: [n]i64) =
      (loop (k, s) = (0i64, 0) for i < n do
         if xs[i] > 0 then (k + 1, s + xs[k]) else (k, s)).1""",
    "until it is found": """entry main [n] (xs: [n]i64) (x: i64) =
      loop i = 0 while i < n && xs[i] != x do i + 1""",
    "two ends": """entry main [n] (xs: [n]i64) (x: i64) =
      loop (lo, hi) = (0, n - 1) while lo < hi do
         if xs[lo] + xs[hi] < x then (lo + 1, hi) else (lo, hi - 1)""",
    "32 bits": """entry main [n] (xs: [n]i64) (x: i64) =
      let m = i32.i64 (i64.min n 1000)
      in (loop (lo, hi) = (0i32, m) while lo < hi do
           let mid = (lo + hi) / 2
           in if xs[mid] < x then (mid + 1, hi) else (lo, mid)).0""",
    "merging": """entry main [n] [m] (xs: [n]i64) (ys: [m]i64) =
      (loop (i, j, s) = (0, 0, 0) while i < n && j < m do
         if xs[i] < ys[j] then (i + 1, j, s + xs[i]) else (i, j + 1, s - ys[j])).2""",
}


@pytest.mark.parametrize("name", sorted(SAFE))
def test_checks_that_never_fail_are_removed(name: str) -> None:
    before, after = before_and_after(SAFE[name])
    assert checks(before) and not checks(after)


UNSAFE = {
    "no lower bound": """entry main [n] (xs: [n]i64) (k: i64) =
      (loop (i, s) = (n - 1, 0) for _j < k do (i - 1, s + xs[i])).1""",
    "steps of two": """entry main [n] (xs: [n]i64) =
      (loop (k, s) = (0, 0) for i < n do
         if xs[i] > 0 then (k + 2, s + xs[k]) else (k, s)).1""",
    "the condition of before": """entry main [n] (xs: [n]i64) =
      (loop (i, j, s) = (0, 0, 0) while j < n do (i + 2, i, s + xs[i])).2""",
    "swapped": """entry main [n] (xs: [n]i64) =
      (loop (i, j, s) = (0, n, 0) for _k < n do (j, i, s + xs[i])).2""",
    "doubling": """entry main [n] (xs: [n]i64) (k: i64) =
      (loop (i, s) = (1, 0) for _k < k do (i * 2, s + xs[i % n])).1""",
    "a parameter": """entry main [n] (xs: [n]i64) (k: i64) =
      (loop (i, s) = (k, 0) while i < n do (i + 1, s + xs[i])).1""",
}


@pytest.mark.parametrize("name", sorted(UNSAFE))
def test_checks_that_may_fail_stay(name: str) -> None:
    before, after = before_and_after(UNSAFE[name])
    assert checks(before) and checks(after)


def random_loop(seed: int) -> str:
    """A loop over two or three numbers whose updates and condition are random."""
    chance = random.Random(seed)
    names = ["p", "q", "r"][: chance.choice((2, 2, 3))]
    atoms = [*names, "n", "0", "1", "k"]

    def value(depth: int) -> str:
        one, other = (chance.choice(names) for _ in range(2))
        if depth and chance.random() < 0.4:
            condition = chance.choice(
                (f"xs[{one}] < {chance.choice(atoms)}", f"{one} < {other}", "flag")
            )
            return f"(if {condition} then {value(0)} else {value(depth - 1)})"
        return chance.choice(
            (
                one,
                f"{one} + 1",
                f"{one} - 1",
                f"({one} + {other}) / 2",
                f"{one} + {other}",
                f"i64.max {one} {chance.choice(atoms)}",
                f"i64.min {one} {chance.choice(atoms)}",
                f"{one} * 2",
                chance.choice(atoms),
            )
        )

    tests = [
        f"{chance.choice(names)} {chance.choice(('<', '<=', '>', '>='))} "
        f"{chance.choice(atoms)}"
        for _ in range(chance.choice((1, 2)))
    ]
    goes_on = " && ".join(("fuel > 0", *tests))
    form = chance.choice((f"while {goes_on}", "for i < n"))
    starts = ", ".join(chance.choice(atoms[len(names) :]) for _ in names)
    updates = ", ".join(value(1) for _ in names)
    read = chance.choice(names)
    parameters = ", ".join(names)
    return f"""entry main [n] (xs: [n]i64) (k: i64) (flag: bool) =
      loop ({parameters}, s, fuel) = ({starts}, 0i64, 9i64) {form} do
        let t = s + xs[{read}]
        in ({updates}, t, fuel - 1)"""


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, 400, 40))
def test_random_loops_mean_the_same(first: int) -> None:
    for seed in range(first, first + 40):
        text = random_loop(seed)
        before, after = before_and_after(text)
        for n in range(5):
            for k in (0, 1, -1, 3, 2**62, 2**63 - 1):
                xs = np.arange(n, dtype=np.int64) % 3
                given: list[Any] = [xs, np.int64(k), np.bool_(n % 2)]
                assert_same(outcome(before, given), outcome(after, given), text)
