"""Copies between arrays that have unit stride in different dimensions.

    to[.., i, .., j] = from[.., i, .., j]      from has unit stride in i, to in j

Element by element, one side would touch a cache line for each element. So squares of
the plane (i, j) are transposed in fast memory: in registers on a CPU, in local memory
on a GPU; see the module of the schedule. Source: slides "Locality of reference",
transposition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, Size, ceil_div
from minifut.lowering.index_functions import Array

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder
    from minifut.lowering.threads.builder import KernelBuilder

SMALLEST_SIDE = 8
"""elements; planes with a side known to be shorter are copied by the element"""


@immutable
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

    def squares(self, side: Size) -> tuple[Size, ...]:
        """The number of squares of this side along each dimension."""
        return (*self.outer, *(ceil_div(whole, side) for whole in self.sides))


def as_parameters(k: KernelBuilder, plane: Plane) -> Plane:
    """The plane with sizes, strides and offsets as parameters of the kernel, so that a
    module has one kernel for all transpositions of a rank."""
    shape = tuple(k.given_size(size, "extent") for size in plane.source.shape)

    def parametrised(array: Array) -> Array:
        strides = tuple(k.given_size(stride, "step") for stride in array.strides)
        offset = k.given_size(array.offset, "offset")
        return Array(array.memory, shape, offset, strides)

    return Plane(parametrised(plane.target), parametrised(plane.source))


def plane_of(target: Array, source: Array) -> Plane | None:
    """The plane that a copy transposes; None if it is no transposition."""
    along = _unit_stride_dimension(source)
    across = _unit_stride_dimension(target)
    if along is None or across is None or along == across:
        return None
    for dimension in (along, across):
        known = source.shape[dimension].as_constant
        if known is not None and known < SMALLEST_SIDE:
            return None
    others = [d for d in range(source.rank) if d not in (along, across)]
    order = (*others, along, across)
    return Plane(
        target.with_shape(source.shape).rearrange(order), source.rearrange(order)
    )


def _unit_stride_dimension(array: Array) -> int | None:
    """The only dimension, not of size one, with unit stride."""
    found = [
        d
        for d, (size, stride) in enumerate(zip(array.shape, array.strides, strict=True))
        if stride == ONE and size != ONE
    ]
    return found[0] if len(found) == 1 else None


def copy_transposed(host: HostBuilder, plane: Plane) -> None:
    """Launch the kernel of the schedule."""
    from minifut.lowering.dispatch import COPY_TRANSPOSED

    COPY_TRANSPOSED[host.schedule](host, plane)
