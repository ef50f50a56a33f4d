"""The plans of groups with register tiles, as text: printed IR against the expected
plan in `plans/`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minifut.ir.dialect import KERNELS
from minifut.ir.interpret import run
from minifut.ir.parser import parse_program
from minifut.ir.verify import verify
from minifut.lowering.program import lower_program
from minifut.rewrite.trace import Trace
from tests.opencl.device_programs import load

HERE = Path(__file__).parent
SOURCES = {
    "tiled_matmul": HERE.parents[1] / "ir" / "printed" / "tiled_matmul.ir",
    "batched": HERE.parent / "groups" / "batched.ir",
    "direct_reads": HERE / "plans" / "direct_reads.ir",
    "two_loops": HERE / "plans" / "two_loops.ir",
}


def plan_of(text: str) -> str:
    """The plans of the groups of a program."""
    program = parse_program(text)
    verify(program, KERNELS)
    trace = Trace(declined=True)
    lower_program(program, "cpu", trace)
    plans = [s for s in trace.steps if s.rule.name == "keep_tiles_in_registers"]
    return "".join(f"{line}\n" for step in plans for line in step.made)


@pytest.mark.parametrize("name", SOURCES)
def test_the_plan_of_a_group(name: str) -> None:
    expected = (HERE / "plans" / f"{name}.txt").read_text()
    assert plan_of(SOURCES[name].read_text()) == expected


def test_groups_without_register_nests_have_no_plan() -> None:
    assert plan_of((HERE.parent / "groups" / "rows.ir").read_text()) == ""


@pytest.mark.device
@pytest.mark.parametrize("name", ["direct_reads", "two_loops"])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_deferred_initialisations_start_from_their_constant(
    name: str, steps: int
) -> None:
    """Whichever way threads read the accumulator, and also without any iteration."""
    program = parse_program(SOURCES[name].read_text())
    given = (np.arange(11, dtype=np.float32), steps)
    wanted = run(program, "main", list(given), {})
    result = load(program, "cpu", {}).main(*given)
    results = result if isinstance(result, tuple) else (result,)
    for got, expected in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(got, expected)
