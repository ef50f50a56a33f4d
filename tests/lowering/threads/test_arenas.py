"""Threads whose memory only they know, in kernels that update accumulators."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.lowering.program import lower_program
from minifut.lowering.threads.arena import INITIAL_CAPACITY

PROGRAM = """
def powers [m] (c: [m]f64) (k: i64) : f64 =
  (loop (x, i) = (1, 0) while i < k do (0.5 * x + c[(k + i) % m], i + 1)).0

entry main [m] [n] (c: [m]f64) (ks: [n]i64) : [m]f64 =
  vjp (\\c -> f64.sum (map (powers c) ks)) c 1
"""


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_tapes_of_while_loops_in_maps_are_in_kernels(schedule: str) -> None:
    core = stages.to_core(stages.check(Source("tape.fut", PROGRAM)))
    program = stages.to_schedule(stages.to_kernels(core), schedule)
    assert not lower_program(program, schedule).on_host


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("cells", [3, 100_000], ids=["few cells", "many cells"])
def test_updates_count_once_if_a_kernel_runs_again(schedule: str, cells: int) -> None:
    """Tapes of some threads are longer than their first memory."""
    ks = np.array([5, 3 * INITIAL_CAPACITY, 0, 7, 9 * INITIAL_CAPACITY])
    expected = np.zeros(cells)
    for k in ks:
        at = (k + np.arange(k)) % cells
        np.add.at(expected, at, 0.5 ** np.arange(k)[::-1])
    got = minifut.compile(PROGRAM, schedule=schedule).main(np.ones(cells), ks)
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-12)
