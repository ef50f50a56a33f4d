"""Data sets generated from the types of entry points, at sizes that reveal errors.

    entry main [n][m] (xs: [n][m]f32) (k: i64)
→   main n=0 m=0, n=1 m=1, n=3 m=5, n=0 m=7, n=67 m=3, n=5 m=301

Numbers are small, so that they serve as indices and sizes, and floats are quarters, so
that sums are exact in any order. In every other data set, single numbers are the sizes,
one after the other, since they often have to be. Entry points that take tuples, records
or opaque values are left out.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.benchmarking.datasets import DataSet
from minifut.ir.types import I64, element_of, shape_of
from minifut.testing.blocks import RunCase, ValuesText
from minifut.values.text import format_value
from minifut.values.types import DTYPES

if TYPE_CHECKING:
    from minifut.ir.core import Function, Param, Program
    from minifut.ir.entries import Entry
    from minifut.ir.sizes import Size
    from minifut.names import Name

SIZES = ((0, 0, 0), (1, 1, 1), (3, 5, 2), (0, 7, 1), (67, 3, 4), (5, 301, 3))
"""what the names of sizes stand for, in turn"""
LARGEST_SIZE = 1 << 12
MOST_ELEMENTS = 1 << 16
"""of an array"""
LEAST, GREATEST = -3, 6
"""numbers in arrays; single ones are not negative, as most often they are sizes"""


def generated_data(path: Path, program: Program, seed: int = 0) -> list[DataSet]:
    """Data sets for the entry points of a core program."""
    functions = {function.name: function for function in program.functions}
    return [
        data
        for entry in program.entries
        if all(parameter.kind == "array" for parameter in entry.parameters)
        for data in _of_entry(path, entry, functions[entry.function], seed)
    ]


def _of_entry(
    path: Path, entry: Entry, function: Function, seed: int
) -> Iterator[DataSet]:
    told = set()
    for number, sizes in enumerate(SIZES):
        leaves = function.parameters[entry.sizes :]
        random = np.random.default_rng([seed, *sizes, zlib.crc32(entry.name.encode())])
        known = _named(leaves, sizes)
        if number % 2 == 0 and known:
            singles = [p.name for p in leaves if p.type == I64]
            known |= zip(singles, itertools.cycle(list(known.values())))
        values = [_value(leaf, known, random) for leaf in leaves]
        if any(value is None for value in values):
            continue
        text = " ".join(map(format_value, values))
        if text in told:
            continue
        told.add(text)
        said = " ".join(f"{name.base}={n}" for name, n in known.items())
        name = f"generated_data {said}".strip()
        case = RunCase(name, (), ValuesText(text), "auto", 1, True)
        yield DataSet(path, entry.name, name, case)


def _named(leaves: Sequence[Param], sizes: Sequence[int]) -> dict[Name, int]:
    """A number for each name that occurs in a size, in order."""
    found: dict[Name, int] = {}
    for leaf in leaves:
        for size in shape_of(leaf.type):
            for name in sorted(size.names() - found.keys(), key=str):
                found[name] = sizes[len(found) % len(sizes)]
    return found


def _value(leaf: Param, known: Mapping[Name, int], random: Any) -> Any:
    """A value for a parameter; None if it would be too large or of no size."""
    element = element_of(leaf.type).name
    dtype = DTYPES[element]
    if leaf.name in known:
        return dtype.type(known[leaf.name])
    shape = _shape(shape_of(leaf.type), known)
    if shape is None or np.prod(shape, dtype=object) > MOST_ELEMENTS:
        return None
    if element == "bool":
        drawn = random.integers(0, 2, shape)
    elif element[0] == "f":
        drawn = random.integers(4 * LEAST, 4 * GREATEST, shape) / 4
    else:
        low = 0 if element[0] == "u" or not shape else LEAST
        drawn = random.integers(low, GREATEST, shape)
    return np.asarray(drawn).astype(dtype)[()]


def _shape(shape: Sequence[Size], known: Mapping[Name, int]) -> tuple[int, ...] | None:
    found = tuple(size.evaluate(known) for size in shape)
    return found if all(0 <= n <= LARGEST_SIZE for n in found) else None
