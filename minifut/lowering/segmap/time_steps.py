"""Several steps of a stencil under the CPU schedule: overlapped tiles.

    for each block of rows [low, high)            of a worker, one after the other
        rows [low - 3r, high + 3r) of tile 0      from the array, r: the radius
        rows [low - 2r, high + 2r) of tile 1      from tile 0
        rows [low - r, high + r) of tile 0        from tile 1
        rows [low, high) of the result            from tile 0

What is not within the array is left out. A row is the elements with the same first
index. Each worker has tiles of its own, which stay in the second-level cache of its
core; rows beside a block are made by both of its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from minifut.ir.kernels import KernelBody, SegMap, TimeSteps
from minifut.ir.sizes import ONE, Size, ceil_div, maximum, minimum, product
from minifut.kernel_ir import nodes as kc
from minifut.lowering.cpu.partition import larger, smaller
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.segmap.cpu import Indices, PointKind, VisitIndices, points
from minifut.lowering.threads.builder import KernelBuilder

VisitPoint: TypeAlias = Callable[
    [KernelBuilder, KernelBody, list[Array], Indices], None
]
"""makes a point of arrays, by the body of a map"""
TILE_BYTES = 1 << 17
"""of a tile without the rows beside it: two fit the second-level cache of a core"""
FEWEST_ROWS = 16
"""rows of a block for each one of the radius: a fifth as many are made besides"""


def lower_steps(
    host: HostBuilder,
    base: str,
    operation: SegMap,
    steps: TimeSteps,
    output: Array,
    visit: VisitPoint,
) -> None:
    """Launch one kernel that makes all steps."""
    shape = host.sizes(operation.space.sizes)
    element, source = output.memory.element, host.array(steps.array)
    beside = steps.radius * (steps.count - 1)
    least = Size.constant(FEWEST_ROWS * steps.radius)
    fitting = Size.constant(TILE_BYTES // element.bytes)
    fitting = fitting // maximum(ONE, product(shape[1:]))
    block = host.let_size(maximum(least, fitting), "block")
    units, workers = units_of(host, ceil_div(shape[0], block))
    tall = block + 2 * beside
    tiles = [host.allocate(element, (workers, tall, *shape[1:]), "tile") for _ in "ab"]
    k = host.kernel(base)
    with own_units(k, units, workers) as (worker, unit):
        own = [tile.row((k.as_size(worker),)) for tile in tiles]
        height = k.size_value(shape[0])
        low = k.declare("low", unit * k.size_value(block))
        high = k.declare("high", smaller(low + k.size_value(block), height))
        before = source
        for step in reversed(range(steps.count)):
            zero = kc.Literal(0, kc.LONG)
            top = k.declare("top", larger(low - step * steps.radius, zero))
            bottom = k.declare("bottom", smaller(high + step * steps.radius, height))
            made = _from_row(k, own[step % 2], top) if step else output
            k.bind(steps.array, before)
            made_here = partial(_visit, visit, operation.body, made)
            _rows(k, shape, (top, bottom), made_here)
            before = made
    host.launch(k, workers, 1)


def units_of(host: HostBuilder, count: Size) -> tuple[Size, Size]:
    """The number of blocks and of those who work on them."""
    units = host.let_size(count, "units")
    return units, host.let_size(minimum(units, host.cores()), "workers")


@contextmanager
def own_units(
    k: KernelBuilder, units: Size, workers: Size
) -> Iterator[tuple[kc.Variable, kc.Variable]]:
    """The loop of a worker over its blocks: gives the numbers of both."""
    worker = k.declare("worker", k.identity("get_global_id"))
    each, count = k.size_value(units), k.size_value(workers)
    last = k.declare("last", (worker + 1) * each // count)
    with k.loop("unit", last, worker * each // count) as unit:
        yield worker, unit


def _visit(
    visit: VisitPoint, body: KernelBody, made: Array, k: KernelBuilder, at: Indices
) -> None:
    visit(k, body, [made], at)


def _from_row(k: KernelBuilder, tile: Array, first: kc.Variable) -> Array:
    """The rows of a tile by the indices that they have in the array."""
    offset = tile.offset - k.as_size(first) * tile.strides[0]
    return replace(tile, offset=k.as_size(k.declare("origin", k.size_value(offset))))


def _rows(
    k: KernelBuilder,
    shape: tuple[Size, ...],
    ends: tuple[kc.Variable, kc.Variable],
    visit: VisitIndices,
    outer: Indices = (),
) -> None:
    """The points of rows from the first of `ends` to before the last."""
    first, last = ends
    zero = kc.Literal(0, kc.LONG)
    depth = len(outer)
    start, stop = (zero, k.size_value(shape[depth])) if outer else (first, last)
    if depth == len(shape) - 1:
        index = k.variable("j", kc.LONG)
        points(k, index, start, stop, (*outer, index), visit, PointKind(True, False))
        return
    with k.loop("i", stop, start) as index:
        _rows(k, shape, ends, visit, (*outer, index))
