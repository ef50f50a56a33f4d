"""Checks of points, of maps and folds, that are tested chunk by chunk, before or after
their work, fail as they did point by point."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.ir.interpret import run

GATHER = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [m]i32 =
  map (\\k -> 2 * xs[k]) ks"""
BRANCHES = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [m]i32 =
  map (\\k -> if k & 1 == 0 then xs[k >> 1] else xs[k - 1] + xs[0]) ks"""
ROWS = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [4][m]i32 =
  tabulate_2d 4 m (\\i j -> xs[ks[j] + i])"""
CHAINED = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [m]i32 =
  map (\\k -> xs[i64.i32 xs[k]]) ks"""
SUMS = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): i32 =
  i32.sum (map (\\k -> 3 * xs[k]) ks)"""
ROW_MAXIMA = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [40]i32 =
  tabulate 40 (\\i -> i32.maximum (map (\\k -> xs[k] ^ i32.i64 i) ks))"""
IN_ORDER = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): i32 =
  let affine (a, b) (c, d): (i32, i32) = (a * c, b * c + d)
  in (reduce affine (1, 0) (map (\\k -> (xs[k] | 1, xs[k])) ks)).1"""
SCANS = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [m]i32 =
  scan (+) 0 (map (\\k -> xs[k]) ks)"""
SEGMENTED = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [m]i32 =
  scan (\\(f, a) (g, b) -> (f || g, if g then b else a + b)) (false, 0)
       (map (\\k -> (k % 9 == 0, xs[k])) ks) |> map (.1)"""
GATHERED_ROWS = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [3][70]i32 =
  let table = tabulate_2d n 70 (\\i j -> xs[i] + i32.i64 j)
  in tabulate 3 (\\i ->
       reduce (map2 (+)) (replicate 70 0)
              (map (\\k -> map (\\x -> x ^ i32.i64 i) table[k]) ks))"""
SHIFTED_ROWS = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [70]i32 =
  let table = tabulate_2d m 120 (\\i j -> i32.i64 (3 * i + j))
  in map (\\j -> i32.sum (map (\\i -> table[i, (ks[i] & 31) + j] - xs[ks[i] - j * 0])
                              (iota m)))
         (iota 70)"""
NEIGHBOURS = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [m]i32 =
  map (\\k -> xs[k + 3] - 2 * xs[k + 2] + xs[k + 4]) ks"""
INTERPOLATED = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [m]i32 =
  map (\\k -> let j = i64.f64 (f64.i64 k / 2 + 0.25)
             in xs[j] + xs[j + 1] + i32.u8 (u8.i32 xs[j + 50])) ks"""
NARROW = """entry main [n] [m] (ks: [m]i64) (xs: [n]i32): [m]i32 =
  map2 (\\k l -> let a = i32.i64 k in xs[a - 0] + xs[a + 1] + xs[i64.i16 (i16.i64 l)])
       ks (reverse ks)"""
PROGRAMS = {
    "neighbours": NEIGHBOURS, "interpolated": INTERPOLATED, "narrow": NARROW,
    "gathered rows": GATHERED_ROWS, "shifted rows": SHIFTED_ROWS,
    "gather": GATHER, "branches": BRANCHES, "rows": ROWS, "chained": CHAINED,
    "sums": SUMS, "row maxima": ROW_MAXIMA, "in order": IN_ORDER, "scans": SCANS,
    "segmented": SEGMENTED,
}  # fmt: skip
CLAMPED = {"chained", "interpolated"}
INDICES = {
    "inside": lambda m: np.arange(m) % 90,
    "last outside": lambda m: np.append(np.arange(m - 1) % 90, 1000),
    "first outside": lambda m: np.append(-5, np.arange(m - 1) % 90),
    "one in the middle": lambda m: np.where(np.arange(m) == m // 2, 2**40, 7),
}


def failures(name: str, message: str) -> list[str]:
    """What may be said where the first of several failing points, in the order of the
    interpreter, says this: which of them is reported is not specified."""
    if name != "rows":
        return [message]
    first = int(re.search(r"\[(-?\d+)\]", message)[1])  # type: ignore[index]
    return [message.replace(str(first), str(first + row), 1) for row in range(4)]


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("indices", INDICES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_failures_are_those_of_the_interpreter(
    name: str, indices: str
) -> None:
    text = PROGRAMS[name]
    core = stages.to_core(stages.check(Source("program.fut", text)))
    program = minifut.compile(text)
    oracle = minifut.compile(text, backend="sequential")
    xs = (np.arange(100, dtype=np.int32) * 7) % 100
    for m in (1, 3, 40, 3000, 40_000):
        ks = INDICES[indices](m).astype(np.int64)
        try:
            wanted = oracle.main(ks, xs)
            if m < 3000:
                np.testing.assert_array_equal(wanted, run(core, "main", [ks, xs])[0])
        except ProgramError as error:
            with pytest.raises(ProgramError) as failure:
                np.asarray(program.main(ks, xs))
            assert failure.value.message in failures(name, error.message)
        else:
            np.testing.assert_array_equal(np.asarray(program.main(ks, xs)), wanted)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_check_is_in_the_loop_that_does_the_work(name: str) -> None:
    core = stages.to_core(stages.check(Source("program.fut", PROGRAMS[name])))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "program")
    if name in CLAMPED:
        work = module.split("ulong most = 0UL")[1].split("if ((!")[0]
    else:
        work = module.split("if (fine != 0)")[1].split("} else {\n")[0]
    assert " for (" in work
    assert "minifut_fail" not in work
