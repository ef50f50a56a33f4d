"""Powers of floats: their errors, and what is exact."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

import minifut

POWER = "entry main [n] (x: [n]{0}) (y: [n]{0}): [n]{0} = map2 (\\a b -> a ** b) x y"
DTYPES = {"f32": np.float32, "f64": np.float64}
ALLOWED = {"f32": 0.51, "f64": 0.8}

pytestmark = pytest.mark.device


def operands(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Powers that are neither too large nor too small."""
    random = np.random.default_rng(7)
    largest = 700 if dtype is np.float64 else 85
    bases = [
        random.uniform(0.5, 2, 300),
        np.exp(random.uniform(-80, 80, 300)),
        1 + random.normal(size=300) * 1e-4,
        np.full(100, 2.0),
        np.array([1e-42, 5e-40] * 10 if dtype is np.float32 else [5e-324, 1e-310] * 10),
    ]
    x = np.concatenate(bases).astype(dtype)
    limit = largest / np.maximum(np.abs(np.log(x.astype(np.float64))), 1e-6)
    return x, (random.uniform(-1, 1, len(x)) * limit).astype(dtype)


@pytest.mark.parametrize("type_", DTYPES)
@pytest.mark.parametrize("lanes", [16, 8, 1])
def test_powers_are_nearly_the_nearest_numbers(type_: str, lanes: int) -> None:
    program = minifut.compile(POWER.format(type_), params={"lanes": lanes})
    x, y = operands(DTYPES[type_])
    found = program.main(x, y)
    with localcontext() as context:
        context.prec = 40
        for base, exponent, power in zip(x, y, found, strict=True):
            exact = (Decimal(float(exponent)) * Decimal(float(base)).ln()).exp()
            unit = Decimal(float(np.spacing(DTYPES[type_](float(exact)))))
            error = abs(Decimal(float(power)) - exact) / unit
            assert error <= ALLOWED[type_], (base, exponent, power)


@pytest.mark.parametrize("type_", DTYPES)
@pytest.mark.parametrize("lanes", [16, 8, 1])
def test_ends_and_signs_are_those_of_ieee(type_: str, lanes: int) -> None:
    program = minifut.compile(POWER.format(type_), params={"lanes": lanes})
    dtype = DTYPES[type_]
    ends = [0.0, 1.0, np.inf, 2.0, 0.5, 3.0, 2.5, 1e30, 2.0**24 + 1, 2.0**53 - 1]
    with np.errstate(over="ignore"):
        numbers = np.array([*ends, *(-x for x in ends), np.nan, 5e-324], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        wanted = np.power(x, y)
    found = program.main(x, y)
    np.testing.assert_allclose(
        found, wanted, rtol=1e-6 if dtype is np.float32 else 1e-15
    )
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(wanted[known]))
