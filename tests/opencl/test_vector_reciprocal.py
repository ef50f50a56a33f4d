"""Reciprocals of vectors of doubles have the bits of the division."""

from __future__ import annotations

import numpy as np
import pytest

import minifut

TEXT = """
-- points are explicit vectors, of eight lanes as a variable of 64 bits is assigned
entry reciprocals [n] (rounds: i64) (xs: [n]f64): [n]f64 =
  map (\\x -> loop y = x for _i < rounds do 1 / y) xs
"""
COUNT = 1 << 17


def fractions(random: np.random.Generator) -> np.ndarray:
    """Random numbers in [1, 2)."""
    return 1 + random.integers(0, 1 << 52, COUNT) * 2.0**-52


def near_two(random: np.random.Generator) -> np.ndarray:
    """All bits of the fraction are set, or almost."""
    return 2 - random.integers(1, 5, COUNT) * 2.0**-52


def near_one(random: np.random.Generator) -> np.ndarray:
    return 1 + random.integers(-4, 5, COUNT) * 2.0**-52


def of_all_sizes(random: np.random.Generator) -> np.ndarray:
    """Some of which are denormal, or have such a reciprocal."""
    signs = random.choice([-1.0, 1.0], COUNT)
    return signs * np.ldexp(fractions(random), random.integers(-1070, 1023, COUNT))


def special(_: np.random.Generator) -> np.ndarray:
    """Each alone among others."""
    found = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 1.7e308, 2.0**-500]
    numbers = np.ones((8 * len(found), 8))
    for number, value in enumerate(found):
        numbers[8 * number + np.arange(8), np.arange(8)] = value
    return numbers.ravel()


@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize(
    "numbers", [fractions, near_two, near_one, of_all_sizes, special]
)
def test_the_bits_are_those_of_the_division(numbers: object) -> None:
    program = minifut.compile(TEXT)
    assert callable(numbers)
    xs = numbers(np.random.default_rng(7))
    found = np.asarray(program.reciprocals(1, xs))
    with np.errstate(all="ignore"):
        wanted = 1 / xs
    same = found.view(np.int64) == wanted.view(np.int64)
    assert np.all(same | (np.isnan(found) & np.isnan(wanted)))


def test_eight_lanes_call_the_function() -> None:
    texts = "".join(minifut.compile(TEXT).kernels.values())
    assert "= minifut_reciprocal_8x64(" in texts
