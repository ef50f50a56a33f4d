"""Indices that grow by one are checked before their loop, and fail as before."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.ir.core import Assert, If, Loop
from minifut.ir.traverse import walk

UP = "loop s = 0 for k < m do s * 3 + xs[start + k]"
DOWN = "loop s = 0 for k < m do s * 3 + xs[start - k]"
NARROW = "loop s = 0 for k < i32.i64 m do s * 3 + xs[start + i64.i32 k - 1]"
ROWS = "loop s = 0 for k < m do s * 3 + copy (unflatten (sized (2 * 4) xs))[k % 2, start + k]"
LOADED = "loop s = 0 for k < m do s * 3 + xs[xs[start + k] % 9]"
BODIES = {"up": UP, "down": DOWN, "narrow": NARROW, "rows": ROWS, "loaded": LOADED}
ENTRY = (
    "entry main (xs: [8]i64) (starts: []i64) (ms: []i64) ="
    " map2 (\\j m -> let start = starts[j] in {}) (indices starts) ms"
)
EDGE = (2**63 - 1, -(2**63), 2**62, -(2**62))
STARTS = (-2, -1, 0, 1, 3, 6, 7, 8, 9, *EDGE)
LENGTHS = (-3, 0, 1, 2, 3, 5, 8, 9, 40)


def outcome(program: minifut.Program, start: int, m: int) -> list[int] | str:
    """Results of a row that works and of this one, or the message."""
    xs = np.array([3, 1, 4, 0, 5, 2, 6, 7])
    try:
        given = np.array([1, start]), np.array([1, m])
        return list(program.main(xs, *given).tolist())
    except ProgramError as error:
        return str(error)


@pytest.mark.device
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_rows_fail_where_they_did(body: str) -> None:
    text = ENTRY.format(body)
    known = minifut.compile(text, backend="interpreter")
    program = minifut.compile(text, schedule="cpu")
    failed = 0
    for start in STARTS:
        for m in LENGTHS:
            if abs(start) > 100 and m > 9:
                continue
            found = outcome(program, start, m)
            failed += isinstance(found, str)
            assert found == outcome(known, start, m), (start, m)
    assert failed > 20


def loops(body: str, schedule: str) -> tuple[int, int]:
    """The loops in branches of the kernels, and the checks that are left in all."""
    core = stages.to_core(stages.check(Source("x.fut", ENTRY.format(body))))
    program = stages.to_schedule(stages.to_kernels(core), schedule)
    nodes = [n for f in program.functions for n in walk(f)]
    branches = [n for n in nodes if isinstance(n, If)]
    copies = {id(n) for b in branches for n in walk(b) if isinstance(n, Loop)}
    return len(copies), sum(isinstance(n, Assert) for n in nodes)


def test_loops_of_a_cpu_are_copied_and_others_are_not() -> None:
    for body in (UP, DOWN, NARROW, LOADED):
        copies, checks = loops(body, "cpu")
        assert copies == 2, body
        assert checks == loops(body, "gpu")[1] + (body == LOADED)
        assert loops(body, "gpu")[0] == 0
    assert loops(UP.replace("xs[start", "xs[j"), "cpu")[0] == 0
    assert loops(UP.replace("+ k", "+ 2 * k"), "cpu")[0] == 0
