"""The arguments of a distributed entry point: which are cut, and where.

Arrays that have the size may be anything with a shape and a type of elements that gives
its parts when it is sliced: NumPy's arrays, mapped files, arrays of zarr and HDF5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import Signature, signature
from math import prod
from typing import Any

import numpy as np

from minifut.distributed.plan import Plan
from minifut.errors import ArgumentError, UsageError
from minifut.program import EntryPoint
from minifut.values.foreign import NoView, astype_hint, numpy_view
from minifut.values.structured import close_value, grouped, leaf_types
from minifut.values.structured_arguments import Blank, open_value
from minifut.values.types import DTYPES, ValueType

CHUNK_BYTES = 1 << 26
"""bytes of a chunk of the largest argument, where nothing says how to cut"""


@dataclass(frozen=True, slots=True)
class Arguments:
    """`cut` have the size, `whole` have not; `sizes` are the numbers of all others, by
    the names of the plan. `length` is the size."""

    cut: Mapping[str, Any]
    whole: Mapping[str, tuple[Any, ValueType]]
    sizes: Mapping[str, np.int64]
    length: int

    def bounds(self, chunk_bytes: int) -> list[int]:
        """Where chunks begin that have at most so many bytes, and where they end."""
        if not isinstance(chunk_bytes, int) or chunk_bytes < 1:
            raise UsageError(f"chunk_bytes is a number of bytes, not {chunk_bytes!r}")
        sizes = (prod(v.shape) * v.dtype.itemsize for v in self.cut.values())
        count = max(1, min(self.length, -(-max(sizes) // chunk_bytes)))
        rows = -(-self.length // count) or 1
        return [*range(0, self.length, rows), self.length] if self.length else [0, 0]


def arguments_of(
    plan: Plan, entry: EntryPoint, given: tuple[Any, ...], named: Mapping[str, Any]
) -> Arguments:
    """The arguments of a call. Raises `ArgumentError`."""
    values, options = entry.bound(given, dict(named))
    if options:
        where = "arrays that have the size stay on the cluster"
        raise ArgumentError(f"{entry.name}: {', '.join(options)} is no option: {where}")
    cut: dict[str, Any] = {}
    whole: dict[str, tuple[Any, ValueType]] = {}
    places: dict[str, tuple[str, tuple[int, ...]]] = {}
    leaves = _leaves(entry, values)
    for name, (value, path, type_) in zip(plan.inputs, leaves, strict=True):
        places[name] = path, tuple(np.shape(value))
        if name in plan.axes:
            cut[name] = value
        else:
            whole[name] = value, type_
    if not cut:
        raise UsageError(f"{entry.name}: no argument has the size {plan.over}")
    sizes: dict[str, np.int64] = {}
    first: dict[str, str] = {}
    for size in plan.sizes:
        path, shape = places[size.input]
        length = sizes.setdefault(size.name, np.int64(shape[size.dimension]))
        origin = first.setdefault(size.name, path)
        if length != shape[size.dimension]:
            raise ArgumentError(
                f"{entry.name}: argument {path}: dimension {size.dimension} must be "
                f"{length} ({size.base}, from argument {origin}), got "
                f"{shape[size.dimension]}"
            )
    name, value = next(iter(cut.items()))
    return Arguments(cut, whole, sizes, int(value.shape[plan.axes[name]]))


def _leaves(
    entry: EntryPoint, given: Sequence[Any]
) -> Iterator[tuple[Any, str, ValueType]]:
    """The arrays and scalars that the arguments consist of, each with the place in its
    argument and its type."""
    for parameter, value in zip(entry.parameters, given, strict=True):
        opened = open_value(parameter.structure, value, parameter.name, lambda *_: [])
        types = leaf_types(parameter.structure)
        for (leaf, path), type_ in zip(opened, types, strict=True):
            if isinstance(leaf, Blank):
                leaf = np.zeros(leaf.shape([0] * type_.rank, lambda _: 0))
            if not hasattr(leaf, "dtype"):
                leaf = _converted(f"{entry.name}: argument {path}", leaf, type_)
            _check(f"{entry.name}: argument {path}", leaf, type_)
            yield leaf, path, type_


def _converted(where: str, value: Any, type_: ValueType) -> Any:
    try:
        return as_numpy(value, type_)
    except (NoView, ValueError, TypeError, OverflowError) as error:
        raise ArgumentError(f"{where}: expected {type_}: {error}") from None


def _check(where: str, value: Any, type_: ValueType) -> None:
    """A wrong type is an error here, and not of a task that names a chunk."""
    dtype, rank = DTYPES[type_.element], len(np.shape(value))
    if rank != type_.rank:
        came = f"an array of shape {tuple(np.shape(value))}"
        raise ArgumentError(f"{where}: expected {type_} ({type_.rank}-d), got {came}")
    if any(size != size for size in np.shape(value)):  # NaN
        advice = "call its .compute_chunk_sizes() first"
        raise ArgumentError(f"{where}: sizes of its chunks are not known; {advice}")
    if rank and value.dtype.newbyteorder("=") != dtype:
        hint = astype_hint(value.dtype, dtype)
        raise ArgumentError(
            f"{where}: expected {type_}, got an array of {value.dtype}{hint}"
        )


def as_numpy(value: Any, type_: ValueType) -> Any:
    """An argument that is not cut, as an array or scalar of NumPy."""
    if isinstance(value, bool | int | float | list | tuple | range):
        return np.asarray(value, DTYPES[type_.element])[()]
    return numpy_view(value)[()]


@dataclass(frozen=True, slots=True, repr=False)
class OverChunks:
    """An entry point over chunks of one of its sizes."""

    plan: Plan
    entry: EntryPoint
    chunk_bytes: int = CHUNK_BYTES

    @property
    def __signature__(self) -> Signature:
        return signature(self.entry)

    def __repr__(self) -> str:
        return f"<{self.entry.signature_text()} distributed over {self.plan.over}>"

    def closed(self, leaves: Sequence[Any]) -> Any:
        """The results of a call from what they consist of."""
        groups = grouped([result.structure for result in self.entry.results], leaves)
        made = tuple(close_value(type_, own, lambda *_: None) for type_, own in groups)
        return made[0] if len(made) == 1 else made
