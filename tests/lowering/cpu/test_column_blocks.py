"""Reductions and scans of columns, block by block of neighbouring ones."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.ir.types import F32, F64
from minifut.lowering.cpu.segment_blocks import ACCUMULATOR_BYTES, block_width

COLUMNS = """
entry main [n][m] (a: [n][m]f32) =
  let columns = transpose a
  in (map f32.sum columns, transpose (map (scan (+) 0) columns))"""


def test_the_accumulators_of_a_block_fill_their_part_of_the_cache() -> None:
    for types in ([F32], [F64], [F32, F64, F32]):
        nbytes = block_width(list(types)) * sum(t.bytes for t in types)
        assert ACCUMULATOR_BYTES // 2 < nbytes <= ACCUMULATOR_BYTES


@pytest.mark.device
@pytest.mark.parametrize("shape", [(3, 4095), (70, 4096), (9, 9000)])
def test_columns_of_one_and_more_blocks(shape: tuple[int, int]) -> None:
    program = minifut.compile(COLUMNS, schedule="cpu")
    a = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    sums, scans = program.main(a)
    np.testing.assert_array_equal(sums, a.sum(0))
    np.testing.assert_array_equal(scans, a.cumsum(0))
