"""Reductions over columns: lanes are neighbouring segments.

    segred grid (j < m, i < n) {add, 0f32} { return xs[i, j] }

    for i in chunk of rows:  for l < width:  acc[l] = acc[l] + xs[i, column + l]

Each lane has its own running value, so the order is kept and any operator will do; the
running values of a block stay in the first-level cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minifut.ir.kernels import SegRed
from minifut.ir.sizes import Size, ceil_div, minimum, product
from minifut.ir.types import Type, element_of
from minifut.kernel_code.cpu.reduction import (
    HEAVY,
    Reduction,
    combine_lane,
    lane_memories,
    neighbours_in_memory,
    store_neutral,
)
from minifut.kernel_code.cpu.units import Units, bounds, cut, each_unit, smaller
from minifut.kernel_code.host.builder import HostBuilder
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.rule import LOCALITY, HasDerivation, Told, lowering_rule
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_ir import nodes as kc
from minifut.rewrite.rule import Declined

FEW_COLUMNS = 8
"""that lie side by side: then each is reduced on its own, stride or not"""
FEWEST = 64
"""columns that are taken at once, of whatever types"""
COLUMN_BYTES = 16384
"""of running values of a block of columns, which must stay in the first-level cache"""


def _told(reduction: Reduction, site: HasDerivation) -> Told:
    told = f"{block_width(reduction.types)} neighbouring segments at once"
    if isinstance(reduction.operation, SegRed):
        told += f", if there are {FEW_COLUMNS} or more"
    return Told((told,))


@lowering_rule(paper=LOCALITY, tell=_told)
def run_over_columns(reduction: Reduction, host: HostBuilder) -> bool | Declined:
    """Let lanes be neighbouring segments, whose elements lie side by side in memory.

    before:
        given (n: i64, m: i64, xs: [n][m]i32)
        let s: [m]i32 = segred grid (j < m, i < n)
            operator(\\(a: i32, b: i32) -> (i32) {
              let c: i32 = add_i32(a, b)
              return c
            }, (0i32), []) -> (i32) {
          let x: i32 = xs[i, j]
          return returns x
        }
    after:
        for (long i = first; i < last; i++) {
            for (long l_1 = 0L; l_1 < wide; l_1++) {
                long own = column + l_1;
                int x = xs[i * m + own];
                int left = lane[l_1];
                int c = (int)((uint)left + (uint)x);
                lane[l_1] = c;
            }
        }
    declines: elements of a segment lie side by side
        given (n: i64, m: i64, xs: [n][m]i32)
        let s: [n]i32 = segred grid (i < n, j < m)
            operator(\\(a: i32, b: i32) -> (i32) {
              let c: i32 = add_i32(a, b)
              return c
            }, (0i32), []) -> (i32) {
          let x: i32 = xs[i, j]
          return returns x
        }
    declines: there is one segment
        given (n: i64, xs: [n]i32)
        let (s: i32) = segred grid (i < n)
            operator(\\(a: i32, b: i32) -> (i32) {
              let c: i32 = add_i32(a, b)
              return c
            }, (0i32), []) -> (i32) {
          let x: i32 = xs[i]
          return returns x
        }
    """
    if len(reduction.operation.space.indices) < 2:
        return Declined("there is one segment")
    if not reduction.light:
        return Declined(HEAVY)
    along, across = neighbours_in_memory(host, reduction.operation)
    if across > along:
        return True
    if along:
        return Declined("elements of a segment lie side by side in memory")
    return Declined("elements of neighbouring segments are not neighbours in memory")


def block_width(types: list[Type]) -> int:
    """How many columns are taken at once."""
    nbytes = sum(element_of(t).bytes for t in types)
    width = FEWEST
    while width * 2 * nbytes <= COLUMN_BYTES and width < 1024:
        width *= 2
    return width


def cut_columns(
    host: HostBuilder, reduction: Reduction, sizes: tuple[Size, ...], width: int
) -> tuple[Units, Size]:
    """Units of blocks of columns, and the number of blocks."""
    columns = sizes[-2]
    blocks = host.let_size(ceil_div(columns, width), "blocks")
    # A row of the block may be narrow, so that a chunk must have more of them.
    narrow = minimum(columns, Size.constant(width))
    smallest = host.let_size(ceil_div(reduction.smallest, narrow + 1), "smallest")
    return cut(host, (*sizes[:-2], blocks), sizes[-1], smallest), blocks


def reduce_columns(
    host: HostBuilder,
    reduction: Reduction,
    units: Units,
    space: tuple[Size, ...],
    results: list[Array] | None,
) -> list[Array]:
    """Reduce each unit of a space of (outer segments and) blocks of columns.

    Partial results are arrays over chunks and segments. Where there is one chunk, its
    go to `results`; nothing is done then if that is None.
    """
    sizes = host.sizes(reduction.operation.space.sizes)
    rows = product(sizes[:-1])
    partials = [
        host.allocate(element_of(t), (units.chunks * units.several, rows), "partial")
        for t in reduction.types
    ]
    k = host.kernel("reduce_columns")
    with each_unit(k, units, (*space[:-1], units.chunks, space[-1])) as (_, at, _):
        columns = Columns(k, reduction, units, at.indices)
        with k.loop("l", columns.wide) as lane:
            store_neutral(k, reduction.operators, columns.memories, lane)
        with columns.points() as (segment, index, lane):
            values = reduction.visit(k, segment, index)
            combine_lane(k, reduction.operators, columns.memories, lane, values)
        if results is None:
            columns.save(partials, columns.chunk)
        else:
            with k.branch(k.size_value(units.chunks).equals(1)):
                columns.save(results)
            with k.otherwise():
                columns.save(partials, columns.chunk)
    grid = units.groups if results is not None else units.groups * units.several
    host.launch(k, grid, 1)
    return partials


class Columns:
    """A chunk of a block of columns, with a running value per column."""

    def __init__(
        self,
        k: KernelBuilder,
        reduction: Reduction,
        units: Units,
        indices: list[kc.Variable],
    ) -> None:
        self.k = k
        sizes = [k.resolve(s) for s in reduction.operation.space.sizes]
        width = block_width(reduction.types)
        self.outer, self.chunk = indices[:-2], indices[-2]
        self.memories = lane_memories(k, reduction.types, width)
        self.first, self.last = bounds(k, units, self.chunk)
        columns = k.size_value(sizes[-2])
        self.column = k.named(indices[-1] * width, "column")
        full = kc.Literal(width, kc.LONG)
        self.wide = k.named(smaller(full, columns - self.column), "wide")
        row: kc.Expression = kc.Literal(0, kc.LONG)
        for size, index in zip(sizes[:-2], self.outer, strict=True):
            row = row * k.size_value(size) + index
        self.base = k.named(row * columns + self.column, "base")

    @contextmanager
    def points(
        self,
    ) -> Iterator[tuple[list[kc.Expression], kc.Expression, kc.Expression]]:
        """All points, row by row: indices of the segment, index along it, lane."""
        k = self.k
        rows, lanes = k.loop("i", self.last, self.first), k.loop("l", self.wide)
        with rows as index, lanes as lane:
            own = k.named(self.column + lane, "own")
            yield [*self.outer, own], index, lane

    def save(self, targets: list[Array], *outer: kc.Expression) -> None:
        """Running values go to `targets[outer][segment]`."""
        k = self.k
        with k.loop("l", self.wide) as lane:
            at = k.named(self.base + lane, "at")
            for target, memory in zip(targets, self.memories, strict=True):
                k.write(target, (*outer, at), k.load(memory, lane))

    def load(self, sources: list[Array], *outer: kc.Expression) -> None:
        """Running values come from `sources[outer][segment]`."""
        k = self.k
        with k.loop("l", self.wide) as lane:
            at = k.named(self.base + lane, "at")
            for source, memory in zip(sources, self.memories, strict=True):
                k.store(memory, lane, k.read(source, (*outer, at)))
