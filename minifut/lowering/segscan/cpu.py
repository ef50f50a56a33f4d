"""Segmented scans under the CPU schedule.

    segscan grid (i < n, j < m) {add, 0f32} { return xs[i, j] }

Cheap bodies (scalar code without checks) are scanned in one pass over memory, with
vectors (`segscan.vector_scan`): where segments are short or many, each by one group;
else in chunks by all cores (`segscan.chained_scan`). Of these two kernels only the one
that runs is ever built.

Of expensive bodies (loops, checks, arrays) a map stores the operands first. Expensive
operators take three kernels:

    reduce    partial[unit] = sum of the chunk
    combine   partial[unit] = inclusive prefix of the chunk in its segment
    scan      acc = partial[unit - 1], or neutral;
              for j in chunk: acc = acc + xs[i, j]; result[i, j] = acc

Where neighbouring segments are contiguous in memory, lanes are segments
(`cpu.segment_blocks`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from minifut.analysis.cheap_elements import reads_loaded_places
from minifut.ir.core import Param, Stm
from minifut.ir.kernels import SegScan
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, Size, ceil_div, maximum, minimum, product
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.lowering.cpu import segment_blocks
from minifut.lowering.cpu.partition import (
    ALIGNMENT,
    GROUPS_PER_CORE,
    Partition,
    chunk_bounds,
    each_work_unit,
    partition,
)
from minifut.lowering.cpu.reduction import (
    EXPENSIVE,
    Reduction,
    combine_lane,
    mapped_array,
    store_neutral,
)
from minifut.lowering.cpu.vector_operators import scalar_places
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.host.on_host import only_reads, split_body
from minifut.lowering.host.slices import is_unused, scanned_array
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators
from minifut.lowering.segred.cpu import combine_chunks, per_chunk, reduce_units
from minifut.lowering.segscan.chained_scan import (
    ScanFirst,
    ScannedRange,
    ScanRange,
    chained_scan,
)
from minifut.lowering.segscan.vector_scan import stored, vector_scan
from minifut.lowering.threads.builder import KernelBuilder
from minifut.rewrite.rule import Declined, Remark, decision

IN_CACHE = 32768
"""elements of a chunk, which must fit the second-level cache"""
SEGMENTS_PER_CORE = 4
"""segments that balance the load of all cores without being split"""


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegScan) -> None:
    """Kernels and launches for a scan; binds its results."""
    reduction = Reduction.of(host, operation)
    count = len(reduction.types)
    sizes = host.sizes(operation.space.sizes)
    across = segment_blocks.vectorise_across_segments.fires(reduction, host)
    if not (across or reduction.is_cheap or only_reads(operation)):
        whole = Stm(pattern, operation, (), host.location)
        host.statements_of(split_body(host, whole, operation))
        return
    one_pass = not across and scan_in_one_pass.fires(reduction, host)
    before_carry = one_pass and scan_before_carry.fires(reduction, host)
    arrays = {
        p: mapped_array(host, sizes, t, p, transposed=across)
        for p, t in zip(pattern, operation.types, strict=True)
        if before_carry or not is_unused(host, p)
    }
    arrays |= {
        p: scanned_array(host, p, arrays[p]) for p in arrays.keys() & pattern[:count]
    }
    scanned = [arrays.get(p) for p in pattern[:count]]
    reduction.outs = [arrays[p] for p in pattern[count:]]
    rows = host.let_size(product(sizes[:-1]), "rows")
    if across:
        scan_across(host, reduction, scanned, sizes, rows)
    else:
        scan_along(host, reduction, scanned, sizes, rows, (one_pass, before_carry))
    host.bind_all(arrays.keys(), arrays.values())


@decision(
    paper="Single-pass parallel prefix scan with decoupled look-back",
    remark=lambda *_: Remark(("whole segments, or chunks of few segments",)),
)
def scan_in_one_pass(reduction: Reduction, host: HostBuilder) -> bool | Declined:
    """Scan in one pass over memory: each core scans whole segments, or fetches chunks
    that fit its cache.

    before:
        given (n: i64, xs: [n]i32)
        let s: [n]i32 = segscan grid (i < n) operator(add_i32, (0i32), []) -> (i32) {
          let x: i32 = xs[i]
          return returns x
        }
    after:
        old = atomic_add((volatile __global uint *)(known + 0L), 1u);
        long unit = ((long)old);
        again = unit < chunks;
        ..
        if ((seen & 1u) == 0u) {
        ..
        int value_1 = ((int)word_1);
        int c_2 = (int)((uint)acc + (uint)value_1);
        ..
        *(__global loose_int16 *)(s + at_4) = right_1;
    declines: has loops, checks or arrays
        like before, with
        add_i32 => \\(a: i32, b: i32) -> (i32) {
        => let c: i32 = loop (d: i32 = a) for j: i64 < 1i64 do {
        => let e: i32 = add_i32(d, b) return e } return c }
    """
    if not reduction.is_cheap:
        return Declined(f"{EXPENSIVE}, which must not run twice")
    return True


@decision(
    paper="Single-pass parallel prefix scan with decoupled look-back",
    remark=lambda *_: Remark(("the carry-in of a chunk is combined with its results",)),
)
def scan_before_carry(reduction: Reduction, host: HostBuilder) -> bool | Declined:
    """Scan a chunk before its carry-in is known, where elements are expensive.

    before:
        given (n: i64, ks: [n]i64, xs: [n]i32)
        let s: [n]i32 = segscan grid (i < n) operator(add_i32, (0i32), []) -> (i32) {
          let k: i64 = ks[i]
          let rest: i64 = and_i64(k, 0i64)
          return returns xs[rest]
        }
    after:
        PARALLEL
        for (long i_2 = first; i_2 < last; i_2++) {
    declines: elements are read in order
        like before, with
        xs[rest] => xs[i]
    """
    if reads_loaded_places(reduction.operation.body.statements):
        return True
    functions = calls_functions(reduction.operation.body)
    return functions or Declined("elements are read in order")


def scan_along(
    host: HostBuilder,
    reduction: Reduction,
    scanned: list[Array | None],
    sizes: tuple[Size, ...],
    rows: Size,
    decisions: tuple[bool, bool],
) -> None:
    """Each work unit is a chunk of one segment. Decisions: `scan_in_one_pass`,
    `scan_before_carry`."""
    without_maps = replace(reduction, outs=[])
    one_pass, before_carry = decisions
    total = None if before_carry else rows * sizes[-1]

    def scan_range(
        k: KernelBuilder, accumulators: Accumulators, place: ScannedRange, _: object
    ) -> None:
        use = stored(place[0], scanned)
        vector_scan(k, reduction, accumulators, place, use, total)

    if one_pass:
        split = partition_for_caches(host, sizes[:-1], sizes[-1], rows)
        scan_first = _BeforeCarry(reduction, scanned) if before_carry else None
        scan_in_chunks(host, without_maps, split, scan_range, scan_first)
        return
    per_core = reduction.groups_per_core
    split = partition(host, sizes[:-1], sizes[-1], ONE, per_core=per_core)
    scan_in_two_passes(host, without_maps, split, rows, scan_range, always=False)


@immutable
class _BeforeCarry:
    """A scan whose carry-in is combined with its results."""

    combines_first: ClassVar[bool] = False
    reduction: Reduction
    scanned: list[Array | None]

    def scan(self, k: KernelBuilder, own: Accumulators, place: ScannedRange) -> None:
        """Scan a range from neutral elements."""
        use = stored(place[0], self.scanned)
        vector_scan(k, self.reduction, own, place, use, None)

    def aggregate(
        self, k: KernelBuilder, own: Accumulators, place: ScannedRange
    ) -> None:
        """The same without results."""
        vector_scan(k, replace(self.reduction, outs=[]), own, place, None, None)

    def combine(
        self, k: KernelBuilder, before: Accumulators, place: ScannedRange
    ) -> None:
        """Combine the carry-in with the results of a range."""
        segment, first, last = place
        with k.loop("i", last, first, parallel=True) as index:
            at = (*segment, index)
            values = Accumulators(k, self.reduction.operators)
            k.assign_all(scalar_places(values), scalar_places(before))
            values.combine([k.read(array, at) for array in self.scanned if array])
            values.save(self.scanned, at)


def partition_for_caches(
    host: HostBuilder,
    segments: tuple[Size, ...],
    length: Size,
    rows: Size,
    in_cache: int = IN_CACHE,
) -> Partition:
    """Chunks of about so many elements, which fit the caches; whole segments if there
    are enough of them."""
    cores = host.cores()
    few = minimum(ONE, cores * SEGMENTS_PER_CORE // maximum(ONE, rows))
    chunks = host.let_size(maximum(ONE, length // in_cache * few), "chunks")
    chunk_size = ceil_div(ceil_div(length, chunks), ALIGNMENT) * ALIGNMENT
    chunk_size = host.let_size(chunk_size, "part")
    units = host.let_size(rows * chunks, "units")
    each = ceil_div(rows, cores * GROUPS_PER_CORE)
    each = host.let_size(maximum(ONE, each), "each")
    groups = host.let_size(ceil_div(rows, each), "groups")
    return Partition(segments, length, chunks, chunk_size, units, groups, each)


def scan_in_chunks(
    host: HostBuilder,
    reduction: Reduction,
    split: Partition,
    scan_range: ScanRange,
    scan_first: ScanFirst | None = None,
) -> None:
    """Scan whole segments, when each is a single chunk; else chunk by chunk."""
    k = host.kernel("scan_segments")
    length = k.size_value(split.length)
    with each_work_unit(k, split, split.segments) as (_, at, _):
        accumulators = Accumulators(k, reduction.operators)
        accumulators.reset()
        scan_range(k, accumulators, (at.indices, kc.Literal(0, kc.LONG), length), [])
    host.launch(k, split.groups * (ONE - split.is_split), 1, fresh=reduction.is_fresh)
    chained_scan(host, reduction, split, scan_range, scan_first)


def scan_in_two_passes(
    host: HostBuilder,
    reduction: Reduction,
    split: Partition,
    rows: Size,
    scan_range: ScanRange,
    always: bool = True,
) -> None:
    """Reduce each chunk (unless `always`, only where there are several), scan the
    partial results, then scan each chunk."""
    partials = reduce_units(host, reduction, split, always)
    chunked = [per_chunk(p, rows, split) for p in partials]
    combine_chunks(host, reduction, split, chunked, None, rows)
    k = host.kernel("scan")
    with each_work_unit(k, split, (*split.segments, split.chunks)) as (unit, at, _):
        *segment, chunk = at.indices
        accumulators = Accumulators(k, reduction.operators)
        accumulators.reset()
        with k.branch(chunk > 0):
            accumulators.load(partials, (k.named(unit - 1, "before"),))
        ends = chunk_bounds(k, split, chunk)
        scan_range(k, accumulators, (segment, *ends), partials)
    host.launch(k, split.groups, 1, fresh=reduction.is_fresh)


def scan_across(
    host: HostBuilder,
    reduction: Reduction,
    scanned: list[Array | None],
    sizes: tuple[Size, ...],
    rows: Size,
) -> None:
    """Each work unit is a chunk of a block of segments."""
    width = segment_blocks.block_width(reduction.types)
    split, space = segment_blocks.partition_blocks(host, reduction, sizes, width)
    first = replace(reduction, outs=[])
    partials = segment_blocks.reduce_across_segments(host, first, split, space, None)
    chunked = [p.rearrange((1, 0)) for p in partials]
    combine_chunks(host, reduction, split, chunked, None, rows)
    k = host.kernel("scan_columns")
    with each_work_unit(k, split, (*space[:-1], split.chunks, space[-1])) as (_, at, _):
        block = segment_blocks.SegmentBlock(k, reduction, split, at.indices)
        with k.branch(block.chunk > 0):
            before = k.named(block.chunk - 1, "before")
            block.load(partials, before)
        with k.otherwise(), k.loop("l", block.width) as lane:
            store_neutral(k, reduction.operators, block.accumulators, lane)
        with block.points() as (segment, index, lane):
            values = reduction.visit(k, segment, index)
            results = combine_lane(
                k, reduction.operators, block.accumulators, lane, values
            )
            for array, result in zip(scanned, results, strict=True):
                if array is not None:
                    k.write(array, (*segment, index), result)
    host.launch(k, split.groups, 1, fresh=reduction.is_fresh)
