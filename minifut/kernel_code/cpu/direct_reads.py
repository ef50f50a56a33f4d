"""Collective copies that are not made, under the CPU schedule: threads read the array.

    as = collective_copy(a[row :+ ty * ry, first :+ deep])      no code
    .. as[y * ry + i, k] ..               a[min(row + y * ry + i, n - 1), first + k]

A copy in rows brings nothing if the rows lie in the array just as well: one element
after the other in the order in which the steps of the reduction read them, each for a
whole register tile. It must be certain that these steps are inside of the array, so
that only the row has to be kept inside, once before the steps; and that the array has
elements wherever a thread reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minifut.ir import core, kernels
from minifut.ir.core import DimSlice, Param
from minifut.ir.kernels import CollectiveCopy
from minifut.ir.node import value
from minifut.ir.sizes import ONE, ZERO, Extreme, Size, maximum, minimum
from minifut.ir.traverse import walk
from minifut.kernel_code.collective_parts import Stretch
from minifut.kernel_code.index_functions import Array
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.kernel_code.cpu.group import WorkerBuilder


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a group: `counters`, its indices and those of its loops, are not
    negative; of dimensions as long as one of `totals` there are elements."""

    counters: frozenset[Name]
    totals: tuple[Size, ...]


def known_of(operation: kernels.SegMap) -> Known:
    """What is known of the groups of an operation with tiled results."""
    counters = set(operation.space.indices)
    for found in walk(operation.body):
        if isinstance(found, core.ForLoop):
            counters.add(found.index)
    totals = [
        total
        for result in operation.body.result
        if isinstance(result, kernels.RegTileReturns)
        for total, _, _ in result.dimensions
    ]
    return Known(frozenset(counters), tuple(totals))


@value
class PartArray(Array):
    """A part of an array in place of a copy of it. For each dimension of the array:
    where the part starts, its step, and the last position that there is where that may
    be exceeded; a step of None: only this position."""

    places: tuple[tuple[Size, Size | None, Size | None], ...]

    def position(self, indices: tuple[Size, ...]) -> Size:
        """The place of an element of the part."""
        own = iter(indices)
        found: list[Size] = []
        for start, step, last in self.places:
            at = start if step is None else start + next(own) * step
            found.append(at if last is None else maximum(ZERO, minimum(at, last)))
        position = self.offset
        for index, stride in zip(found, self.strides, strict=True):
            position = position + index * stride
        return position


def part_in_place(
    k: WorkerBuilder,
    bound: Param,
    exp: CollectiveCopy,
    source: Array,
    parts: list[Stretch],
) -> PartArray | None:
    """The part itself, if it can be read as it lies."""
    layout = k.layouts.get(bound.name)
    if layout is None or layout.dimension is not None or k.known is None:
        return None
    totals = {k.resolve(total) for total in k.known.totals}
    limits = {at: k.full_size(limit) for at, limit in layout.bounds}
    places: list[tuple[Size, Size | None, Size | None]] = []
    dense = False
    kept = 0
    for at, part in enumerate(parts):
        last: Size | None = part.total - 1
        if part.length is None:
            places.append((part.start, None, last))
            if part.total not in totals:
                return None
            continue
        if kept in limits:
            if not stays_inside(k, exp.slice[at], limits[kept], part):
                return None
            last = None
            dense |= source.strides[at] == ONE
        elif part.total not in totals:
            return None
        places.append((part.start, part.step, last))
        kept += 1
    if not dense:
        return None
    return PartArray(
        source.memory, source.shape, source.offset, source.strides, tuple(places)
    )


def stays_inside(
    k: WorkerBuilder, part: core.Atom | DimSlice, limit: Size, stretch: Stretch
) -> bool:
    """Whether the first `limit` positions of a part are inside of the dimension."""
    if not isinstance(part, DimSlice) or stretch.step != ONE:
        return False
    start = k.index(part.start)
    if isinstance(part.start, Name):
        start = k.full_size(Size.of(part.start))
    assert k.known is not None
    counters = {
        k.resolve(Size.of(name)).as_name
        for name in k.known.counters
        if name in k.values
    }
    for term, factor in start.terms:
        if factor < 0:
            return False
        if not all(a in counters or a in k.host.build_constants for a in term):
            return False
    return at_most(limit, stretch.total - start)


def at_most(size: Size, bound: Size) -> bool:
    """Whether a size is certainly no greater: it is the bound, or a minimum of which
    one part is."""
    if size == bound:
        return True
    for term, factor in size.terms:
        if factor == 1 and len(term) == 1 and isinstance(term[0], Extreme):
            least = term[0]
            if not least.greatest:
                rest = size - Size.of(least)
                return any(at_most(rest + part, bound) for part in least.operands)
    return False
