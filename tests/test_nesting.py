"""Programs that nest deeper than Python and C let blocks nest."""

from __future__ import annotations

import numpy as np
import pytest

import minifut

pytestmark = pytest.mark.device
SCHEDULES = pytest.mark.parametrize("schedule", ["cpu", "gpu"])


def cases(n: int) -> str:
    return "".join(f" case {i} -> {i * i % 101}i32" for i in range(n))


def several_cases(n: int) -> str:
    """Cases that do more than a scalar operation."""
    return "".join(
        f" case {i} -> i32.sum (map (+ x) ys) + {i}"
        if i % 7 == 0
        else f" case {i} -> x"
        for i in range(n)
    )


@SCHEDULES
def test_match_of_many_cases(schedule: str) -> None:
    text = (
        f"entry one (x: i32): i32 = match x {cases(220)} case _ -> -1\n"
        f"entry each (xs: []i32): []i32 = map one xs\n"
    )
    program = minifut.compile(text, schedule=schedule)
    xs = np.arange(-2, 225, dtype=np.int32)
    wanted = np.where((xs >= 0) & (xs < 220), xs * xs % 101, -1)
    np.testing.assert_array_equal(program.each(xs), wanted)
    for i in (0, 2, 100, 221, 226):
        assert program.one(xs[i]) == wanted[i]


@SCHEDULES
def test_cases_with_kernels(schedule: str) -> None:
    text = (
        "def k = i32.sum (iota 4 |> map i32.i64)\n"
        f"entry main (x: i32) (ys: []i32): (i32, []i32) = let r = match x "
        f"{several_cases(60)} case _ -> k in (r, map (+ r) ys)"
    )
    program = minifut.compile(text, schedule=schedule)
    ys = np.array([3, 4, 5], np.int32)
    for x in (0, 7, 13, 49, 56, 57, 90):
        r = (ys + x).sum() + x if x % 7 == 0 and x < 60 else x if x < 60 else 6
        given, added = program.main(np.int32(x), ys)
        assert given == r
        np.testing.assert_array_equal(added, ys + r)


@SCHEDULES
@pytest.mark.parametrize("depth", [15, 16, 17, 40])
def test_loops_in_loops(schedule: str, depth: int) -> None:
    """Scalars and arrays are carried through; a branch and an update are innermost."""
    head = "".join(
        f"loop (s, xs) for i{i} < {2 if i % 9 == 0 else 1} do " for i in range(depth)
    )
    inner = (
        "if s % 2 == 0 then (s + i64.sum xs, map (+ 1) xs)"
        " else (s + 1, xs with [s % n] = s)"
    )
    text = f"""entry main [n] (s: i64) (ys: [n]i64): (i64, [n]i64) =
        let xs = copy ys in {head} {inner}"""
    program = minifut.compile(text, schedule=schedule)
    s, xs = 4, np.arange(5)
    given, found = program.main(s, xs)
    for _ in range(2 ** len(range(0, depth, 9))):
        if s % 2 == 0:
            s, xs = s + xs.sum(), xs + 1
        else:
            xs[s % 5] = s
            s = s + 1
    assert given == s
    np.testing.assert_array_equal(found, xs)


@SCHEDULES
def test_branches_in_loops_in_branches(schedule: str) -> None:
    depth = 30
    head = "".join(f"if x > {i} then (loop x for _i < 1 do " for i in range(depth))
    tail = "".join(f") else x - {i}" for i in range(depth))
    text = f"entry main (x: i64): i64 = {head} x + 1000 {tail}"
    program = minifut.compile(text, schedule=schedule)
    for x in (0, 1, 15, 29, 30, 31):
        wanted = x + 1000 if x >= depth else x - (depth - 1 - x)
        assert program.main(x) == wanted, x
