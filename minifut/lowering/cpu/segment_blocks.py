"""Vectorisation across segments: lanes are neighbouring segments, as in column sums.

    segred grid (j < m, i < n) {add, 0f32} { return xs[i, j] }

    for i in chunk of rows:  for l < width:  acc[l] = acc[l] + xs[i, column + l]

Each lane has its own accumulator, so the order of elements is kept and any operator
will do; the accumulators of a block of segments fit the first-level cache.

Of short rows of segments a block has several, where they are one after the other in
memory, so that it is read as it lies:

    segred grid (k < p, j < m, i < n) {add, 0f32} { return xs[i, k, j] }

    for i in chunk of rows:  for k < several:  for l < m:
        acc[k * m + l] = acc[k * m + l] + xs[i, k, l]
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minifut.ir.core import Index, Stm
from minifut.ir.kernels import SegRed, SegScan
from minifut.ir.sizes import ONE, Size, ceil_div, maximum, minimum, product
from minifut.ir.traverse import free_names, walk
from minifut.ir.types import Type, element_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import LOCALITY
from minifut.kernel_passes.split_block import emit_split
from minifut.lowering.cpu.partition import (
    Partition,
    chunk_bounds,
    each_work_unit,
    partition,
    smaller,
)
from minifut.lowering.cpu.reduction import (
    EXPENSIVE,
    ReducedPoint,
    Reduction,
    combine_lane,
    contiguous_reads,
    lane_accumulators,
    store_neutral,
)
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.threads.builder import KernelBuilder
from minifut.rewrite.rule import Declined, Remark, decision

FEWEST_SEGMENTS = 8
"""neighbouring segments; fewer are reduced one by one, with strided loads"""
FEWEST_WINDOWS = 64
"""neighbouring segments whose elements are contiguous, too"""
NARROWEST_BLOCK = 64
"""segments of a block, whatever their types"""
ACCUMULATOR_BYTES = 16384
"""the accumulators of a block, which must fit the first-level cache; short rows of it
keep the prefetchers from running ahead"""


def _remark(reduction: Reduction, host: HostBuilder) -> Remark:
    remark = f"{block_width(reduction.types)} neighbouring segments at once"
    if isinstance(reduction.operation, SegRed):
        fewest = fewest_segments(host, reduction)
        remark += f", if there are {fewest} or more"
    return Remark((remark,))


@decision(paper=LOCALITY, remark=_remark)
def vectorise_across_segments(
    reduction: Reduction, host: HostBuilder
) -> bool | Declined:
    """Let lanes be neighbouring segments, whose elements are contiguous in memory.

    before:
        given (n: i64, m: i64, xs: [n][m]i32)
        let s: [m]i32 = segred grid (j < m, i < n)
            operator(add_i32, (0i32), []) -> (i32) {
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
    declines: elements of a segment are contiguous
        like before, with
        [m]i32 = segred grid (j < m, i < n) => [n]i32 = segred grid (i < n, j < m)
    declines: there is one segment
        like before, with
        m: i64, xs: [n][m]i32 => xs: [n]i32
        s: [m]i32 = segred grid (j < m, i => (s: i32) = segred grid (i
        xs[i, j] => xs[i]
    """
    if len(reduction.operation.space.indices) < 2:
        return Declined("there is one segment")
    if not reduction.is_cheap:
        return Declined(EXPENSIVE)
    if reduction.checks is not None and isinstance(reduction.operation, SegScan):
        return Declined("its checks are tested before each range of a segment")
    reads = contiguous_reads(host, reduction.operation)
    windows = reads.both if isinstance(reduction.operation, SegRed) else 0
    if reads.across + windows > reads.along:
        return True
    if reads.along:
        return Declined("elements of a segment are contiguous in memory")
    return Declined("elements of neighbouring segments are not contiguous in memory")


def fewest_segments(host: HostBuilder, reduction: Reduction) -> int:
    """The number of neighbouring segments from which on lanes are segments."""
    windows = contiguous_reads(host, reduction.operation).both > 0
    return FEWEST_WINDOWS if windows else FEWEST_SEGMENTS


def block_width(types: list[Type]) -> int:
    """The segments of a block."""
    nbytes = sum(element_of(t).bytes for t in types)
    width = NARROWEST_BLOCK
    while width * 2 * nbytes <= ACCUMULATOR_BYTES:
        width *= 2
    return width


def partition_blocks(
    host: HostBuilder,
    reduction: Reduction,
    sizes: tuple[Size, ...],
    width: int,
    several: Size = ONE,
) -> tuple[Partition, tuple[Size, ...]]:
    """A partition of blocks of (several rows of) segments, and the space of blocks."""
    segments = sizes[-2]
    blocks = host.let_size(ceil_div(segments, width), "blocks")
    outer = sizes[:-2]
    if several != ONE:
        outer = (*outer[:-1], host.let_size(ceil_div(outer[-1], several), "rows"))
    # With few segments in a block, a chunk needs more elements of each.
    narrow = minimum(segments, Size.constant(width)) * several
    smallest = host.let_size(ceil_div(reduction.smallest, narrow + 1), "smallest")
    space = (*outer, blocks)
    return partition(host, space, sizes[-1], smallest), space


def rows_of_block(
    host: HostBuilder, reduction: Reduction, sizes: tuple[Size, ...], width: int
) -> Size:
    """How many rows of segments a block has: those that fit."""
    if not block_rows_of_segments.fires(reduction, host):
        return ONE
    several = minimum(Size.constant(width) // sizes[-2], sizes[-3])
    return host.let_size(maximum(ONE, several), "several")


@decision(paper=LOCALITY)
def block_rows_of_segments(reduction: Reduction, host: HostBuilder) -> bool | Declined:
    """Let a block have several rows of segments that are one after the other in memory.

    before:
        given (n: i64, p: i64, m: i64, xs: [n][p][m]i32)
        let s: [p][m]i32 = segred grid (k < p, j < m, i < n)
            operator(add_i32, (0i32), []) -> (i32) {
          let x: i32 = xs[i, k, j]
          return returns x
        }
    after:
        for (long i = first; i < last; i++) {
            for (long row = top; row < bottom; row++) {
                long before = (row - top) * m;
                for (long l_1 = 0L; l_1 < wide; l_1++) {
                    long own = column + l_1;
                    int x = xs[i * m * p + m * row + own];
                    int left = lane[before + l_1];
                    int c = (int)((uint)left + (uint)x);
                    lane[before + l_1] = c;
                }
            }
        }
    declines: rows of segments are not one after the other in memory
        like before, with
        xs: [n][p][m]i32 => xs: [p][n][m]i32
        xs[i, k, j] => xs[k, i, j]
    declines: there is one row of segments
        like before of vectorise_across_segments
    """
    operation = reduction.operation
    if len(operation.space.indices) < 3:
        return Declined("there is one row of segments")
    row, column, inner = operation.space.indices[-3:]
    height, width, _ = host.sizes(operation.space.sizes[-3:])
    wanted = {column: ONE, row: width, inner: height * width}
    found = []
    for statement in walk(operation.body):
        if not isinstance(statement, Stm) or not isinstance(statement.exp, Index):
            continue
        array, at = host.values.get(statement.exp.array), statement.exp.slice
        if isinstance(array, Array) and column in at:
            strides = dict(zip(at, array.strides, strict=False))
            found.append({name: strides.get(name) for name in wanted} == wanted)
    if not found or not all(found):
        return Declined("rows of segments are not one after the other in memory")
    return True


def reduce_across_segments(
    host: HostBuilder,
    reduction: Reduction,
    split: Partition,
    space: tuple[Size, ...],
    results: list[Array] | None,
    several: Size = ONE,
) -> list[Array]:
    """Reduce each work unit of a space of (outer segments and) blocks of segments, of
    several rows each.

    Partial results are arrays over chunks and segments. The results of single chunks
    are stored to `results`; if that is None, single chunks are skipped.
    """
    sizes = host.sizes(reduction.operation.space.sizes)
    rows = product(sizes[:-1])
    partials = [
        host.allocate(element_of(t), (split.chunks * split.is_split, rows), "partial")
        for t in reduction.types
    ]
    k = host.kernel("reduce_columns")
    units = (*space[:-1], split.chunks, space[-1])
    with each_work_unit(k, split, units) as (_, at, _):
        block = SegmentBlock(k, reduction, split, at.indices, several)
        with k.loop("l", block.count) as lane:
            store_neutral(k, reduction.operators, block.accumulators, lane)
        reduction.in_phases(k, block.tested(), block.reduce, block.reduce)
        if results is None:
            block.save(partials, block.chunk)
        else:
            with k.branch(k.size_value(split.chunks).equals(1)):
                block.save(results)
            with k.otherwise():
                block.save(partials, block.chunk)
    grid = split.groups if results is not None else split.groups * split.is_split
    host.launch(k, grid, 1)
    return partials


class SegmentBlock:
    """A chunk of a block of (several rows of) segments, with an accumulator per
    segment."""

    def __init__(
        self,
        k: KernelBuilder,
        reduction: Reduction,
        split: Partition,
        indices: list[kc.Variable],
        several: Size = ONE,
    ) -> None:
        self.k = k
        self.reduction = reduction
        sizes = [k.resolve(s) for s in reduction.operation.space.sizes]
        widest = block_width(reduction.types)
        self.outer, self.chunk = list(indices[:-2]), indices[-2]
        self.accumulators = lane_accumulators(k, reduction.types, widest)
        self.first, self.last = chunk_bounds(k, split, self.chunk)
        self.segments = k.size_value(sizes[-2])
        self.start = k.named(indices[-1] * widest, "column")
        full = kc.Literal(widest, kc.LONG)
        self.width = k.named(smaller(full, self.segments - self.start), "wide")
        self.count: kc.Expression = self.width
        self.rows: tuple[kc.Expression, kc.Expression] | None = None
        if several != ONE:
            each = k.size_value(several)
            begin = k.named(self.outer.pop() * each, "top")
            stop = smaller(begin + each, k.size_value(sizes[-3]))
            end = k.named(stop, "bottom")
            self.rows = begin, end
            before = (end - begin - 1) * self.segments
            self.count = k.named(before + self.width, "count")
        row: kc.Expression = kc.Literal(0, kc.LONG)
        at = self.outer if self.rows is None else [*self.outer, self.rows[0]]
        for size, index in zip(sizes[:-2], at, strict=True):
            row = row * k.size_value(size) + index
        self.base = k.named(row * self.segments + self.start, "base")

    @contextmanager
    def points(
        self,
    ) -> Iterator[tuple[list[kc.Expression], kc.Expression, kc.Expression]]:
        """All points, row by row: indices of the segment, index along it, lane."""
        k = self.k
        with k.loop("i", self.last, self.first) as index:
            if self.rows is None:
                with k.loop("l", self.width) as lane:
                    segment = k.named(self.start + lane, "own")
                    yield [*self.outer, segment], index, lane
                return
            begin, end = self.rows
            with k.loop("row", end, begin) as row:
                before = k.named((row - begin) * self.segments, "before")
                with k.loop("l", self.width) as lane:
                    segment = k.named(self.start + lane, "own")
                    yield [*self.outer, row, segment], index, before + lane

    @contextmanager
    def tested(self) -> Iterator[ReducedPoint]:
        """The points at which checks are tested: of one lane, if that is enough."""
        checks, k = self.reduction.checks, self.k
        tests = () if checks is None else checks.statements
        rows = 2 if self.rows is None else 3
        across = set(self.reduction.operation.space.indices[-rows:-1])
        if any(across & free_names(statement.exp) for statement in tests):
            with self.points() as (segment, index, _):
                yield segment, index
            return
        at = self.outer if self.rows is None else [*self.outer, self.rows[0]]
        with k.loop("i", self.last, self.first, parallel=True) as index:
            yield [*at, self.start], index

    def reduce(self, reduction: Reduction) -> None:
        """Reduce all points, by this form of the reduction."""
        k = self.k
        with k.nested() as points, self.points() as (segment, index, lane):
            values = reduction.visit(k, segment, index)
            combine_lane(k, reduction.operators, self.accumulators, lane, values)
        emit_split(k, points)

    def save(self, targets: list[Array], *outer: kc.Expression) -> None:
        """Store the accumulators to `targets[outer][segment]`."""
        k = self.k
        with k.loop("l", self.count) as lane:
            at = k.named(self.base + lane, "at")
            for target, memory in zip(targets, self.accumulators, strict=True):
                k.write(target, (*outer, at), k.load(memory, lane))

    def load(self, sources: list[Array], *outer: kc.Expression) -> None:
        """Load the accumulators from `sources[outer][segment]`."""
        k = self.k
        with k.loop("l", self.count) as lane:
            at = k.named(self.base + lane, "at")
            for source, memory in zip(sources, self.accumulators, strict=True):
                k.store(memory, lane, k.read(source, (*outer, at)))
