"""Checks of points that are tested chunk by chunk fail as they did point by point."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import compiler
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
PROGRAMS = {
    "gather": GATHER, "branches": BRANCHES, "rows": ROWS, "chained": CHAINED
}  # fmt: skip
INDICES = {
    "inside": lambda m: np.arange(m) % 90,
    "last outside": lambda m: np.append(np.arange(m - 1) % 90, 1000),
    "first outside": lambda m: np.append(-5, np.arange(m - 1) % 90),
    "one in the middle": lambda m: np.where(np.arange(m) == m // 2, 2**40, 7),
}


@pytest.mark.device
@pytest.mark.parametrize("indices", INDICES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_failures_are_those_of_the_interpreter(
    name: str, indices: str
) -> None:
    text = PROGRAMS[name]
    core = compiler.to_core(compiler.check(Source("program.fut", text)))
    program = minifut.compile(text)
    xs = (np.arange(100, dtype=np.int32) * 7) % 100
    for m in (1, 3, 40, 3000):
        ks = INDICES[indices](m).astype(np.int64)
        try:
            wanted = run(core, "main", [ks, xs])
        except ProgramError as error:
            with pytest.raises(ProgramError) as failure:
                np.asarray(program.main(ks, xs))
            assert failure.value.message == error.message
        else:
            np.testing.assert_array_equal(np.asarray(program.main(ks, xs)), wanted[0])


@pytest.mark.parametrize("name", ["gather", "branches", "rows"])
def test_no_check_is_in_the_loop_that_does_the_work(name: str) -> None:
    core = compiler.to_core(compiler.check(Source("program.fut", PROGRAMS[name])))
    module = compiler.to_host_module(compiler.to_kernels(core), "cpu", "program")
    work = module.split("if (fine != 0)")[1].split("} else {\n")[0]
    assert "minifut_fail" not in work
