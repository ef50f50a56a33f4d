"""Maps over arrays too large for the caches: block by block, the rest one by one."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.lowering.segmap.streaming import LARGE


@pytest.mark.device
@pytest.mark.parametrize("extra", [-1, 0, 1, 17])
def test_every_element_of_a_large_result_is_written(extra: int) -> None:
    program = minifut.compile(
        "entry main (xs: []i32): ([]i32, []f64) ="
        " unzip (map (\\x -> (2 * x, f64.i32 x)) xs)",
        schedule="cpu",
    )
    xs = np.arange(LARGE // 12 + extra, dtype=np.int32)
    doubled, floats = program.main(xs)
    np.testing.assert_array_equal(doubled, 2 * xs)
    np.testing.assert_array_equal(floats, xs)


@pytest.mark.device
def test_elements_of_each_width_are_written() -> None:
    program = minifut.compile(
        "entry main (xs: []u8): ([]u8, []bool, []i16, []f16, []i64) ="
        " unzip5 (map (\\x -> (x + 1, x < 5, i16.u8 x, f16.u8 x, i64.u8 x)) xs)",
        schedule="cpu",
    )
    xs = (np.arange(LARGE // 14 + 5) % 251).astype(np.uint8)
    more, small, *wide = program.main(xs)
    np.testing.assert_array_equal(more, xs + 1)
    np.testing.assert_array_equal(small, xs < 5)
    for each in wide:
        np.testing.assert_array_equal(each, xs)


@pytest.mark.device
def test_the_interior_of_a_stencil_starts_between_blocks() -> None:
    program = minifut.compile(
        "entry main [n] (xs: [n]f64) ="
        " tabulate n (\\i -> if i < 3 then xs[i] else xs[i] - xs[i - 3])",
        schedule="cpu",
    )
    xs = np.arange(LARGE // 8 + 40) ** 2.0
    found = program.main(xs)
    np.testing.assert_array_equal(found[:3], xs[:3])
    np.testing.assert_array_equal(found[3:], xs[3:] - xs[:-3])
