"""The region of an array that a `CollectiveCopy` copies, dimension by dimension."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minifut.ir.core import Atom, DimSlice, Param
from minifut.ir.kernels import CollectiveCopy
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array
from minifut.lowering.threads.builder import KernelBuilder


@dataclass(frozen=True, slots=True)
class DimRange:
    """`length` positions from `start`, `step` apart, of a dimension of `extent`
    elements; length None: a single index, which is no dimension of the copy."""

    start: Size
    length: Size | None
    step: Size
    extent: Size
    panel: Size | None = None
    """the width of the panels into which the dimension is packed"""


@dataclass(frozen=True, slots=True)
class CopyRegion:
    """The region of `source` that is copied to `bound`."""

    bound: Param
    exp: CollectiveCopy
    source: Array
    ranges: list[DimRange]

    @property
    def source_name(self) -> str:
        """The name of the source's memory in remarks."""
        return self.source.memory.name.base

    @property
    def kept(self) -> list[int]:
        """The dimensions of the source that are dimensions of the copy."""
        return [i for i, dim in enumerate(self.ranges) if dim.length is not None]

    @property
    def unit_stride_dimension(self) -> int | None:
        """The dimension of the copy with unit stride in the source."""
        steps = [self.ranges[i].step * self.source.strides[i] for i in self.kept]
        return steps.index(ONE) if ONE in steps else None

    @property
    def innermost(self) -> int:
        """The dimension of the copy that the innermost loop copies."""
        dimension = self.unit_stride_dimension
        return len(self.kept) - 1 if dimension is None else dimension


def copy_region(
    bound: Param,
    exp: CollectiveCopy,
    source: Array,
    index: Callable[[Atom], Size],
    resolve: Callable[[Size], Size],
) -> CopyRegion:
    """The region, with sizes as `index` and `resolve` express them."""
    ranges = []
    for dimension, extent in enumerate(source.shape):
        part = exp.slice[dimension] if dimension < len(exp.slice) else None
        if part is None:
            ranges.append(DimRange(ZERO, extent, ONE, extent))
        elif isinstance(part, DimSlice):
            start, step = index(part.start), index(part.stride)
            ranges.append(DimRange(start, resolve(part.length), step, extent))
        else:
            ranges.append(DimRange(index(part), None, ONE, extent))
    return CopyRegion(bound, exp, source, ranges)


def clamped(k: KernelBuilder, dim: DimRange, position: Size) -> Size:
    """A position of a dimension clamped to its extent."""
    if position == ZERO:
        return position
    last = k.size_value(dim.extent - 1)
    least = kc.Literal(0, kc.LONG)
    inside = kc.Call("clamp", (k.size_value(position), least, last), kc.LONG)
    return k.as_size(k.named(inside, "at"))
