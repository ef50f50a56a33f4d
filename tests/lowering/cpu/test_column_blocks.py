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


ROWS = """
entry main [n][p][m] (a: [n][p][m]f32) (scale: [n][p]f32) =
  tabulate_2d p m (\\k j -> f32.sum (map (\\i -> scale[i, k] * a[i, k, j]) (iota n)))"""


@pytest.mark.device
@pytest.mark.parametrize(
    "shape", [(0, 3, 9), (2000, 25, 16), (70, 300, 40), (3, 2, 4097), (5, 0, 8)]
)
def test_blocks_of_several_rows_of_columns(shape: tuple[int, int, int]) -> None:
    program = minifut.compile(ROWS, schedule="cpu")
    random = np.random.default_rng(0)
    a = random.integers(-9, 9, shape).astype(np.float32)
    scale = random.integers(-3, 3, shape[:2]).astype(np.float32)
    np.testing.assert_array_equal(
        program.main(a, scale), np.einsum("npm,np->pm", a, scale)
    )


MOVED = """
entry main [n] (lags: i64) (xs: [n]f32) (w: i64) =
  tabulate lags (\\l -> f32.sum (tabulate n (\\i ->
    if i + l >= w && i + l < n then xs[i] * xs[i + l] else 3)))"""


@pytest.mark.device
@pytest.mark.parametrize(("lags", "n"), [(64, 2000), (100, 70), (300, 300), (8, 5)])
@pytest.mark.parametrize("w", [0, 3, -5, 2**62])
def test_guards_of_columns_are_tested_for_a_row(lags: int, n: int, w: int) -> None:
    program = minifut.compile(MOVED, schedule="cpu")
    xs = np.random.default_rng(0).integers(-4, 4, n).astype(np.float32)
    wanted = np.empty(lags, np.float32)
    for lag in range(lags):
        at = np.arange(n) + lag
        inside = (at >= w) & (at < n)
        wanted[lag] = np.where(inside, xs * xs[np.minimum(at, n - 1)], 3).sum()
    np.testing.assert_array_equal(program.main(lags, xs, w), wanted)
    text = "".join(program.kernels.values())
    columns = text[text.index("main_reduce_columns(") :]
    assert columns.index("own = ") > columns.index("if ("), "tested before the lanes"
