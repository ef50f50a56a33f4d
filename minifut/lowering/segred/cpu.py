"""Segmented reductions under the CPU schedule.

    segred grid (i < n, j < m) {add, 0f32} { return xs[i, j] }

A work-group of one work-item runs its work units (chunks of segments) one by one:

    for unit in units of the group:
        if the chunk has 64 elements or more:  s = most of it, with many accumulators
        for the rest:                          s = s + xs[i, j]
        partial[unit] = s

`segred.chunk_reduction` emits the loop over a chunk.

Where neighbouring segments are contiguous in memory (column sums) lanes are segments
(`cpu.segment_blocks`), unless the host finds only a few segments when it runs. A second
kernel combines the partial results of each segment in order. If there is only one
segment, the last group to finish combines them: a second launch costs as much as
reading some megabytes. Segments of a single chunk have a kernel of their own, which
stores results directly. Only kernels that run are ever built.
"""

from __future__ import annotations

from minifut.ir.core import Atom, Constant, Param, ScalarOp
from minifut.ir.kernels import SegRed
from minifut.ir.scalars import operator
from minifut.ir.sizes import ONE, ZERO, Size, product
from minifut.ir.types import BOOL, I64, ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.atomic_cells import from_word, to_word, word_of
from minifut.lowering.cpu import segment_blocks
from minifut.lowering.cpu.partition import (
    Partition,
    chunk_bounds,
    each_work_unit,
    flatten_outer,
    partition,
)
from minifut.lowering.cpu.reduction import (
    Reduction,
    ReductionChunk,
    element_or_row,
    mapped_array,
    points_of_range,
)
from minifut.lowering.cpu.vector_operators import scalar_places
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators
from minifut.lowering.segred.chunk_reduction import reduce_chunk
from minifut.lowering.threads.builder import KernelBuilder


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegRed) -> None:
    """Kernels and launches for a reduction; binds its results."""
    reduction = Reduction.of(host, operation)
    count = len(reduction.types)
    sizes = host.sizes(operation.space.sizes)
    rows = host.let_size(product(sizes[:-1]), "rows")
    results = [
        host.allocate(element_of(t), (*sizes[:-1], *host.shape(t)), p.name.base)
        for p, t in zip(pattern[:count], reduction.types, strict=True)
    ]
    across = segment_blocks.vectorise_across_segments.fires(reduction, host)
    reduction.outs = [
        mapped_array(host, sizes, t, p, transposed=across)
        for p, t in zip(pattern[count:], operation.types[count:], strict=True)
    ]
    flat = [flatten_outer(r, len(sizes) - 1, rows) for r in results]
    if across:
        fewest = segment_blocks.fewest_segments(host, reduction)
        few = is_less(host, sizes[-2], fewest)
        with host.nested() as one_by_one:
            reduce_along(host, reduction, flat, sizes, rows)
        with host.nested() as in_blocks:
            reduce_across(host, reduction, flat, sizes, rows)
        branches = [kc.HostBlock(tuple(part)) for part in (one_by_one, in_blocks)]
        host.emit(kc.HostIf(few, *branches))
    else:
        reduce_along(host, reduction, flat, sizes, rows)
    host.bind_all(pattern, (*results, *reduction.outs))


def is_less(host: HostBuilder, size: Size, number: int) -> Atom:
    """Whether a size of the host is below a number, known when it runs."""
    known = size.as_constant
    if known is not None:
        return Constant(known < number, BOOL)
    name = host.let_size(size, "columns").as_name
    assert name is not None
    limit = Constant(number, I64)
    return host.scalar(ScalarOp(operator("lt", I64), (name, limit)), BOOL, "few")


# --- along segments -------------------------------------------------------------------


def reduce_along(
    host: HostBuilder,
    reduction: Reduction,
    results: list[Array],
    sizes: tuple[Size, ...],
    rows: Size,
) -> None:
    """Each work unit is a chunk of one segment."""
    fewest, per_core = reduction.smallest, reduction.groups_per_core
    split = partition(host, sizes[:-1], sizes[-1], fewest, per_core=per_core)
    reduce_segments(host, reduction, split, results)
    if reduction.is_cheap and reduction.checks is None and not split.segments:
        # A group that fails would not be counted among those that finish.
        reduce_single_segment(host, reduction, split, results)
        return
    partials = reduce_units(host, reduction, split)
    chunked = [per_chunk(p, rows, split) for p in partials]
    combine_chunks(host, reduction, split, chunked, results, rows)


def per_chunk(partial: Array, rows: Size, split: Partition) -> Array:
    """An array over units as one over segments and chunks."""
    return Array(
        partial.memory,
        (rows, split.chunks, *partial.shape[1:]),
        ZERO,
        (split.chunks * partial.strides[0], *partial.strides),
    )


def reduce_segments(
    host: HostBuilder, reduction: Reduction, split: Partition, results: list[Array]
) -> None:
    """Reduce whole segments, when each is a single chunk: there may be many short ones,
    so that the code around each must be cheap."""
    k = host.kernel("reduce_segments")
    whole = (kc.Literal(0, kc.LONG), k.size_value(split.length))
    with each_work_unit(k, split, split.segments) as (unit, at, _):
        accumulators = reduce_range(k, reduction, at.indices, whole)
        accumulators.save(results, (unit,))
    host.launch(k, split.groups * (ONE - split.is_split), 1, fresh=reduction.is_fresh)


def reduce_units(
    host: HostBuilder, reduction: Reduction, split: Partition, always: bool = False
) -> list[Array]:
    """Reduce each work unit; gives the arrays of partial results, one per unit.

    Unless `always`, the launch is empty when segments are single chunks.
    """
    some = ONE if always else split.is_split
    partials = [
        host.allocate(element_of(t), (split.units * some, *host.shape(t)), "partial")
        for t in reduction.types
    ]
    k = host.kernel("reduce")
    with each_work_unit(k, split, (*split.segments, split.chunks)) as (unit, at, _):
        ends = chunk_bounds(k, split, at.indices[-1])
        accumulators = reduce_range(k, reduction, at.indices[:-1], ends, long=True)
        accumulators.save(partials, (unit,))
    host.launch(k, split.groups * some, 1, fresh=reduction.is_fresh)
    return partials


def reduce_single_segment(
    host: HostBuilder, reduction: Reduction, split: Partition, results: list[Array]
) -> None:
    """Reduce the chunks of a single segment; the last group to finish combines the
    published partial results in order."""
    types = [element_of(t) for t in reduction.types]
    count = (split.units * split.is_split,)
    words = [host.allocate(word_of(t), count, "partial").memory for t in types]
    k = host.kernel("reduce")
    with each_work_unit(k, split, (split.chunks,)) as (unit, at, _):
        accumulators = reduce_range(
            k, reduction, [], chunk_bounds(k, split, at.indices[-1]), long=True
        )
        for memory, value, type_ in zip(
            words, scalar_places(accumulators), types, strict=True
        ):
            k.atomic("atomic_xchg", memory, unit, to_word(value, type_))
    last = k.declare("is_last", type_=kc.TRUTH)
    k.emit(kc.DetectLastGroup(last, k.size_value(split.groups)))
    with k.branch(last):
        accumulators = Accumulators(k, reduction.operators)
        accumulators.reset()
        with k.loop("chunk", k.size_value(split.units)) as chunk:
            accumulators.combine(
                [atomic_read(k, *w, chunk) for w in zip(words, types, strict=True)]
            )
        accumulators.save(results, (kc.Literal(0, kc.LONG),))
    host.launch(k, split.groups * split.is_split, 1, fresh=reduction.is_fresh)


def atomic_read(
    k: KernelBuilder, memory: kc.Memory, type_: ScalarType, place: kc.Expression
) -> kc.Variable:
    """A value that this or another group stored by an atomic exchange."""
    no_bits = kc.Literal(0, kc.VectorType(memory.element))
    word = k.atomic("atomic_or", memory, place, no_bits, base="word")
    return k.declare("value", from_word(word, type_))


def reduce_range(
    k: KernelBuilder,
    reduction: Reduction,
    segment: list[kc.Variable],
    ends: tuple[kc.Expression, kc.Expression],
    long: bool = False,
) -> Accumulators:
    """Reduce the elements of a segment from the first to before the last; `long`: there
    are others, in other chunks."""
    first, last = ends
    accumulators = Accumulators(k, reduction.operators)
    accumulators.reset()

    def most_at_once(unchecked: Reduction) -> None:
        start = k.declare("start", first)
        chunk = ReductionChunk(unchecked, accumulators, segment, ends, start, long)
        reduce_chunk(k, chunk)
        one_by_one(unchecked, start)

    def one_by_one(reduction: Reduction, start: kc.Expression = first) -> None:
        with k.loop("i", last, start) as index:
            values = reduction.visit(k, segment, index)
            accumulators.combine(values, reassociate=True)

    points = points_of_range(k, segment, ends)
    reduction.in_phases(k, points, most_at_once, one_by_one)
    return accumulators


def reduce_across(
    host: HostBuilder,
    reduction: Reduction,
    results: list[Array],
    sizes: tuple[Size, ...],
    rows: Size,
) -> None:
    """Each work unit is a chunk of a block of segments."""
    width = segment_blocks.block_width(reduction.types)
    several = segment_blocks.rows_of_block(host, reduction, sizes, width)
    split, space = segment_blocks.partition_blocks(
        host, reduction, sizes, width, several
    )
    partials = segment_blocks.reduce_across_segments(
        host, reduction, split, space, results, several
    )
    chunked = [p.rearrange((1, 0)) for p in partials]
    combine_chunks(host, reduction, split, chunked, results, rows)


# --- the second step ------------------------------------------------------------------


def combine_chunks(
    host: HostBuilder,
    reduction: Reduction,
    split: Partition,
    partials: list[Array],
    results: list[Array] | None,
    rows: Size,
) -> None:
    """Combine the partial results of each segment, `partials[row][chunk]`, in order;
    without `results`, scan them in place."""
    over = partition(host, (), rows, Size.constant(16))
    k = host.kernel("combine")
    with each_work_unit(k, over, (over.chunks,)) as (_, at, _):
        accumulators = Accumulators(k, reduction.operators)
        first, last = chunk_bounds(k, over, at.indices[0])
        with k.loop("row", last, first) as row:
            accumulators.reset()
            with k.loop("chunk", k.size_value(split.chunks)) as chunk:
                at_chunk = (Size.of(row.name), Size.of(chunk.name))
                values = [element_or_row(k, p.row(at_chunk)) for p in partials]
                accumulators.combine(values)
                if results is None:
                    accumulators.save(partials, (row, chunk))
            if results is not None:
                accumulators.save(results, (row,))
    host.launch(k, over.groups * split.is_split, 1, fresh=reduction.is_fresh)
