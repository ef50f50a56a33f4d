"""Histograms with operators on arrays under the GPU schedule: no atomics.

    work-item (chunk, segment, range)    the elements of a chunk update the bins of the
                                         range, in a copy of the bins for the chunk;
                                         four are looked at before one is used
    work-item (64 copies, bin)           combines the bin of the first of these copies
                                         with those of the others
    work-item (bin)                      combines the first copies with the result

A chunk has four elements or more for each bin, so that all copies have at most a
quarter of the rows of the input. Where that leaves few chunks their bins are divided
into ranges: an element is examined once for each of these, but updates only one bin;
lanes of a warp access the same one. One chunk updates the result itself.

No work-item waits for another one, so any device runs this.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce

from minifut.ir.core import Atom
from minifut.ir.kernels import SegHist
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, Size, ceil_div, maximum, minimum, product
from minifut.kernel_ir import nodes as kc
from minifut.lowering.cpu.partition import smaller
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.positions import unravel
from minifut.lowering.seghist import cpu
from minifut.lowering.seghist.histograms import BinRange, Bins, bin_updates
from minifut.lowering.seghist.subhistograms import subhistogram_at, update
from minifut.lowering.segred.gpu import is_light
from minifut.lowering.threads.builder import KernelBuilder
from minifut.lowering.threads.copies import AHEAD

WORK_ITEMS_PER_CORE = 256
GROUP = 32
"""work-items of a group: one warp, so that few work-items use many compute units"""
SMALLEST_CHUNK = 64
ELEMENTS_PER_BIN = 4
RANGES = 1024
"""of the bins of a chunk, at most"""
TOGETHER = 64
"""copies that are combined first"""


@immutable
class Chunks:
    """`count` chunks of each segment, of `chunk` elements, whose bins are in `ranges`;
    sizes in host variables."""

    count: Size
    chunk: Size
    ranges: Size


def update_rows(host: HostBuilder, operation: SegHist, bins: list[Bins]) -> None:
    """Update the bins by all elements."""
    sizes = host.sizes(operation.space.sizes)
    length = host.let_size(sizes[-1], "length")
    segments = maximum(ONE, host.let_size(product(sizes[:-1]), "segments"))
    units = host.let_size(host.cores() * WORK_ITEMS_PER_CORE // segments, "units")
    rows = cpu.sum_of(product(each.shape) for each in bins)
    least = maximum(Size.constant(SMALLEST_CHUNK), rows * ELEMENTS_PER_BIN)
    chunks = host.let_size(maximum(ONE, minimum(units, length // least)), "chunks")
    is_split = host.let_size(minimum(ONE, chunks - 1), "is_split")
    smallest = reduce(minimum, [each.shape[0] for each in bins], Size.constant(RANGES))
    ranges = maximum(ONE, minimum(smallest, units // chunks))
    ranges = host.let_size(ranges, "ranges")
    _update(host, operation, bins, Chunks(ONE - is_split, length, ranges), False)
    count = host.let_size(chunks * is_split, "copies")
    chunk = host.let_size(ceil_div(length, chunks), "chunk")
    copies = [cpu.private_copies(host, each, count, 0) for each in bins]
    for each in copies:
        _clear(host, each)
    _update(host, operation, copies, Chunks(count, chunk, ranges), True)
    for each, copied in zip(bins, copies, strict=True):
        _combine_some(host, copied)
        cpu.combine_copies(host, each, copied, is_split, TOGETHER)


def _update(
    host: HostBuilder, operation: SegHist, bins: list[Bins], of: Chunks, copied: bool
) -> None:
    """Each chunk updates its bins; the first dimension of those that are `copied` is
    the chunk's."""
    space = operation.space
    outer = host.sizes(space.sizes[:-1])

    def visit(k: KernelBuilder, at: tuple[kc.Expression, ...]) -> None:
        k.bind_indices(space.indices[:-1], at[1:-1])
        place = tuple(k.as_size(i) for i in (at if copied else at[1:])[:-1])
        own = [subhistogram_at(k, each, place) for each in bins]
        count = k.size_value(of.ranges)
        ranges = [cpu.range_of_bins(k, each, at[-1], count) for each in bins]
        first = k.declare("first", at[0] * k.size_value(of.chunk))
        length = k.resolve(space.sizes[-1])
        end = smaller(first + k.size_value(of.chunk), k.size_value(length))
        last = k.declare("last", end)
        with _those_inside(k, operation, own, ranges, (first, last)) as i:
            k.bind(space.indices[-1], i)
            update(k, operation, own, ranges=ranges)

    shape = (of.count, *outer, of.ranges)
    total = host.let_size(product(shape), "points")
    threads = host.let_size(ceil_div(total, Size.constant(GROUP)) * GROUP, "threads")
    k = host.kernel("hist_copies" if copied else "hist")
    thread = k.declare("thread", k.identity("get_global_id"))
    k.thread = (thread, threads)
    with k.branch(thread < k.size_value(total)):
        visit(k, unravel(k, thread, shape))
    host.launch(k, threads, GROUP, fresh=copied)


@contextmanager
def _those_inside(
    k: KernelBuilder,
    operation: SegHist,
    bins: list[Bins],
    ranges: list[BinRange],
    chunk: tuple[kc.Expression, kc.Expression],
) -> Iterator[kc.Variable]:
    """A loop over the elements of a chunk. Four at a time are left out if the bins of
    none are in the ranges: their loads do not wait for each other."""
    first, end = chunk
    if not is_light(operation.body):
        with k.loop("i", end, first) as i:
            yield i
        return
    with k.loop("block", end, first, AHEAD) as block:
        inside = k.declare("inside", kc.Literal(True, kc.TRUTH))
        with k.branch((block + AHEAD) <= end):
            found = []
            for number in range(AHEAD):
                k.bind(operation.space.indices[-1], k.declare("i", block + number))
                found += bin_updates(k, operation, bins, ranges)
            k.assign(inside, _any_of([point.inside for point in found]))
        with k.branch(inside):
            stop = k.declare("stop", smaller(block + AHEAD, end))
            with k.loop("i", stop, block) as i:
                yield i


def _any_of(tests: list[kc.Expression]) -> kc.Expression:
    """Whether one of several holds, without a branch for each."""
    return reduce(lambda a, b: kc.Binary("|", a, b, kc.TRUTH), tests)


def _clear(host: HostBuilder, copies: Bins) -> None:
    """Neutral values in all bins, an element for each work-item."""
    ranks = len(cpu.combined_shape(copies))
    for array, atom in zip(copies.arrays, copies.operator.neutral, strict=True):

        def visit(
            k: KernelBuilder,
            at: tuple[kc.Expression, ...],
            array: Array = array,
            atom: Atom = atom,
        ) -> None:
            value = k.atom(atom)
            if isinstance(value, Array):
                value = k.read(value, at[ranks:])
            k.write(array, at, value)

        host.each("hist_clear", array.shape, visit)


def _combine_some(host: HostBuilder, copies: Bins) -> None:
    """Combine the first of some copies with the others of them."""
    count, *shape = cpu.combined_shape(copies)
    parts = host.let_size(ceil_div(count, Size.constant(TOGETHER)), "parts")

    def visit(k: KernelBuilder, at: tuple[kc.Expression, ...]) -> None:
        where = tuple(k.as_size(index, "at") for index in at[1:])
        own = k.declare("own", at[0] * TOGETHER)
        rows = [array.row((k.as_size(own), *where)) for array in copies.arrays]
        end = k.declare("end", smaller(own + TOGETHER, k.size_value(count)))
        cpu.combine_with_rows(k, copies, rows, where, k.loop("copy", end, own + 1))

    host.each("hist_combine_some", (parts, *shape), visit)
