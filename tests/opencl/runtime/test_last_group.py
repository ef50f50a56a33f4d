"""The group that comes last combines what all groups reduced, under the CPU schedule."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.opencl.runtime import open_session
from minifut.opencl.runtime.failures import ARRIVED, INTERRUPTED

pytestmark = pytest.mark.device

SUM = "entry main (xs: []i64) = i64.sum xs"


def test_one_launch_reduces_a_long_array() -> None:
    core = stages.to_core(stages.check(Source("sum.fut", SUM)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "sum")
    lines = module[module.index("def main(") : module.index("def entry_main(")]
    # one for arrays of one chunk, one for all others
    assert lines.count("kernels[") == 2


def test_counting_begins_anew_in_each_run() -> None:
    program = minifut.compile(SUM, schedule="cpu")
    for length in (16384, 70001, 1 << 20, 16385, 5):
        xs = np.arange(length)
        for _ in range(3):
            assert program.main(xs) == xs.sum()
    assert open_session().cell[ARRIVED] == 0


def test_groups_that_were_interrupted_do_not_count() -> None:
    """A run after one of which some groups came, and others left."""
    program = minifut.compile(SUM, schedule="cpu")
    session = open_session()
    xs = np.arange(1 << 20)
    assert program.main(xs) == xs.sum()
    session.cell[ARRIVED] = 3
    session.cell.view(np.int32)[0] = INTERRUPTED
    assert program.main(xs) == xs.sum()
    assert session.cell[ARRIVED] == 0
