"""Groups with tiles are shared out one at a time, under the CPU schedule."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.opencl.runtime import open_session
from minifut.opencl.runtime.failures import INTERRUPTED, TAKEN

pytestmark = pytest.mark.device

PRODUCT = """
entry main [n][k][m] (a: [n][k]i64) (b: [k][m]i64): [n][m]i64 =
  map (\\u -> map (\\v -> i64.sum (map2 (*) u v)) (transpose b)) a
"""


def operands(n: int, k: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(n * k).reshape(n, k), np.arange(k * m).reshape(k, m)


def test_counting_begins_anew_in_each_run() -> None:
    program = minifut.compile(PRODUCT, schedule="cpu")
    for shape in ((300, 17, 900), (8, 40, 512), (1000, 3, 100), (257, 64, 257)):
        a, b = operands(*shape)
        for _ in range(3):
            assert (program.main(a, b) == a @ b).all()
            assert open_session().cell[TAKEN] == 0


def test_what_interrupted_groups_took_is_forgotten() -> None:
    """A run after one of which some groups were taken when it ended."""
    program = minifut.compile(PRODUCT, schedule="cpu")
    session = open_session()
    a, b = operands(300, 20, 900)
    assert (program.main(a, b) == a @ b).all()
    session.cell[TAKEN] = 2
    session.cell.view(np.int32)[0] = INTERRUPTED
    assert (program.main(a, b) == a @ b).all()
    assert session.cell[TAKEN] == 0
