"""Register tiles from and to memory, under the CPU schedule.

Tiles that live in the result (`Held`) and cross its edge go through a small private
buffer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.sizes import ONE, Size, minimum
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.threads.register_tiles import RegisterTile, each_register
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.vectors import VectorOperations, stored_type
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.kernel_code.cpu.group import WorkerBuilder
    from minifut.kernel_code.cpu.register_tiles import Held


def in_lanes(k: WorkerBuilder) -> VectorOperations:
    """How vectors of registers are made and stored."""
    return VectorOperations(k.lanes)


def element_place(tile: RegisterTile, at: tuple[Name, ...]) -> tuple[Size, ...]:
    """The indices of the first element of one of the vectors."""
    indices = [Size.of(name) for name in at]
    return (*indices[:-1], indices[-1] * tile.type.lanes)


def load_tile(k: WorkerBuilder, tile: RegisterTile, source: Array) -> None:
    """All vectors of a tile from an array of its shape."""
    with each_register(k, tile.counts) as at:
        where = element_place(tile, at)
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
        k.assign(tile.at(at), in_lanes(k).from_memory(memory, value))


def store_tile(k: WorkerBuilder, target: Array, tile: RegisterTile) -> None:
    """All vectors of a tile to an array of its shape."""
    with each_register(k, tile.counts) as at:
        where = element_place(tile, at)
        lanes, memory = tile.type.lanes, target.memory
        value: kc.Expression = tile.at(at)
        if lanes > 1:
            value = in_lanes(k).to_memory(memory, value)
        if lanes == 1 or target.strides[-1] == ONE:
            k.store(memory, target.position(where), value)
            return
        for lane in range(lanes):
            part = kc.Component(value, lane, kc.VectorType(value.type.scalar))
            place = target.position((*where[:-1], where[-1] + lane))
            k.store(memory, place, part)


def inside(k: WorkerBuilder, held: Held, at: tuple[Size, ...]) -> tuple[Size, ...]:
    """How many elements of the tile of a thread lie inside the result."""
    return tuple(
        k.as_size(k.named(k.size_value(minimum(size, rest - i * size)), "inside"))
        for size, rest, i in zip(held.registers, held.remaining, at, strict=True)
    )


def is_full(k: WorkerBuilder, held: Held, at: tuple[Size, ...]) -> kc.Expression:
    """Whether all of the tile of a thread lies inside the result."""
    test: kc.Expression = kc.Literal(True, kc.TRUTH)
    for size, rest, i in zip(held.registers, held.remaining, at, strict=True):
        fits = k.size_value(i * size + size) <= k.size_value(rest)
        test = fits if isinstance(test, kc.Literal) else kc.Binary(
            "&&", test, fits, kc.TRUTH
        )  # fmt: skip
    return test


def edge_buffer(k: WorkerBuilder, held: Held) -> Array:
    """Private memory for a whole tile."""
    shape = held.registers
    return k.edge_array(held.view.memory.element, shape)


def load_held(
    k: WorkerBuilder, tile: RegisterTile, held: Held, at: tuple[Size, ...], first: bool
) -> None:
    """The tile of a thread from the result, or what it is at first."""
    source = held.view.row(at)
    full = k.named(is_full(k, held, at), "full")

    def from_memory() -> None:
        with k.branch(full):
            load_tile(k, tile, source)
        with k.otherwise():
            buffer = edge_buffer(k, held)
            k.each(
                inside(k, held, at),
                lambda i: k.write(buffer, i, k.read(source, i)),
            )
            load_tile(k, tile, buffer)

    if not first or held.initial is None or held.index is None:
        from_memory()
        return
    with k.branch(k.scalar(held.index).equals(0)):
        value = k.scalar(held.initial)
        with each_register(k, tile.counts) as registers:
            whole = in_lanes(k).broadcast(value) if tile.type.lanes > 1 else value
            k.assign(tile.at(registers), whole)
    with k.otherwise():
        from_memory()


def ask_for_held(k: WorkerBuilder, held: Held, at: tuple[Size, ...]) -> None:
    """Prefetch the tile of a thread, which is stored after all steps of a block: a
    batch of products of 256 x 256 takes 0.94 of the time."""
    target, lanes = held.view.row(at), k.lanes
    if lanes > 1 and target.strides[-1] == ONE:
        counts = (*held.registers[:-1], held.registers[-1] // lanes)
        with each_register(k, counts) as registers:
            *outer, last = (Size.of(name) for name in registers)
            place = target.position((*outer, last * lanes))
            k.emit(kc.Prefetch(target.memory, k.size_value(place)))


def store_held(
    k: WorkerBuilder, held: Held, at: tuple[Size, ...], tile: RegisterTile
) -> None:
    """The tile of a thread to the result, as far as that goes."""
    target = held.view.row(at)
    with k.branch(k.named(is_full(k, held, at), "full")):
        store_tile(k, target, tile)
    with k.otherwise():
        buffer = edge_buffer(k, held)
        store_tile(k, buffer, tile)
        k.each(inside(k, held, at), lambda i: k.write(target, i, k.read(buffer, i)))
