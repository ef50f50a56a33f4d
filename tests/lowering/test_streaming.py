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
