"""Rows of few points with loops, by fewer lanes than vectors have."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source

RESONATORS = """
entry main [n] [m] [q] (xss: [n][m]f32) (cs: [q]f32): [n][q]f32 =
  map (\\xs -> map (\\c -> (loop (a, b) = (0, 0) for x in xs do (x + c * a - b, a)).0) cs) xss
"""
ROOTS = """
entry main [n] [q] (xs: [n]f64) (cs: [q]f64): [n][q]f64 =
  map (\\x -> map (\\c -> loop y = x for _i < 20 do y - (y * y - c) / (2 * y)) cs) xs
"""
WIDTHS = (1, 3, 4, 5, 7, 8, 11, 12, 15, 16, 17, 33)


def resonators(xss: np.ndarray, cs: np.ndarray) -> np.ndarray:
    a = np.zeros((len(xss), len(cs)), np.float32)
    b = a
    for x in xss.T:
        a, b = x[:, None] + cs * a - b, a
    return a


@pytest.mark.device
@pytest.mark.parametrize("lanes", [16, 8, 1])
def test_rows_of_any_length(lanes: int) -> None:
    params = {"lanes": lanes}
    first = minifut.compile(RESONATORS, schedule="cpu", params=params)
    second = minifut.compile(ROOTS, schedule="cpu", params=params)
    random = np.random.default_rng(2)
    for width in WIDTHS:
        xss = random.normal(size=(40, 9)).astype(np.float32)
        cs = random.random(width).astype(np.float32)
        found = np.asarray(first.main(xss, cs))
        np.testing.assert_allclose(found, resonators(xss, cs), rtol=1e-3, atol=1e-4)
        xs, squares = random.random(50) + 1, random.random(width) + 1
        found = np.asarray(second.main(xs, squares))
        wanted = np.broadcast_to(np.sqrt(squares), found.shape)
        np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize(
    ("text", "narrow"), [(RESONATORS, "float4"), (ROOTS, "double4")]
)
def test_there_are_narrow_vectors(text: str, narrow: str) -> None:
    core = stages.to_core(stages.check(Source("rows.fut", text)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "rows")
    assert f"{narrow} " in module
