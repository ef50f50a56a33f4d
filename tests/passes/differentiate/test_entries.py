"""Derivatives of entry points as entry points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source, UsageError
from minifut.interpreted import interpreted_program
from minifut.ir.parser import names_after
from minifut.passes.differentiate.entries import DerivativeMode, add_derivative

LOSS = """
entry loss [n][d] (w: [d]f64) (xs: [n][d]f64) (k: i64): f64 =
  f64.sum (map (\\x -> f64.sum (map2 (*) w x) ** 2) xs) * f64.i64 k
"""


def derived(text: str, mode: DerivativeMode, *wrt: int) -> Any:
    core = stages.to_core(stages.check(Source("test.fut", text)))
    made = add_derivative(core, names_after(core), core.entries[0], "made", mode, wrt)
    return interpreted_program(made).made  # type: ignore[attr-defined]


def test_a_gradient() -> None:
    random = np.random.default_rng(1)
    w, xs = random.normal(size=3), random.normal(size=(4, 3))
    value, gradient = derived(LOSS, "vjp", 0)(w, xs, 2, 1.0)
    assert np.isclose(value, 2 * np.sum((xs @ w) ** 2))
    np.testing.assert_allclose(gradient, 4 * xs.T @ (xs @ w))


def test_adjoints_of_two_parameters() -> None:
    random = np.random.default_rng(2)
    w, xs = random.normal(size=3), random.normal(size=(4, 3))
    _, one, other = derived(LOSS, "vjp", 1, 0)(w, xs, 1, 1.0)
    np.testing.assert_allclose(one, 2 * np.outer(xs @ w, w))
    np.testing.assert_allclose(other, 2 * xs.T @ (xs @ w))


def test_a_tangent() -> None:
    random = np.random.default_rng(3)
    w, xs, dw = random.normal(size=3), random.normal(size=(4, 3)), random.normal(size=3)
    _, tangent = derived(LOSS, "jvp", 0)(w, xs, 1, dw)
    assert np.isclose(tangent, 2 * np.sum((xs @ w) * (xs @ dw)))


def test_what_is_no_float_is_named() -> None:
    with pytest.raises(UsageError, match=r'parameter "k".*i64 is not made of floats'):
        derived(LOSS, "vjp", 2)
    with pytest.raises(UsageError, match="no parameter number 5"):
        derived(LOSS, "vjp", 5)


def test_unknown_sizes_are_refused() -> None:
    text = "entry few (xs: []f64) = filter (> 0) xs"
    with pytest.raises(UsageError, match="sizes of its results depend on values"):
        derived(text, "vjp", 0)
