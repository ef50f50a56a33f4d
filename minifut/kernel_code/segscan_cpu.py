"""Segmented scans under the CPU schedule.

    segscan grid (i < n, j < m) {add, 0f32} { return xs[i, j] }

Three kernels, of which the first two run only where segments have several chunks:

    reduce   partial[unit]  = sum of the chunk                  (as in segred_cpu)
    prefix   partial[unit]  = sum of the segment up to and with the chunk
    scan     running = partial[unit - 1], or neutral;
             for j in chunk: running = running + xs[i, j]; result[i, j] = running

One running value at a time is bound by the latency of the operator, so a group goes
through four units at once, each in its order: that reaches the bandwidth of memory for
any operator. The body runs twice; where it is heavy (loops, checks) the first kernel
stores its operands in the result instead, and the third reads them back. Where segments
lie side by side in memory, lanes are segments, as in segred_cpu.
"""

from __future__ import annotations

from dataclasses import replace

from minifut.ir.core import Param
from minifut.ir.kernels import SegScan
from minifut.ir.sizes import ONE, Size, product
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.columns_cpu import (
    Columns,
    block_width,
    cut_columns,
    reduce_columns,
)
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.lower_host import HostBuilder
from minifut.kernel_code.lower_kernel import KernelBuilder, Value
from minifut.kernel_code.operators import State
from minifut.kernel_code.reduction_cpu import (
    Reduction,
    combine_lane,
    lane_memories,
    mapped_array,
    runs_over_columns,
    store_neutral,
)
from minifut.kernel_code.segred_cpu import per_chunk, reduce_units
from minifut.kernel_code.units_cpu import (
    Odometer,
    Units,
    bounds,
    cut,
    each_unit,
    smaller,
)

INTERLEAVED = 4
"""units at once; more do not help, as their streams get into each other's way"""


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegScan) -> None:
    """Kernels and launches for a scan; binds its results."""
    reduction = Reduction.of(host, operation)
    count = len(reduction.types)
    sizes = host.sizes(operation.space.sizes)
    by_columns = reduction.light and runs_over_columns(host, operation)
    arrays = [
        mapped_array(host, sizes, t, p, by_columns)
        for p, t in zip(pattern, operation.types, strict=True)
    ]
    scanned, reduction.outs = arrays[:count], arrays[count:]
    rows = host.let_size(product(sizes[:-1]), "rows")
    if by_columns:
        by_column(host, reduction, scanned, sizes, rows)
    else:
        by_row(host, reduction, scanned, sizes, rows)
    for bound, array in zip(pattern, arrays, strict=True):
        host.bind(bound, array)


def by_row(
    host: HostBuilder,
    reduction: Reduction,
    scanned: list[Array],
    sizes: tuple[Size, ...],
    rows: Size,
) -> None:
    """Each unit is a chunk of one row."""
    together = INTERLEAVED if reduction.light else 1
    light = reduction.smallest != ONE
    units = cut(host, sizes[:-1], sizes[-1], reduction.smallest, together)
    if light:
        first = replace(reduction, outs=[])
        second = reduction
    else:
        first = replace(reduction, operands_out=scanned)
        second = replace(reduction, outs=[])
    partials = reduce_units(host, first, units, always=not light)
    prefixes(
        host, reduction, units, [per_chunk(p, rows, units) for p in partials], rows
    )
    k = host.kernel("scan")
    space = (*units.segments, units.chunks)
    with each_unit(k, units, space, together) as (unit, at, end):
        if together == 1:
            scan_unit(k, second, units, (unit, at), partials, scanned, reread=not light)
        else:
            scan_units(k, second, units, (unit, at, end), partials, scanned)
    host.launch(k, units.groups, 1)


def scan_unit(
    k: KernelBuilder,
    reduction: Reduction,
    units: Units,
    place: tuple[kc.Variable, Odometer],
    partials: list[Array],
    scanned: list[Array],
    reread: bool,
) -> None:
    """Scan one unit; its operands are in `scanned` already if `reread`."""
    unit, odometer = place
    segment, chunk = odometer.indices[:-1], odometer.indices[-1]
    state = State(k, reduction.operators)
    state.reset()
    with k.branch(chunk > 0):
        state.load(partials, (k.named(unit - 1, "before"),))
    first, last = bounds(k, units, chunk)
    with k.loop("i", last, first) as index:
        position = (*segment, index)
        if reread:
            at = tuple(Size.of(i.name) for i in position)
            views = [array.row(at) for array in scanned]
            values: list[Value] = [element_or_row(k, view) for view in views]
        else:
            values = reduction.visit(k, segment, index)
        state.combine(values)
        state.save(scanned, position)


def element_or_row(k: KernelBuilder, view: Array) -> Value:
    """The element of an array of rank 0, in a variable; else the array."""
    return view if view.rank else k.declare("value", k.read(view, ()))


def scan_units(
    k: KernelBuilder,
    reduction: Reduction,
    units: Units,
    place: tuple[kc.Variable, Odometer, kc.Expression],
    partials: list[Array],
    scanned: list[Array],
) -> None:
    """Scan several units, a step of each in turn; then what is left of each."""
    unit, odometer, end = place
    firsts, lasts, segments = [
        [k.private_memory(kc.LONG.scalar, INTERLEAVED, base) for _ in range(number)]
        for base, number in (
            ("first", 1), ("last", 1), ("segment", len(odometer.indices) - 1),
        )
    ]  # fmt: skip
    running = lane_memories(k, reduction.types, INTERLEAVED)
    common = k.declare("common", k.size_value(units.length))
    with k.loop("q", INTERLEAVED) as lane:
        chunk = odometer.indices[-1]
        for memory, index in zip(segments, odometer.indices, strict=False):
            k.store(memory, lane, index)
        first, last = bounds(k, units, chunk)
        last = k.named(kc.Select(unit + lane < end, last, first, kc.LONG), "last")
        k.store(firsts[0], lane, first)
        k.store(lasts[0], lane, last)
        k.assign(common, smaller(common, k.named(last - first, "count")))
        store_neutral(k, reduction.operators, running, lane)
        with k.branch(kc.Binary("&&", chunk > 0, unit + lane < end, kc.TRUTH)):
            before = k.named(unit + lane - 1, "before")
            for memory, partial in zip(running, partials, strict=True):
                k.store(memory, lane, k.read(partial, (before,)))
        odometer.advance()

    def resume(lane: kc.Operand) -> tuple[list[kc.Variable], State, kc.Variable]:
        """The indices, the running values and the first element of a unit."""
        segment = [k.declare("segment", k.load(m, lane)) for m in segments]
        state = State(k, reduction.operators)
        for variable, memory in zip(state.all_places, running, strict=True):
            assert isinstance(variable, kc.Variable)
            k.assign(variable, k.load(memory, lane))
        return segment, state, k.declare("first", k.load(firsts[0], lane))

    def step(segment: list[kc.Variable], state: State, index: kc.Expression) -> None:
        state.combine(reduction.visit(k, segment, index))
        state.save(scanned, (*segment, index))

    lanes = [resume(number) for number in range(INTERLEAVED)]
    with k.loop("i", common) as i:
        for segment, state, first in lanes:
            step(segment, state, k.named(first + i, "index"))
    for number, (_, state, _) in enumerate(lanes):
        for variable, memory in zip(state.all_places, running, strict=True):
            assert isinstance(variable, kc.Variable)
            k.store(memory, number, variable)
    with k.loop("q", INTERLEAVED) as lane:
        segment, state, first = resume(lane)
        last = k.declare("last", k.load(lasts[0], lane))
        with k.loop("i", last, first + common) as index:
            step(segment, state, index)


def prefixes(
    host: HostBuilder,
    reduction: Reduction,
    units: Units,
    partials: list[Array],
    rows: Size,
) -> None:
    """The partial results of each row, `partials[row][chunk]`, are scanned in place."""
    over = cut(host, (), rows, Size.constant(16))
    k = host.kernel("prefix")
    with each_unit(k, over, (over.chunks,)) as (_, at, _):
        state = State(k, reduction.operators)
        first, last = bounds(k, over, at.indices[0])
        with k.loop("row", last, first) as row:
            state.load(partials, (row, Size.constant(0)))
            with k.loop("chunk", k.size_value(units.chunks), 1) as chunk:
                at_chunk = (Size.of(row.name), Size.of(chunk.name))
                views = [p.row(at_chunk) for p in partials]
                state.combine([element_or_row(k, view) for view in views])
                state.save(partials, (row, chunk))
    host.launch(k, over.groups * units.several, 1)


def by_column(
    host: HostBuilder,
    reduction: Reduction,
    scanned: list[Array],
    sizes: tuple[Size, ...],
    rows: Size,
) -> None:
    """Each unit is a chunk of a block of columns."""
    units, blocks = cut_columns(host, reduction, sizes, block_width(reduction.types))
    space = (*sizes[:-2], blocks)
    first = replace(reduction, outs=[])
    partials = reduce_columns(host, first, units, space, None)
    chunked = [p.rearrange((1, 0)) for p in partials]
    prefixes(host, reduction, units, chunked, rows)
    k = host.kernel("scan_columns")
    with each_unit(k, units, (*space[:-1], units.chunks, blocks)) as (_, at, _):
        columns = Columns(k, reduction, units, at.indices)
        with k.branch(columns.chunk > 0):
            before = k.named(columns.chunk - 1, "before")
            columns.load(partials, before)
        with k.otherwise(), k.loop("l", columns.wide) as lane:
            store_neutral(k, reduction.operators, columns.memories, lane)
        with columns.points() as (segment, index, lane):
            values = reduction.visit(k, segment, index)
            results = combine_lane(
                k, reduction.operators, columns.memories, lane, values
            )
            for array, result in zip(scanned, results, strict=True):
                k.write(array, (*segment, index), result)
    host.launch(k, units.groups, 1)
