"""The arguments of a distributed entry point: which are cut, and where.

Arrays that have the size may be anything with a shape and a type of elements that gives
its parts when it is sliced: NumPy's arrays, mapped files, arrays of zarr and HDF5.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from minifut.distributed.plan import Plan
from minifut.errors import ArgumentError, UsageError
from minifut.program import EntryPoint
from minifut.signature import Parameter
from minifut.values.foreign import numpy_view
from minifut.values.types import DTYPES

CHUNK_BYTES = 1 << 26
"""bytes of a chunk of the largest argument, where nothing says how to cut"""


@dataclass(frozen=True, slots=True)
class Arguments:
    """`cut` have the size, `whole` have not; `sizes` are the numbers of all others, by
    the names of the plan. `length` is the size."""

    cut: Mapping[str, Any]
    whole: Mapping[str, tuple[Any, Parameter]]
    sizes: Mapping[str, np.int64]
    length: int

    def bounds(self, chunk_bytes: int) -> list[int]:
        """Where chunks begin that have at most so many bytes, and where they end."""
        sizes = (prod(v.shape) * v.dtype.itemsize for v in self.cut.values())
        count = max(1, min(self.length, -(-max(sizes) // chunk_bytes)))
        rows = -(-self.length // count) or 1
        return [*range(0, self.length, rows), self.length] if self.length else [0, 0]


def arguments_of(
    plan: Plan, entry: EntryPoint, given: tuple[Any, ...], named: Mapping[str, Any]
) -> Arguments:
    """The arguments of a call. Raises `ArgumentError`."""
    try:
        bound = inspect.signature(entry).bind(*given, **named)
    except TypeError as error:
        raise ArgumentError(f"{entry.name}: {error}") from None
    cut: dict[str, Any] = {}
    whole: dict[str, tuple[Any, Parameter]] = {}
    sizes: dict[str, np.int64] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, value, parameter in zip(
        plan.inputs, bound.args, entry.parameters, strict=True
    ):
        shapes[name] = tuple(np.shape(value))
        if name in plan.axes:
            cut[name] = value if hasattr(value, "dtype") else np.asarray(value)
        else:
            whole[name] = value, parameter
    for size, name, dimension in plan.sizes:
        if dimension >= len(shapes[name]):
            raise ArgumentError(f"{entry.name}: {name} has too few dimensions")
        sizes[size] = np.int64(shapes[name][dimension])
    lengths = {
        name: shapes[name][plan.axes[name]]
        for name in cut
        if plan.axes[name] < len(shapes[name])
    }
    if not lengths:
        raise UsageError(f"{entry.name}: no argument has the size {plan.over}")
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ArgumentError(f"{entry.name}: the size {plan.over}: {found}")
    return Arguments(cut, whole, sizes, next(iter(lengths.values())))


def as_numpy(value: Any, parameter: Parameter) -> Any:
    """An argument that is not cut, as an array or scalar of NumPy."""
    if isinstance(value, bool | int | float | list | tuple | range):
        type_ = parameter.value_type
        assert type_ is not None
        return np.asarray(value, DTYPES[type_.element])[()]
    return numpy_view(value)[()]
