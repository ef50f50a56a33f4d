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
from minifut.ir.core import DimSlice
from minifut.ir.node import value
from minifut.ir.sizes import ONE, ZERO, Extreme, Size, maximum, minimum
from minifut.ir.traverse import walk
from minifut.kernel_code.copy_regions import Part, Stretch
from minifut.kernel_code.cpu.tile_layouts import layout_of
from minifut.kernel_code.index_functions import Array
from minifut.kernel_passes.rule import LOCALITY, Remark, lowering_rule
from minifut.names import Name
from minifut.rewrite.rule import Declined

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


@lowering_rule(paper=LOCALITY, tell=lambda part, _: Remark((part.source_name,)))
def read_in_place(part: Part, k: WorkerBuilder) -> PartArray | Declined:
    """Let steps read the rows of the array itself in place of a copy.

    before:
        given (n: i64, m: i64, a: [n][m]f32)
        let c: [n][16]f32 = segmap group (g < ceil_div(n, 8), h < 1) -> (f32) {
          let row: i64 = size(g * 8)
          let as: [8][m]f32 = collective_copy a[row :+ 8 by 1i64, 0i64 :+ m by 1i64]
          let acc: [4][1][2][16]f32 = segmap thread (y < 4, x < 1) -> ([2][16]f32) {
            let zeros: [2][16]f32 = segmap register (i < 2, j < 16) -> (f32) {
              return returns 0f32
            }
            let sums: [2][16]f32 = loop (sums_1: [2][16]f32 = zeros) for k: i64 < m do {
              let sums_2: [2][16]f32 = segmap register (i_1 < 2, j_1 < 16) -> (f32) {
                let at: i64 = size(y * 2 + i_1)
                let u: f32 = as[at, k]
                let s: f32 = sums_1[i_1, j_1]
                let t: f32 = add_f32(s, u)
                return returns t
              }
              return sums_2
            }
            return returns sums
          }
          return regtile acc of (n by 4 by 2, 16 by 1 by 16)
        }
    after:
        float u = a[m * max((long)(0), (long)(min((long)(2 * i_2 + ${r_12} + row),
        (long)(n - 1)))) + k];
    before:
        given (m: i64, xs: [m]f32, p: i64)
        let c: [p]f32 = segmap group (g < ceil_div(p, 64)) -> (f32) {
          let own: [m]f32 = collective_copy xs[0i64 :+ m by 1i64]
          let acc: [4][16]f32 = segmap thread (x < 4) -> ([16]f32) {
            let zeros: [16]f32 = segmap register (j < 16) -> (f32) {
              return returns 0f32
            }
            let sums: [16]f32 = loop (sums_1: [16]f32 = zeros) for k: i64 < m do {
              let sums_2: [16]f32 = segmap register (j_1 < 16) -> (f32) {
                let v: f32 = own[k]
                let s: f32 = sums_1[j_1]
                let t: f32 = add_f32(s, v)
                return returns t
              }
              return sums_2
            }
            return returns sums
          }
          return regtile acc of (p by 4 by 16)
        }
    after:
        float v = xs[k];
    declines: register nests read the copy of b in vectors
        given (m: i64, p: i64, b: [m][p]f32)
        let c: [p]f32 = segmap group (g < ceil_div(p, 64)) -> (f32) {
          let column: i64 = size(g * 64)
          let bs: [m][64]f32 =
            collective_copy b[0i64 :+ m by 1i64, column :+ 64 by 1i64]
          let acc: [4][16]f32 = segmap thread (x < 4) -> ([16]f32) {
            let zeros: [16]f32 = segmap register (j < 16) -> (f32) {
              return returns 0f32
            }
            let sums: [16]f32 = loop (sums_1: [16]f32 = zeros) for k: i64 < m do {
              let sums_2: [16]f32 = segmap register (j_1 < 16) -> (f32) {
                let at: i64 = size(x * 16 + j_1)
                let v: f32 = bs[k, at]
                let s: f32 = sums_1[j_1]
                let t: f32 = add_f32(s, v)
                return returns t
              }
              return sums_2
            }
            return returns sums
          }
          return regtile acc of (p by 4 by 16)
        }
    """
    layout = layout_of(part, k.layouts)
    if layout.dimension is not None:
        return Declined(
            f"register nests read the copy of {part.source_name} in vectors"
        )
    assert k.known is not None
    totals = {k.resolve(total) for total in k.known.totals}
    limits = {at: k.full_size(limit) for at, limit in layout.bounds}
    places: list[tuple[Size, Size | None, Size | None]] = []
    source = part.source
    dense = False
    kept = 0
    for at, stretch in enumerate(part.stretches):
        last: Size | None = stretch.total - 1
        if kept in limits and stretch.length is not None:
            if not stays_inside(k, part.exp.slice[at], limits[kept], stretch):
                return Declined(f"steps may go beyond the end of {part.source_name}")
            last = None
            dense |= source.strides[at] == ONE
        elif stretch.total not in totals:
            return Declined(
                f"{part.source_name} may be empty where threads have elements"
            )
        if stretch.length is None:
            places.append((stretch.start, None, last))
            continue
        places.append((stretch.start, stretch.step, last))
        kept += 1
    if not dense:
        return Declined(
            f"what steps read of {part.source_name} does not lie side by side"
        )
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
