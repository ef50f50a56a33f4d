"""Segmented reductions under the CPU schedule.

    segred grid (i < n, j < m) {add, 0f32} { return xs[i, j] }

A work-group of one work-item runs through units (chunks of segments) one by one:

    for unit in units of the group:
        if the chunk has 64 elements or more:  s = most of it, several at once
        for the rest:                          s = s + xs[i, j]
        partial[unit] = s

How the loop over a chunk is made fast is told in `cpu.chunk_folds`.

Where neighbouring segments lie side by side in memory (column sums) the lanes are
segments, each with its own running value: that keeps the order, so any operator will
do. Where they are only a few, each is reduced on its own after all; the host finds out.
A second kernel combines the partial results of each segment in order. Where there is
but one segment, the group that comes last does: a second launch takes as long as
reading some megabytes. Segments that are a single chunk have a kernel of their own,
which writes results at once; of the kernels only those that run are ever built.
"""

from __future__ import annotations

from minifut.ir.core import Atom, Constant, Param, ScalarOp
from minifut.ir.kernels import SegRed
from minifut.ir.scalars import operator
from minifut.ir.sizes import ONE, ZERO, Size, product
from minifut.ir.types import BOOL, I64, ScalarType, element_of
from minifut.kernel_code.atomic_cells import from_word, to_word, word_of
from minifut.kernel_code.cpu.chunk_folds import reduce_chunk
from minifut.kernel_code.cpu.columns import (
    FEW_COLUMNS,
    block_width,
    cut_columns,
    reduce_columns,
    run_over_columns,
)
from minifut.kernel_code.cpu.reduction import (
    Chunk,
    Reduction,
    mapped_array,
)
from minifut.kernel_code.cpu.units import Units, bounds, cut, each_unit, flat
from minifut.kernel_code.cpu.vector_operators import scalar_places
from minifut.kernel_code.host.builder import HostBuilder
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.operators import State
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_ir import nodes as kc


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
    by_columns = run_over_columns.fires(reduction, host)
    reduction.outs = [
        mapped_array(host, sizes, t, p, by_columns)
        for p, t in zip(pattern[count:], operation.types[count:], strict=True)
    ]
    whole = [flat(r, len(sizes) - 1, rows) for r in results]
    if by_columns:
        few = is_less(host, sizes[-2], FEW_COLUMNS)
        with host.nested() as across:
            by_row(host, reduction, whole, sizes, rows)
        with host.nested() as along:
            by_column(host, reduction, whole, sizes, rows)
        branches = [kc.HostBlock(tuple(part)) for part in (across, along)]
        host.emit(kc.HostIf(few, *branches))
    else:
        by_row(host, reduction, whole, sizes, rows)
    for bound, array in zip(pattern, (*results, *reduction.outs), strict=True):
        host.bind(bound, array)


def is_less(host: HostBuilder, size: Size, number: int) -> Atom:
    """Whether a size of the host is below a number, known when it runs."""
    known = size.as_constant
    if known is not None:
        return Constant(known < number, BOOL)
    name = host.let_size(size, "columns").as_name
    assert name is not None
    limit = Constant(number, I64)
    return host.scalar(ScalarOp(operator("lt", I64), (name, limit)), BOOL, "few")


# --- rows -----------------------------------------------------------------------------


def by_row(
    host: HostBuilder,
    reduction: Reduction,
    results: list[Array],
    sizes: tuple[Size, ...],
    rows: Size,
) -> None:
    """Each unit is a chunk of one row."""
    units = cut(host, sizes[:-1], sizes[-1], reduction.smallest)
    reduce_segments(host, reduction, units, results)
    if reduction.light and not units.segments:
        reduce_together(host, reduction, units, results)
        return
    partials = reduce_units(host, reduction, units)
    chunked = [per_chunk(p, rows, units) for p in partials]
    combine_chunks(host, reduction, units, chunked, results, rows)


def per_chunk(partial: Array, rows: Size, units: Units) -> Array:
    """An array over units as one over rows and chunks."""
    return Array(
        partial.memory,
        (rows, units.chunks, *partial.shape[1:]),
        ZERO,
        (units.chunks * partial.strides[0], *partial.strides),
    )


def reduce_segments(
    host: HostBuilder, reduction: Reduction, units: Units, results: list[Array]
) -> None:
    """Reduce whole segments, when each is a single chunk: little is done per segment,
    for there may be many short ones."""
    k = host.kernel("reduce_segments")
    whole = (kc.Literal(0, kc.LONG), k.size_value(units.length))
    with each_unit(k, units, units.segments) as (unit, at, _):
        state = reduce_range(k, reduction, at.indices, whole)
        state.save(results, (unit,))
    host.launch(k, units.groups * (ONE - units.several), 1)


def reduce_units(
    host: HostBuilder, reduction: Reduction, units: Units, always: bool = False
) -> list[Array]:
    """Reduce each unit; the arrays of partial results, one per unit.

    Unless `always`, nothing is done when segments are single chunks.
    """
    some = ONE if always else units.several
    partials = [
        host.allocate(element_of(t), (units.count * some, *host.shape(t)), "partial")
        for t in reduction.types
    ]
    k = host.kernel("reduce")
    with each_unit(k, units, (*units.segments, units.chunks)) as (unit, at, _):
        ends = bounds(k, units, at.indices[-1])
        state = reduce_range(k, reduction, at.indices[:-1], ends)
        state.save(partials, (unit,))
    host.launch(k, units.groups * some, 1)
    return partials


def reduce_together(
    host: HostBuilder, reduction: Reduction, units: Units, results: list[Array]
) -> None:
    """Reduce the chunks of a single segment; the group that comes last combines what
    all of them published, in order."""
    types = [element_of(t) for t in reduction.types]
    count = (units.count * units.several,)
    words = [host.allocate(word_of(t), count, "partial").memory for t in types]
    k = host.kernel("reduce")
    with each_unit(k, units, (units.chunks,)) as (unit, at, _):
        state = reduce_range(k, reduction, [], bounds(k, units, at.indices[-1]))
        for memory, value, type_ in zip(
            words, scalar_places(state), types, strict=True
        ):
            k.atomic("atomic_xchg", memory, unit, to_word(value, type_))
    last = k.declare("is_last", type_=kc.TRUTH)
    k.emit(kc.ComeLast(last, k.size_value(units.groups)))
    with k.branch(last):
        state = State(k, reduction.operators)
        state.reset()
        with k.loop("chunk", k.size_value(units.count)) as chunk:
            state.combine(
                [published(k, *w, chunk) for w in zip(words, types, strict=True)]
            )
        state.save(results, (kc.Literal(0, kc.LONG),))
    host.launch(k, units.groups * units.several, 1)


def published(
    k: KernelBuilder, memory: kc.Memory, type_: ScalarType, place: kc.Expression
) -> kc.Variable:
    """A value that a group, which may be another one, told by an atomic exchange."""
    nothing = kc.Literal(0, kc.VectorType(memory.element))
    word = k.atomic("atomic_or", memory, place, nothing, base="word")
    return k.declare("value", from_word(word, type_))


def reduce_range(
    k: KernelBuilder,
    reduction: Reduction,
    segment: list[kc.Variable],
    ends: tuple[kc.Expression, kc.Expression],
) -> State:
    """Reduce the elements of a segment from the first to before the last."""
    first, last = ends
    state = State(k, reduction.operators)
    state.reset()
    start = k.declare("start", first)
    reduce_chunk(k, Chunk(reduction, state, segment, ends, start))
    with k.loop("i", last, start) as index:
        values = reduction.visit(k, segment, index)
        state.combine(values, reassociate=True)
    return state


def by_column(
    host: HostBuilder,
    reduction: Reduction,
    results: list[Array],
    sizes: tuple[Size, ...],
    rows: Size,
) -> None:
    """Each unit is a chunk of a block of columns."""
    width = block_width(reduction.types)
    units, blocks = cut_columns(host, reduction, sizes, width)
    partials = reduce_columns(host, reduction, units, (*sizes[:-2], blocks), results)
    chunked = [p.rearrange((1, 0)) for p in partials]
    combine_chunks(host, reduction, units, chunked, results, rows)


# --- the second step ------------------------------------------------------------------


def combine_chunks(
    host: HostBuilder,
    reduction: Reduction,
    units: Units,
    partials: list[Array],
    results: list[Array],
    rows: Size,
) -> None:
    """The partial results of each segment, `partials[row][chunk]`, in order."""
    over = cut(host, (), rows, Size.constant(16))
    k = host.kernel("combine")
    with each_unit(k, over, (over.chunks,)) as (_, at, _):
        state = State(k, reduction.operators)
        first, last = bounds(k, over, at.indices[0])
        with k.loop("row", last, first) as row:
            state.reset()
            with k.loop("chunk", k.size_value(units.chunks)) as chunk:
                values = [
                    k.read(p, (row, chunk))
                    if p.rank == 2
                    else p.row((Size.of(row.name), Size.of(chunk.name)))
                    for p in partials
                ]
                values = [
                    k.named(v, "value") if isinstance(v, kc.Expression) else v
                    for v in values
                ]
                state.combine(values)
            state.save(results, (row,))
    host.launch(k, over.groups * units.several, 1)
