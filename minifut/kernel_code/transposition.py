"""Copies between arrays that lie in memory in different directions.

    to[.., i, .., j] = from[.., i, .., j]      from dense along i, to dense along j

Done element by element, one side would touch a line of the cache for each element. So
squares of the plane (i, j) are turned in fast memory: in registers on a CPU, in local
memory on a GPU; see the module of the schedule. Source: slides "Locality of reference",
transposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from minifut.ir.sizes import ONE, Size, ceil_div
from minifut.kernel_code.index_functions import Array

if TYPE_CHECKING:
    from minifut.kernel_code.host.builder import HostBuilder
    from minifut.kernel_code.threads.builder import KernelBuilder

SMALLEST = 8
"""sides known to be shorter are not worth a square"""


@dataclass(frozen=True, slots=True)
class Plane:
    """Both arrays with the outer dimensions first, then `i`, then `j`."""

    target: Array
    source: Array

    @property
    def outer(self) -> tuple[Size, ...]:
        return self.source.shape[:-2]

    @property
    def sides(self) -> tuple[Size, Size]:
        return self.source.shape[-2], self.source.shape[-1]

    def cut(self, side: Size) -> tuple[Size, ...]:
        """How many squares of this side there are along each dimension."""
        return (*self.outer, *(ceil_div(whole, side) for whole in self.sides))


def given(k: KernelBuilder, plane: Plane) -> Plane:
    """The plane in parameters of its own, so that a module holds one kernel for all
    transpositions of a rank."""
    shape = tuple(k.given_size(size, "extent") for size in plane.source.shape)

    def told(array: Array) -> Array:
        strides = tuple(k.given_size(stride, "step") for stride in array.strides)
        offset = k.given_size(array.offset, "offset")
        return Array(array.memory, shape, offset, strides)

    return Plane(told(plane.target), told(plane.source))


def plane_of(target: Array, source: Array) -> Plane | None:
    """The plane in which a copy turns; None if it does not."""
    along = _dense_dimension(source)
    across = _dense_dimension(target)
    if along is None or across is None or along == across:
        return None
    for dimension in (along, across):
        known = source.shape[dimension].as_constant
        if known is not None and known < SMALLEST:
            return None
    others = [d for d in range(source.rank) if d not in (along, across)]
    order = (*others, along, across)
    return Plane(
        target.with_shape(source.shape).rearrange(order), source.rearrange(order)
    )


def _dense_dimension(array: Array) -> int | None:
    """The dimension, not of size one, whose neighbours lie side by side."""
    found = [
        d
        for d, (size, stride) in enumerate(zip(array.shape, array.strides, strict=True))
        if stride == ONE and size != ONE
    ]
    return found[0] if len(found) == 1 else None


def copy_turned(host: HostBuilder, plane: Plane) -> None:
    """Launch the kernel of the schedule."""
    module = import_module(f"minifut.kernel_code.{host.schedule}.transposition")
    module.copy_turned(host, plane)
