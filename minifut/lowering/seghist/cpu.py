"""Histograms under the CPU schedule: work-groups of one work-item, no atomics.

    few bins, many elements    each chunk of a segment has private copies of the bins,
                               which are combined afterwards
    else                       one work-item for each segment updates the results

The host decides by the sizes when it runs (`privatise_bins`). Where the bins are so few
that neighbouring elements often hit the same one, the copies of a chunk are replicated
(`replicate_subhistograms`): else each update would wait for the store before.

Bins that do not fit the caches may be updated in several passes over the elements, each
for a range of bins that fits (`partition_bins_into_passes`); how many is a parameter.

Source: slides "Locality of reference", histograms; Henriksen et al., "Compiling
generalized histograms for GPU" (SC 2020).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import reduce

from minifut.ir.core import Param
from minifut.ir.kernels import Parameter, SegBinOp, SegHist
from minifut.ir.sizes import ONE, ZERO, Size, ceil_div, maximum, minimum, product
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import LOCALITY
from minifut.lowering.cpu.partition import MultiIndex, smaller
from minifut.lowering.cpu.reduction import element_or_row
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array, row_major_strides
from minifut.lowering.operators import AccumulatorPlace, combine_into, fill_with
from minifut.lowering.seghist.histograms import (
    Binning,
    BinRange,
    Bins,
    all_bins,
    bind_all,
    if_updated,
)
from minifut.lowering.seghist.subhistograms import (
    SUBHISTOGRAMS,
    HistogramChunk,
    replicate_subhistograms,
    subhistogram_at,
    update_chunk,
)
from minifut.lowering.threads.builder import KernelBuilder
from minifut.rewrite.rule import Declined, Remark, decision

CHUNKS_PER_CORE = 4
SMALLEST_CHUNK = 4096
"""elements that amortise a work-item"""
ELEMENTS_PER_CELL = 4
"""elements for each cell of a private copy that amortise it"""
FIRST_LEVEL_CACHE = 32768
"""bytes"""
GROUPS_PER_CORE = 16
APART = 128
"""bytes between the copies of a few bins: two cores that write to the same cache line,
or to two that are fetched together, wait for each other at each update"""
PASSES = Parameter(
    "histogram_passes",
    "num_passes",
    (("cpu", 1), ("gpu", 1)),
    (1, 1024),
    "the passes of a histogram over its elements, each for a range of bins",
)


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegHist) -> None:
    """Update the destinations (or copies of them); bind the results."""
    bins = all_bins(host, pattern, operation)
    sizes = host.sizes(operation.space.sizes)
    outer, length = sizes[:-1], host.let_size(sizes[-1], "length")
    segments = host.let_size(product(outer), "segments")
    cells = host.let_size(sum_of(each.cells for each in bins), "cells")
    histogram = Binning(operation, bins, segments, length, cells)
    if not privatise_bins.fires(histogram, host):
        _update_results(host, histogram, ONE)
    bind_all(host, pattern, bins)


@decision(
    paper=LOCALITY,
    remark=lambda *_: Remark(
        (
            f"copies for chunks of {SMALLEST_CHUNK} elements or more, "
            f"{ELEMENTS_PER_CELL} for each cell or more",
        )
    ),
)
def privatise_bins(histogram: Binning, host: HostBuilder) -> bool | Declined:
    """Give each chunk of a segment private copies of the bins, which are combined
    afterwards, where the host finds elements enough.

    before:
        like before of replicate_subhistograms
    after:
        for (long i = 0L; i < 5L; i++) {
            to[37 * copy_1 + i] = 0;
        }
        ..
        if (((ulong)bin_8) < ((ulong)5L)) {
            int old_7 = to_4[bin_8];
            int c_7 = (int)((uint)old_7 + (uint)1);
            int new_8 = c_7;
            to_4[bin_8] = new_8;
        }
        ..
        __kernel void main_hist_combine(
    declines: 100 elements do not amortise private copies
        given (to: [5]i32, is: [100]i64)
        let h: [5]i32 = seghist grid (i < 100)
            bins([5], (to), (0i32), add_i32, []) -> (i64, i32) {
          let at: i64 = is[i]
          return returns at, returns 1i32
        }
    """
    operation, bins, segments = histogram.operation, histogram.bins, histogram.segments
    length, cells = histogram.length, histogram.cells
    known = length.as_constant
    if known is not None and known < 2 * SMALLEST_CHUNK:
        return Declined(f"{known} elements do not amortise private copies")
    share = ceil_div(host.cores() * CHUNKS_PER_CORE, maximum(ONE, segments))
    smallest = maximum(Size.constant(SMALLEST_CHUNK), cells * ELEMENTS_PER_CELL)
    chunks = host.let_size(maximum(ONE, minimum(share, length // smallest)), "chunks")
    is_split = host.let_size(minimum(ONE, chunks - 1), "is_split")
    _update_results(host, histogram, ONE - is_split)
    replicas = replicate_subhistograms(histogram, host)
    replicas = replicas if isinstance(replicas, Size) else ONE
    copies = [
        private_copies(
            host, each, host.let_size(is_split * chunks * replicas, "copies")
        )
        for each in bins
    ]
    sizes = (segments * is_split, length, chunks, replicas)
    _update_copies(host, operation, copies, sizes)
    for each, copied in zip(bins, copies, strict=True):
        combine_copies(host, each, copied, is_split)
    return True


@decision(paper=LOCALITY, remark=lambda *_: Remark((), (PASSES,)))
def partition_bins_into_passes(
    bins: list[Bins], k: KernelBuilder
) -> kc.Expression | Declined:
    """Make several passes over the elements of a chunk, each for a range of bins that
    fits the caches.

    before:
        like before of privatise_in_local_memory
    after:
        for (long pass = 0L; pass < num_passes; pass++) {
            long width = (k + (num_passes - 1L)) / num_passes;
            long low = ((pass * width) < k) ? (pass * width) : k;
            long high = ((low + width) < k) ? (low + width) : k;
        ..
        if (((ulong)(bin_8 - low)) < ((ulong)(high - low))) {
    declines: all of the 20 bytes of bins fit the first-level cache
        like before of replicate_subhistograms
    """
    needed = sum_of(each.bytes for each in bins).as_constant
    if needed is not None and needed <= FIRST_LEVEL_CACHE:
        return Declined(f"all of the {needed} bytes of bins fit the first-level cache")
    return k.size_value(k.host.parameter(PASSES))


def sum_of(sizes: Iterable[Size]) -> Size:
    """The sum of sizes."""
    return reduce(lambda a, b: a + b, sizes, ZERO)


def private_copies(
    host: HostBuilder, bins: Bins, count: Size, apart: int = APART
) -> Bins:
    """Arrays of the same shape with an outermost dimension for the copies, which are so
    many bytes apart."""

    def copied(array: Array) -> Array:
        element, base = array.memory.element, array.memory.name.base
        row = product(array.shape) + apart // element.bytes
        memory = host.allocate(element, (count, row), base).memory
        strides = (row, *row_major_strides(array.shape))
        return Array(memory, (count, *array.shape), ZERO, strides)

    return replace(bins, arrays=tuple(copied(array) for array in bins.arrays))


def _update_results(host: HostBuilder, histogram: Binning, wanted: Size) -> None:
    """Segment after segment into the results; an empty launch if `wanted` is 0."""
    operation, segments = histogram.operation, histogram.segments
    k = host.kernel("hist")
    most = host.cores() * GROUPS_PER_CORE
    each = host.let_size(ceil_div(segments, most), "each")
    groups = host.let_size(ceil_div(segments, maximum(ONE, each)) * wanted, "groups")
    group = k.declare("group", k.identity("get_global_id"))
    k.thread = (group, groups)
    first = k.declare("begin", group * k.size_value(each))
    last = smaller(first + k.size_value(each), k.size_value(segments))
    outer = host.sizes(operation.space.sizes[:-1])
    segment = MultiIndex(k, outer, first)
    with k.loop("segment", k.declare("end", last), first):
        k.bind_all(operation.space.indices[:-1], segment.indices)
        at = tuple(Size.of(index.name) for index in segment.indices)
        end = k.size_value(histogram.length)
        start = kc.as_expression(0)
        own = histogram.bins
        if at:  # with a row of a sum, LLVM computes the sum at each update
            own, at = [subhistogram_at(k, each, at) for each in own], ()
        update_chunk(HistogramChunk(operation, [own], None, at, start, end), k)
        segment.increment()
    host.launch(k, groups, 1)


def _update_copies(
    host: HostBuilder,
    operation: SegHist,
    copies: list[Bins],
    sizes: tuple[Size, Size, Size, Size],
) -> None:
    """Chunk after chunk of the segments, each into its private copies."""
    segments, length, chunks, replicas = sizes
    k = host.kernel("hist_copies")
    unit = k.declare("unit", k.identity("get_global_id"))
    k.thread = (unit, segments * chunks)
    number, count = (
        k.declare("chunk", unit % k.size_value(chunks)),
        k.size_value(replicas),
    )
    outer = host.sizes(operation.space.sizes[:-1])
    segment = MultiIndex(k, outer, k.declare("segment", unit // k.size_value(chunks)))
    k.bind_all(operation.space.indices[:-1], segment.indices)
    at = tuple(Size.of(index.name) for index in segment.indices)
    with k.loop("copy", count) as copy:
        row = k.as_size(number * count + copy, "copy")
        for each in copies:
            for place, atom in zip(
                each.rows((row, *at)), each.operator.neutral, strict=True
            ):
                ranks = len(each.operator.shape) + len(each.operator.vector)
                fill_with(k, place, place.shape[:ranks], k.atom(atom))
    share = k.declare("share", k.size_value(ceil_div(length, chunks)))
    first = k.declare("first", smaller(number * share, k.size_value(length)))
    last = k.declare("last", smaller(first + share, k.size_value(length)))
    counted = range(SUBHISTOGRAMS if replicas != ONE else 1)
    taken = [kc.as_expression(replica) % count for replica in counted]
    rows = [k.as_size(number * count + replica, "copy") for replica in taken]
    own = [[subhistogram_at(k, each, (row, *at)) for each in copies] for row in rows]
    with _passes(k, copies) as ranges:
        replicated = None if replicas == ONE else count > 1
        chunk = HistogramChunk(operation, own, ranges, (), first, last, replicated)
        update_chunk(chunk, k)
    host.launch(k, segments * chunks, 1, fresh=True)


@contextmanager
def _passes(k: KernelBuilder, bins: list[Bins]) -> Iterator[list[BinRange] | None]:
    """A loop over ranges of bins; gives the range of each operator's bins, or None if
    there is one pass for all."""
    passes = partition_bins_into_passes(bins, k)
    if isinstance(passes, Declined):
        yield None
        return
    with k.loop("pass", passes) as number:
        yield [range_of_bins(k, each, number, passes) for each in bins]


def range_of_bins(
    k: KernelBuilder, bins: Bins, number: kc.Expression, count: kc.Expression
) -> BinRange:
    """One of so many ranges of the outermost dimension of bins."""
    size = k.size_value(bins.shape[0])
    width = k.declare("width", (size + (count - 1)) // count)
    low = k.declare("low", smaller(number * width, size))
    return low, k.declare("high", smaller(low + width, size))


def combine_copies(
    host: HostBuilder, bins: Bins, copies: Bins, is_split: Size, together: int = 1
) -> None:
    """Combine all copies of each bin, in order, into the result, or each of so many
    `together`, the others of which are in it."""
    count = copies.arrays[0].shape[0]
    shape = combined_shape(bins)

    def visit(k: KernelBuilder, at: tuple[kc.Expression, ...]) -> None:
        where = tuple(k.as_size(index, "at") for index in at[1:])
        rows = [array.row(where) for array in bins.arrays]
        loop = k.loop("copy", k.size_value(count), step=together)
        combine_with_rows(k, copies, rows, where, loop)

    host.each("hist_combine", (is_split, *shape), visit)


def combined_shape(bins: Bins) -> tuple[Size, ...]:
    """The outer dimensions, bins and elements that are combined one by one."""
    ranks = bins.outer + len(bins.shape) + len(bins.operator.vector)
    return bins.arrays[0].shape[:ranks]


def combine_with_rows(
    k: KernelBuilder,
    copies: Bins,
    rows: list[Array],
    where: tuple[Size, ...],
    loop: AbstractContextManager[kc.Variable],
) -> None:
    """Combine a bin, or an element of it, with those at `where` of the copies that a
    loop gives."""
    whole = SegBinOp(copies.operator.operator, copies.operator.neutral, ())
    places: list[AccumulatorPlace] = [element_or_row(k, row, "sum") for row in rows]
    with loop as copy:
        at_copy = (Size.of(copy.name), *where)
        values = [element_or_row(k, a.row(at_copy)) for a in copies.arrays]
        with if_updated(k, copies, values):
            combine_into(k, whole, places, values)
    for row, combined in zip(rows, places, strict=True):
        if isinstance(combined, kc.Variable):
            k.write(row, (), combined)
