"""What moves out of a body that may never run: the guard, the meaning, the device."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.ir.core import If, Index, Program
from minifut.ir.search import contains
from minifut.ir.soacs import Screma
from minifut.passes.pipelines import DEFAULT, find_pass, run_pass
from tests.passes.test_versions import compiled

BEFORE = DEFAULT[: DEFAULT.index(find_pass("simplify"))]
HEAD = "entry f [n] [k] [l] (xs: [n]i64) (zs: [k]i64) (ys: [l]i64) (m: i64): [n]i64 ="
READ = "i64.sum (map (\\j -> ys[m] + j * j) (iota k))"
GUARDED = {
    "a sum": f" map (\\x -> x * {READ}) xs",
    "an array": f" map (\\x -> (map (+ {READ}) zs)[0] + x) xs",
    "a loop": f" loop r = copy xs for i < n do map (+ {READ}) r",
    "a loop of a short index": f" loop r = copy xs for i < i32.i64 n do map (+ {READ}) r",
    "a while loop": f" loop r = copy xs while n > 0 && r[0] < 9 do map (\\x -> x + 9 + {READ}) r",
    "two levels": f" map (\\x -> i64.sum (map (\\z -> z * {READ}) zs) + x) xs",
    "a branch": f" map (\\x -> x + if m > 1 then {READ} else 7) xs",
}
KEPT = {
    "after a check": f" map (\\x -> zs[x] * {READ}) xs",
    "after a loop": f" map (\\x -> (loop x while x > 9 do x // 2) * {READ}) xs",
}


def guarded_reads(program: Program) -> int:
    """How many branches of the entry point itself have a SOAC that reads."""
    return sum(
        isinstance(statement.exp, If)
        and contains(statement.exp, Screma)
        and contains(statement.exp, Index)
        for statement in program.functions[-1].body.statements
    )


@pytest.mark.parametrize("name", ["a sum", *KEPT])
def test_what_moves_is_guarded(name: str) -> None:
    _, before = compiled(HEAD + (GUARDED | KEPT)[name], BEFORE)
    assert guarded_reads(run_pass("simplify", before)) == (name in GUARDED)


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", GUARDED | KEPT)
def test_an_index_out_of_bounds_where_nothing_runs(name: str) -> None:
    """The index is so large that the read itself would end the process."""
    source = HEAD + (GUARDED | KEPT)[name]
    empty, some = np.zeros(0, np.int64), np.arange(3)
    far = 10**13
    for backend in ("opencl", "sequential"):
        entry = minifut.compile(source, backend=backend).f
        assert len(entry(empty, some, some, far)) == 0
        with pytest.raises(minifut.ProgramError, match="out of bounds"):
            entry(np.zeros(1, np.int64), some, some, far)
        assert len(entry(some[:2], some, some, 2)) == 2
