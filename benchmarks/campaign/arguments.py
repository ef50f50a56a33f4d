"""Random arguments for the entry point main of a random program.

Sizes are small, often 0 or 1; numbers are small as well, so that they serve as indices,
with now and then the least and greatest integer, infinities, NaN and -0.0.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from minifut.ir.core import Program
from minifut.ir.types import element_of, shape_of
from minifut.values.types import DTYPES

SMALL = (0, 0, 1, 1, 2, 3, 4, 5, 7)
TINY = (0, 1, 2)
LARGE = (*SMALL, 16, 33, 67, 130)
LEAST, GREATEST = -3, 6
EDGES = (np.inf, -np.inf, np.nan, -0.0, 0.0)


def random_arguments(
    program: Program, chance: random.Random, sizes: Sequence[int]
) -> list[Any]:
    """An argument for each parameter; sizes that have one name are equal."""
    entry = next(entry for entry in program.entries if entry.name == "main")
    function = next(f for f in program.functions if f.name == entry.function)
    numbers = np.random.default_rng(chance.getrandbits(63))
    edges = chance.choice((0.0, 0.0, 0.1))
    known: dict[Any, int] = {}
    found = []
    for parameter in function.parameters[entry.sizes :]:
        shape = shape_of(parameter.type)
        for name in {name: None for size in shape for name in size.names()}:
            known.setdefault(name, chance.choice(sizes))
        dims = tuple(size.evaluate(known) for size in shape)
        element = element_of(parameter.type)
        found.append(_values(DTYPES[element.name], dims, numbers, edges))
    return found


def _values(
    dtype: np.dtype[Any], dims: tuple[int, ...], numbers: Any, edges: float
) -> Any:
    match dtype.kind:
        case "b":
            drawn, unusual = numbers.integers(0, 2, dims).astype(bool), (True,)
        case "f":
            drawn = numbers.integers(4 * LEAST, 4 * GREATEST, dims) / 4
            unusual = EDGES
        case _:
            least = 0 if dtype.kind == "u" or not dims else LEAST
            drawn = numbers.integers(least, GREATEST, dims)
            limits = np.iinfo(dtype)
            unusual = (limits.min, limits.max)
    values = np.asarray(drawn).astype(dtype)
    if edges and dims:
        where = numbers.random(dims) < edges
        values[where] = numbers.choice(np.array(unusual, dtype), int(where.sum()))
    return values[()]


def copies(arguments: Sequence[Any]) -> list[Any]:
    """The arguments anew, as a run may consume them."""
    return [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
