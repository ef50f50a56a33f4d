"""Derivatives of derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.differentiate.derivatives import check, runner

CUBES = (
    "def cubes [n] (xs: [n]f64) = f64.sum (map (\\i -> xs[i] ** 3 * xs[0]) (iota n))\n"
)
GRADIENTS = {
    "tangent": "jvp cubes xs (map f64.sin xs)",
    "adjoint": "vjp cubes xs 1",
    "adjoints of a matrix": "map f64.sum (mjp (map (\\x -> x * x)) xs"
    " [xs, map f64.sin xs])",
    "adjoint in a map": "map (\\a -> f64.sum (vjp (\\ys -> cubes (map (* a) ys)) xs 1)) xs",
    "custom": "with_vjp (map f64.exp) (map2 (*)) xs",
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_derivative_of_a_derivative(name: str) -> None:
    text = CUBES + f"def f (xs: [3]f64) = {GRADIENTS[name]}"
    check(text, ["[3]f64"], (np.array([0.3, -0.8, 1.1]),))


def test_inner_tangents_are_not_those_of_outer_ones() -> None:
    text = "entry main (x: f64) = jvp (\\x -> x * jvp (\\y -> x + y) 1 1) x 1"
    assert runner(text).run("main", [np.float64(1)]) == (1.0,)
