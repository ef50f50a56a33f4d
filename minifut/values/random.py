"""Random values of a given type, the same for the same seed.

Integers cover their whole range, floats are uniform in [0, 1], bools fair; `Bounds`
narrows a type to [minimum, maximum].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minifut.errors import UsageError
from minifut.values.types import DTYPES, ShapedType, Value, limited

RandomBounds = Mapping[str, tuple[float, float]]


def random_value(
    type_: ShapedType, seed: int = 1, bounds: RandomBounds | None = None
) -> Value:
    """One value; equal arguments give equal values."""
    generator = np.random.default_rng(seed)
    given = (bounds or {}).get(type_.element)
    value = _array(limited(type_), generator, given)
    return DTYPES[type_.element].type(value[()]) if not type_.shape else value


def _array(
    type_: ShapedType, generator: np.random.Generator, given: tuple[Any, Any] | None
) -> np.ndarray[Any, Any]:
    dtype = DTYPES[type_.element]
    if type_.element == "bool":
        return np.asarray(generator.integers(0, 2, type_.shape)).astype(bool)
    if type_.element[0] == "f":
        if given is None and dtype != np.float64:
            return np.asarray(generator.random(type_.shape, np.float32)).astype(
                dtype, copy=False
            )
        low, high = given or (0.0, 1.0)
        uniform = np.asarray(generator.random(type_.shape))
        return (low + uniform * (high - low)).astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    low, high = given or (limits.min, limits.max)
    drawn = generator.integers(low, high, type_.shape, dtype, endpoint=True)
    return np.asarray(drawn)


def parse_bounds(element: str, text: str) -> tuple[float, float]:
    """Read `MIN:MAX` for an element type."""
    number: Any = float if element[0] == "f" else int
    try:
        low, high = (number(part) for part in text.split(":"))
    except ValueError:
        raise UsageError(
            f"'{text}' is not a pair of bounds for {element}: write MIN:MAX"
        ) from None
    if element[0] != "f":
        limits = np.iinfo(DTYPES[element])
        if low < limits.min or high > limits.max:
            raise UsageError(f"the bounds {text} are out of the range of {element}")
    if low > high:
        raise UsageError(f"the bounds {text} are empty: the first is the larger one")
    return low, high
