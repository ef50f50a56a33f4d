"""Segmented scans under the CPU schedule.

    segscan grid (i < n, j < m) {add, 0f32} { return xs[i, j] }

Light bodies (scalar code without checks) are scanned in one pass over memory, vector by
vector (`cpu.stretch_scan`): where segments are short or many, each by one group; else
in chunks by all cores (`cpu.chained_scan`). Of these two kernels only the one that runs
is ever built.

Heavy bodies (loops, checks, arrays) take three kernels, so that the body runs once:

    reduce   result[i, j] = xs[i, j]; partial[unit] = sum of the chunk
    prefix   partial[unit] = sum of the segment up to and with the chunk
    scan     running = partial[unit - 1], or neutral;
             for j in chunk: running = running + result[i, j]; result[i, j] = running

Where segments lie side by side in memory, lanes are segments, as in segred_cpu.
"""

from __future__ import annotations

from dataclasses import replace

from minifut.ir.core import Param
from minifut.ir.kernels import SegScan
from minifut.ir.sizes import ONE, Size, ceil_div, maximum, minimum, product
from minifut.kernel_code.cpu.chained_scan import chained
from minifut.kernel_code.cpu.columns import (
    Columns,
    block_width,
    cut_columns,
    reduce_columns,
    run_over_columns,
)
from minifut.kernel_code.cpu.reduction import (
    HEAVY,
    Reduction,
    combine_lane,
    mapped_array,
    store_neutral,
)
from minifut.kernel_code.cpu.segred import per_chunk, reduce_units
from minifut.kernel_code.cpu.stretch_scan import scan_stretch
from minifut.kernel_code.cpu.units import (
    ALIGNMENT,
    GROUPS_PER_CORE,
    Odometer,
    Units,
    bounds,
    cut,
    each_unit,
)
from minifut.kernel_code.host.builder import HostBuilder
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.operators import State
from minifut.kernel_code.rule import Told, lowering_rule
from minifut.kernel_code.threads.builder import KernelBuilder, Value
from minifut.kernel_ir import nodes as kc
from minifut.rewrite.rule import Declined

REPEATED = f"{HEAVY}, which are not to be repeated"
IN_CACHE = 32768
"""elements of a chunk, which must stay in the second-level cache"""
SEGMENTS_PER_CORE = 4
"""so many segments are enough to keep all cores busy with whole ones"""


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegScan) -> None:
    """Kernels and launches for a scan; binds its results."""
    reduction = Reduction.of(host, operation)
    count = len(reduction.types)
    sizes = host.sizes(operation.space.sizes)
    by_columns = run_over_columns.fires(reduction, host)
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


@lowering_rule(
    paper="Single-pass parallel prefix scan with decoupled look-back",
    tell=lambda *_: Told(("whole segments, or chunks where they are few",)),
)
def scan_in_one_pass(reduction: Reduction, host: HostBuilder) -> bool | Declined:
    """Go through memory once: each core has whole segments, or takes chunks that stay
    in its cache.

    before:
        given (n: i64, xs: [n]i32)
        let s: [n]i32 = segscan grid (i < n)
            operator(\\(a: i32, b: i32) -> (i32) {
              let c: i32 = add_i32(a, b)
              return c
            }, (0i32), []) -> (i32) {
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
        int c_8 = (int)((uint)acc + (uint)value_1);
        ..
        *(__global loose_int16 *)(s + at_3) = right_6;
    declines: has loops, checks or arrays
        given (n: i64, xs: [n]i32)
        let s: [n]i32 = segscan grid (i < n)
            operator(\\(a: i32, b: i32) -> (i32) {
              let c: i32 = add_i32(a, b)
              return c
            }, (0i32), []) -> (i32) {
          let x: i32 = xs[i]
          let y: i32 = loop (y_1: i32 = x) for j: i64 < 3i64 do {
            let z: i32 = add_i32(y_1, y_1)
            return z
          }
          return returns y
        }
    """
    if not reduction.light:
        return Declined(REPEATED)
    return True


def by_row(
    host: HostBuilder,
    reduction: Reduction,
    scanned: list[Array],
    sizes: tuple[Size, ...],
    rows: Size,
) -> None:
    """Each unit is a chunk of one row."""
    totals = replace(reduction, outs=[])
    if scan_in_one_pass.fires(reduction, host):
        units = cut_for_caches(host, sizes[:-1], sizes[-1], rows)
        scan_segments(host, reduction, units, scanned, rows)
        chained(host, (reduction, totals), units, scanned, rows * sizes[-1])
        return
    units = cut(host, sizes[:-1], sizes[-1], ONE)
    first = replace(reduction, operands_out=scanned)
    partials = reduce_units(host, first, units, always=True)
    chunked = [per_chunk(p, rows, units) for p in partials]
    prefixes(host, reduction, units, chunked, rows)
    k = host.kernel("scan")
    with each_unit(k, units, (*units.segments, units.chunks)) as (unit, at, _):
        rescan_unit(k, totals, units, (unit, at), partials, scanned)
    host.launch(k, units.groups, 1)


def cut_for_caches(
    host: HostBuilder, segments: tuple[Size, ...], length: Size, rows: Size
) -> Units:
    """Units that stay in the caches; whole segments if there are enough of them."""
    cores = host.cores()
    few = minimum(ONE, cores * SEGMENTS_PER_CORE // maximum(ONE, rows))
    chunks = host.let_size(maximum(ONE, length // IN_CACHE * few), "chunks")
    part = ceil_div(ceil_div(length, chunks), ALIGNMENT) * ALIGNMENT
    part = host.let_size(part, "part")
    count = host.let_size(rows * chunks, "units")
    each = ceil_div(rows, cores * GROUPS_PER_CORE)
    each = host.let_size(maximum(ONE, each), "each")
    groups = host.let_size(ceil_div(rows, each), "groups")
    return Units(segments, length, chunks, part, count, groups, each)


def scan_segments(
    host: HostBuilder,
    reduction: Reduction,
    units: Units,
    scanned: list[Array],
    rows: Size,
) -> None:
    """Scan whole segments, when each is a single chunk."""
    k = host.kernel("scan_segments")
    length = k.size_value(units.length)
    with each_unit(k, units, units.segments) as (_, at, _):
        state = State(k, reduction.operators)
        state.reset()
        segment = (at.indices, kc.Literal(0, kc.LONG), length)
        scan_stretch(k, reduction, state, segment, scanned, rows * units.length)
    host.launch(k, units.groups * (ONE - units.several), 1)


def rescan_unit(
    k: KernelBuilder,
    reduction: Reduction,
    units: Units,
    place: tuple[kc.Variable, Odometer],
    partials: list[Array],
    scanned: list[Array],
) -> None:
    """Scan one unit, whose operands are in `scanned`."""
    unit, odometer = place
    segment, chunk = odometer.indices[:-1], odometer.indices[-1]
    state = State(k, reduction.operators)
    state.reset()
    with k.branch(chunk > 0):
        state.load(partials, (k.named(unit - 1, "before"),))
    first, last = bounds(k, units, chunk)
    with k.loop("i", last, first) as index:
        position = (*segment, index)
        at = tuple(Size.of(i.name) for i in position)
        state.combine([element_or_row(k, array.row(at)) for array in scanned])
        state.save(scanned, position)


def element_or_row(k: KernelBuilder, view: Array) -> Value:
    """The element of an array of rank 0, in a variable; else the array."""
    return view if view.rank else k.declare("value", k.read(view, ()))


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
