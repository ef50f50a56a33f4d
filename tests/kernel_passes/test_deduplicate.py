"""Kernels that differ in names only."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source

PROGRAM = """
entry main [n][m] (xss: [n][m]f32) (yss: [n][m]f32): ([m][n]f32, [m][n]f32) =
  (copy (transpose xss), copy (transpose yss))
"""


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_a_module_holds_alike_kernels_once(schedule: str) -> None:
    core = stages.to_core(stages.check(Source("p.fut", PROGRAM)))
    module = stages.to_host_module(stages.to_kernels(core), schedule, "p")
    assert module.count("rt.Kernel(") == 1 and module.count(" kernels[0]") == 2
    program = minifut.compile(PROGRAM, schedule=schedule)
    xss = np.arange(600, dtype=np.float32).reshape(20, 30)
    first, second = program.main(xss, xss + 1)
    np.testing.assert_array_equal(first, xss.T)
    np.testing.assert_array_equal(second, xss.T + 1)


DIFFERENT_SIZES = """
entry main [n][m] (xss: [n][m]f32) (yss: [m][n + m]f32): ([m][n]f32, [n + m][m]f32) =
  (copy (transpose xss), copy (transpose yss))
"""


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_transpositions_of_different_sizes_are_alike(schedule: str) -> None:
    core = stages.to_core(stages.check(Source("p.fut", DIFFERENT_SIZES)))
    module = stages.to_host_module(stages.to_kernels(core), schedule, "p")
    assert module.count("rt.Kernel(") == 1 and module.count(" kernels[0]") == 2
