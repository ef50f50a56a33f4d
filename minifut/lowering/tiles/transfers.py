"""Register tiles from and to memory, under the CPU schedule.

A tile of an accumulator may cross the edge of the result. A full-tile guard selects
vector loads and stores for full tiles; others go through a private buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minifut.ir.core import Atom
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, Size, ceil_div, minimum
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.types import STREAMABLE
from minifut.kernel_passes.vectorise.vectors import VectorOperations, stored_type
from minifut.lowering.groups.results import TileExtent
from minifut.lowering.index_functions import Array
from minifut.lowering.segmap.streaming import is_large
from minifut.lowering.threads.register_tiles import RegisterTile, each_register
from minifut.lowering.tiles.plan import FirstIteration
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.lowering.groups.cpu import WorkerBuilder


@immutable
class AccumulatorTile:
    """The tiles of a group, [block]..[register].., as a `view` of the result, which has
    so many elements in all.

    `remaining` are the elements from the start of the group to the end of the result,
    per dimension.
    """

    view: Array
    remaining: tuple[Size, ...]
    registers: tuple[Size, ...]
    elements: Size


def accumulator_tile(
    k: WorkerBuilder, output: Array, extents: Sequence[TileExtent]
) -> AccumulatorTile:
    """The tiles of a group as a view of the result."""
    kept: list[tuple[TileExtent, Size]] = []
    remaining = []
    offset = output.offset
    for extent, stride in zip(extents, output.strides, strict=True):
        offset = offset + extent.start * stride
        if not extent.is_single:
            kept.append((extent, stride))
            rest = k.size_value(extent.total - extent.start)
            remaining.append(k.as_size(k.named(rest, "remaining")))
    offset = k.as_size(k.named(k.size_value(offset), "corner"))
    blocks = tuple(extent.block for extent, _ in kept)
    registers = tuple(extent.register for extent, _ in kept)
    outer = tuple(extent.register * stride for extent, stride in kept)
    inner = tuple(stride for _, stride in kept)
    view = Array(output.memory, (*blocks, *registers), offset, (*outer, *inner))
    return AccumulatorTile(view, tuple(remaining), registers, output.count)


def threads_inside(
    tiles: list[AccumulatorTile], sizes: tuple[Size, ...]
) -> tuple[Size, ...]:
    """The number of threads with any part of the results, per dimension."""
    limits = list(sizes)
    for tile in tiles:
        limits = [
            minimum(limit, ceil_div(rest, size))
            for limit, rest, size in zip(
                limits, tile.remaining, tile.registers, strict=True
            )
        ]
    return tuple(limits)


def element_indices(tile: RegisterTile, at: tuple[Name, ...]) -> tuple[Size, ...]:
    """The indices of the first element of one of the vectors."""
    indices = [Size.of(name) for name in at]
    return (*indices[:-1], indices[-1] * tile.type.lanes)


def load_tile(k: WorkerBuilder, tile: RegisterTile, source: Array) -> None:
    """Load all vectors of a tile from an array of its shape."""
    with each_register(k, tile.counts) as at:
        where = element_indices(tile, at)
        lanes, memory = tile.type.lanes, source.memory
        if lanes == 1:
            k.assign(tile.at(at), k.read(source, where))
            return
        type_ = kc.VectorType(stored_type(memory), lanes)
        value: kc.Expression
        if source.strides[-1] == ONE:
            k.use(memory)
            place = k.size_value(source.position(where))
            value = kc.Load(memory, place, type_)
        else:
            parts = tuple(
                k.read(source, (*where[:-1], where[-1] + lane)) for lane in range(lanes)
            )
            value = kc.Vector(parts, type_)
        k.assign(tile.at(at), VectorOperations(lanes).from_memory(memory, value))


def store_tile(
    k: WorkerBuilder, target: Array, tile: RegisterTile, streaming: bool = False
) -> None:
    """Store all vectors of a tile to an array of its shape."""
    with each_register(k, tile.counts) as at:
        where = element_indices(tile, at)
        lanes, memory = tile.type.lanes, target.memory
        value: kc.Expression = tile.at(at)
        if lanes > 1:
            value = VectorOperations(lanes).to_memory(memory, value)
        if lanes == 1 or target.strides[-1] == ONE:
            k.store(memory, target.position(where), value, streaming)
            return
        for lane in range(lanes):
            part = kc.Component(value, lane, kc.VectorType(value.type.scalar))
            place = target.position((*where[:-1], where[-1] + lane))
            k.store(memory, place, part)


def full_tile_guard(
    k: WorkerBuilder, accumulator: AccumulatorTile, at: tuple[Size, ...]
) -> kc.Expression:
    """Whether the whole tile of a thread is inside the result."""
    sides = zip(accumulator.registers, accumulator.remaining, at, strict=True)
    fits = (
        k.size_value(i * size + size) <= k.size_value(rest) for size, rest, i in sides
    )
    return k.named(kc.all_of(fits), "full")


def elements_inside(
    k: WorkerBuilder, accumulator: AccumulatorTile, at: tuple[Size, ...]
) -> tuple[Size, ...]:
    """The elements of the tile of a thread inside the result, per dimension."""
    return tuple(
        k.as_size(k.named(k.size_value(minimum(size, rest - i * size)), "inside"))
        for size, rest, i in zip(
            accumulator.registers, accumulator.remaining, at, strict=True
        )
    )


def edge_buffer(k: WorkerBuilder, accumulator: AccumulatorTile) -> Array:
    """Private memory for a whole tile."""
    return k.edge_array(accumulator.view.memory.element, accumulator.registers)


def load_accumulator(
    k: WorkerBuilder,
    tile: RegisterTile,
    accumulator: AccumulatorTile,
    at: tuple[Size, ...],
    first: FirstIteration | None,
) -> None:
    """Load the tile of a thread from the result; in the `first` iteration fill it."""
    source = accumulator.view.row(at)
    full = full_tile_guard(k, accumulator, at)

    def from_memory() -> None:
        with k.branch(full):
            load_tile(k, tile, source)
        with k.otherwise():
            buffer = edge_buffer(k, accumulator)
            k.each(
                elements_inside(k, accumulator, at),
                lambda i: k.write(buffer, i, k.read(source, i)),
            )
            load_tile(k, tile, buffer)

    if first is None:
        from_memory()
        return
    with k.branch(k.scalar(first.index).equals(0)):
        value = k.scalar(first.start)
        lanes = tile.type.lanes
        with each_register(k, tile.counts) as registers:
            whole = VectorOperations(lanes).broadcast(value) if lanes > 1 else value
            k.assign(tile.at(registers), whole)
    with k.otherwise():
        from_memory()


def fill_accumulator(
    k: WorkerBuilder, accumulator: AccumulatorTile, value: kc.Expression
) -> None:
    """Store a constant in the elements of the tiles of a group, one by one: what loops
    without iterations leave there, so that few lines of code count, not speed."""
    view, rank = accumulator.view, len(accumulator.registers)
    sides = zip(
        view.shape[:rank], accumulator.registers, accumulator.remaining, strict=True
    )
    extents = tuple(minimum(block * register, rest) for block, register, rest in sides)
    target = Array(view.memory, extents, view.offset, view.strides[rank:])
    k.each(extents, lambda at: k.write(target, at, value))


def streaming_guard(
    k: WorkerBuilder, accumulator: AccumulatorTile, at: tuple[Size, ...], rounds: Atom
) -> kc.Expression | None:
    """Whether the tile of a thread is stored around the caches: its loop runs once, the
    result is large, and vectors are aligned; None if that is known not to be."""
    target, lanes = accumulator.view.row(at), k.lanes
    memory = target.memory
    if lanes == 1 or target.strides[-1] != ONE or memory.element not in STREAMABLE:
        return None
    wanted = [is_large(k, accumulator.elements, memory.element.bytes)]
    wanted.append(k.scalar(rounds).equals(1))
    for step in (target.offset, *target.strides[:-1]):
        wanted.append((k.size_value(step) % lanes).equals(0))
    return k.named(kc.all_of(wanted), "streams")


def prefetch_accumulator(
    k: WorkerBuilder, accumulator: AccumulatorTile, at: tuple[Size, ...]
) -> None:
    """Prefetch the tile of a thread, which is stored after all steps of a block: a
    batch of products of 256 x 256 takes 0.94 of the time."""
    target, lanes = accumulator.view.row(at), k.lanes
    if lanes > 1 and target.strides[-1] == ONE:
        *rows, row = accumulator.registers
        with each_register(k, (*rows, row // lanes)) as registers:
            *outer, last = (Size.of(name) for name in registers)
            place = target.position((*outer, last * lanes))
            k.emit(kc.Prefetch(target.memory, k.size_value(place)))


def store_accumulator(
    k: WorkerBuilder,
    accumulator: AccumulatorTile,
    at: tuple[Size, ...],
    tile: RegisterTile,
    streams: kc.Expression | None = None,
) -> None:
    """Store the part of the tile of a thread that is inside the result."""
    target = accumulator.view.row(at)
    with k.branch(full_tile_guard(k, accumulator, at)):
        if streams is None:
            store_tile(k, target, tile)
        else:
            with k.branch(streams):
                store_tile(k, target, tile, streaming=True)
            with k.otherwise():
                store_tile(k, target, tile)
    with k.otherwise():
        buffer = edge_buffer(k, accumulator)
        store_tile(k, buffer, tile)
        k.each(
            elements_inside(k, accumulator, at),
            lambda i: k.write(target, i, k.read(buffer, i)),
        )
