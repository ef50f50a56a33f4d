"""Reductions, scans and histograms whose operators work on whole rows or matrices."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source

pytestmark = pytest.mark.device

ROWS = """
-- products of truncated power series
def times [m] (a: [m]u32) (b: [m]u32): [m]u32 =
  tabulate m (\\k -> loop s = 0 for j < k + 1 do s + a[j] * b[k - j])
def one (m: i64): [m]u32 = tabulate m (\\i -> u32.bool (i == 0))
entry fold [n] [m] (xs: [n][m]u32) = reduce times (one m) xs
entry folds [s] [n] [m] (xs: [s][n][m]u32) = map (reduce times (one m)) xs
entry prefix [n] [m] (xs: [n][m]u32) = scan times (one m) xs
entry prefixes [s] [n] [m] (xs: [s][n][m]u32) = map (scan times (one m)) xs
entry bins [n] [m] [k] (to: *[k][m]u32) (is: [n]i64) (xs: [n][m]u32) =
  reduce_by_index to times (one m) is xs
entry pairs [n] [m] (xs: [n][m]u32) =
  reduce (\\(a, i) (b, j) -> (times a b, i32.max i j)) (one m, i32.lowest)
         (zip xs (map (\\x -> i32.u32 x[0]) xs))
"""


@pytest.fixture(scope="module")
def oracle() -> minifut.Program:
    return minifut.compile(ROWS, backend="sequential")


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_operators_on_rows_agree(schedule: str, oracle: minifut.Program) -> None:
    program = minifut.compile(ROWS, schedule=schedule)
    random = np.random.default_rng(1)
    for n in (0, 1, 2, 5, 100, 1001):
        for m in (1, 3, 17):
            xs = random.integers(0, 1 << 32, (n, m), dtype=np.uint32)
            segments = np.stack([xs, xs + 1, 3 * xs])
            keys = random.integers(-1, 9, n)
            to = random.integers(0, 9, (7, m), dtype=np.uint32)
            calls = {
                "fold": (xs,),
                "folds": (segments,),
                "prefix": (xs,),
                "prefixes": (segments,),
                "bins": (to, keys, xs),
                "pairs": (xs,),
            }
            for name, arguments in calls.items():
                found = getattr(program, name)(*map(np.copy, arguments))
                wanted = getattr(oracle, name)(*map(np.copy, arguments))
                if not isinstance(found, tuple):
                    found, wanted = (found,), (wanted,)
                for a, b in zip(found, wanted, strict=True):
                    np.testing.assert_array_equal(np.asarray(a), np.asarray(b), name)


def test_many_bins_are_divided_into_ranges(oracle: minifut.Program) -> None:
    """So many that they leave the GPU schedule one chunk, or two."""
    program = minifut.compile(ROWS, schedule="gpu")
    random = np.random.default_rng(3)
    for n, k in ((1500, 900), (4000, 450), (10, 70)):
        xs = random.integers(0, 1 << 32, (n, 3), dtype=np.uint32)
        keys = random.integers(-1, k + 1, n)
        to = random.integers(0, 9, (k, 3), dtype=np.uint32)
        found = np.asarray(program.bins(to.copy(), keys, xs))
        wanted = np.asarray(oracle.bins(to.copy(), keys, xs))
        np.testing.assert_array_equal(found, wanted)


def test_rows_of_bins_are_updated_by_groups_of_a_warp() -> None:
    source = Source("rows.fut", ROWS)
    core = stages.to_kernels(stages.to_core(stages.check(source)))
    kernels = stages.to_kernel_code(core, "gpu").kernels
    updates = [k for k in kernels if re.search("bins_hist(_copies)?$", k.name)]
    assert [k.group_size for k in updates] == [(32,), (32,)]


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_private_rows_of_bins_start_neutral(schedule: str) -> None:
    """A neutral row of different elements, in more bins than it has elements."""
    text = """
    def keep (a: [2]i32) (b: [2]i32): [2]i32 = [i32.max a[0] b[0], i32.min a[1] b[1]]
    entry main [n] (is: [n]i64) (xs: [n][2]i32): [5][2]i32 =
      reduce_by_index (replicate 5 [-5, 5]) keep [i32.lowest, i32.highest] is xs
    """
    program = minifut.compile(text, schedule=schedule)
    random = np.random.default_rng(2)
    keys = random.integers(0, 4, 70_000)
    xs = random.integers(-99, 99, (70_000, 2)).astype(np.int32)
    wanted = np.tile(np.array([-5, 5], np.int32), (5, 1))
    np.maximum.at(wanted[:, 0], keys, xs[:, 0])
    np.minimum.at(wanted[:, 1], keys, xs[:, 1])
    np.testing.assert_array_equal(program.main(keys, xs), wanted)
