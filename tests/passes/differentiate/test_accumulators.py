"""Tangents of accumulators; reverse mode refuses them."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.errors import CompileError
from tests.passes.differentiate.derivatives import runner

STREAM = """
def histogram [n] (xs: [n]f64) =
  let f (acc: *intrinsics.acc ([]f64)) (i: i64) =
    intrinsics.acc_write acc (i % 2) (xs[i] * xs[i])
  in intrinsics.hist_stream (replicate 3 0) (+) 0 f (iota n)
"""


def test_a_tangent_is_accumulated_beside_the_value() -> None:
    text = f"{STREAM}\nentry main [n] (xs: [n]f64) (ds: [n]f64) = jvp2 histogram xs ds"
    xs, ds = np.array([1.0, 2, 3]), np.array([0.5, -1, 2])
    values, tangents = runner(text).run("main", [xs, ds])
    np.testing.assert_allclose(values, [10, 4, 0])
    np.testing.assert_allclose(tangents, [13, -4, 0])


def test_reverse_mode_says_where_it_refuses() -> None:
    text = f"{STREAM}\nentry main [n] (xs: [n]f64) (w: [3]f64) = vjp histogram xs w"
    with pytest.raises(CompileError, match="accumulators cannot be") as caught:
        runner(text)
    assert caught.value.location is not None
