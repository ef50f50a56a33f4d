"""Register nests under the CPU schedule: named vectors, loaded and stored once.

    let mine = acc[y, x]                            float16 mine_0_0 = .., mine_0_1, ..;
    let sums = loop (sums_1 = mine) for k < n do    for (k ..) {
      segmap register (i < ry, j < rx) {..}             mine_0_0 = mine_0_0 + u * v_0;
    return returns sums                             }   .. = mine_0_0; ..

The innermost index runs over lanes: 16 where that many elements are no more than 64
bytes and divide the width of the nest, which is decided when the kernel is built, else
fewer. Tiles that live in the result (see `held_tiles`) and cross its edge go through a
small private buffer, and threads beyond the edge do nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minifut.ir import core
from minifut.ir.core import Param, Stm
from minifut.ir.kernels import REGISTER, Returns, SegMap
from minifut.ir.sizes import ONE, Size, ceil_div, minimum
from minifut.ir.traverse import walk
from minifut.ir.types import ArrayType, ScalarType, element_of
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.lanes_cpu import Lanes, liftable
from minifut.kernel_code.lower_kernel import NotInKernel
from minifut.kernel_code.register_tiles import Tile, each_register
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.kernel_code.group_cpu import WorkerBuilder

LARGEST_VECTOR = 64
"""bytes"""


@dataclass(slots=True)
class Held:
    """An array of register tiles, [block]..[register].., that lives in the result.

    `remaining` are the elements from the start of the group to the end of the result,
    per dimension. In the first round of the loop over `index`, tiles are `initial`
    without having been written.
    """

    view: Array
    remaining: tuple[Size, ...]
    registers: tuple[Size, ...]
    initial: core.Atom | None = None
    index: Name | None = None


def has_register_nest(exp: object) -> bool:
    """Whether tiles are made somewhere inside."""
    return any(isinstance(n, SegMap) and n.level == REGISTER for n in walk(exp))


# --- how many lanes -------------------------------------------------------------------


def widths(exp: SegMap) -> list[int]:
    """The numbers of lanes worth trying for the nests inside, most first."""
    most = 16
    for node in walk(exp):
        if isinstance(node, SegMap) and node.level == REGISTER:
            types = [element_of(t) for t in node.types]
            for inner in walk(node.body):
                if isinstance(inner, Stm) and isinstance(inner.exp, core.ScalarOp):
                    types += [p.type for p in inner.pattern
                              if isinstance(p.type, ScalarType)]  # fmt: skip
            if not all(map(liftable, types)):
                return [1]
            most = min(most, *[LARGEST_VECTOR // t.bytes for t in types])
    return [lanes for lanes in (16, 8, 4) if lanes <= most] + [1]


def innermost(exp: SegMap) -> set[Size]:
    """The widths of the nests inside."""
    return {
        node.space.sizes[-1]
        for node in walk(exp)
        if isinstance(node, SegMap) and node.level == REGISTER
    }


def lower_register_segmap(k: WorkerBuilder, stm: Stm, exp: SegMap) -> None:
    """Copies of the body for the points of a nest, in lanes."""
    sizes = tuple(k.resolve(size) for size in exp.space.sizes)
    if not all(map(k.is_build_constant, sizes)):
        raise NotInKernel("a register nest whose size is not known when it is built")
    lanes = k.lanes
    counts = (*sizes[:-1], sizes[-1] // lanes if lanes > 1 else sizes[-1])
    tiles = []
    for bound, type_ in zip(stm.pattern, exp.types, strict=True):
        if not isinstance(type_, ScalarType):
            raise NotInKernel("a register nest of arrays")
        tiles.append(new_tile(k, kc.VectorType(type_, lanes), counts, bound.name.base))
    scope = k.reassociate() if k.in_reduction else k.scope()
    with each_register(k, counts) as at, scope:
        registers = dict(zip(exp.space.indices, at, strict=True))
        k.registers.update(registers)
        body = Lanes(k, lanes, registers)
        for name, index in zip(exp.space.indices, at, strict=True):
            k.bind(name, kc.SizeValue(Size.of(index)))
        if lanes > 1:
            last = Size.of(at[-1]) * lanes + Size.of(body.lane)
            k.bind(exp.space.indices[-1], kc.SizeValue(last))
            body.statements(exp.body.statements)
        else:
            k.statements_of(exp.body.statements)
        for tile, result in zip(tiles, exp.body.result, strict=True):
            assert isinstance(result, Returns)
            value = k.scalar(result.value)
            k.assign(tile.at(at), body.vector(value) if lanes > 1 else value)
    for bound, tile in zip(stm.pattern, tiles, strict=True):
        k.bind(bound.name, tile)


def new_tile(
    k: WorkerBuilder, type_: kc.VectorType, counts: tuple[Size, ...], base: str
) -> Tile:
    """Declare a family of vectors."""
    tile = Tile(k.names.fresh(base), type_, counts)
    with each_register(k, counts) as at:
        k.emit(kc.Declare(tile.at(at)))
    return tile


def tile_for(k: WorkerBuilder, bound: Param) -> Tile:
    """Registers for an array of the pattern."""
    assert isinstance(bound.type, ArrayType)
    shape = k.shape(bound.type)
    lanes = k.lanes
    counts = (*shape[:-1], shape[-1] // lanes if lanes > 1 else shape[-1])
    return new_tile(
        k, kc.VectorType(bound.type.element, lanes), counts, bound.name.base
    )


def held_tile(k: WorkerBuilder, held: Held) -> Tile:
    """Registers for the tile of a thread."""
    *outer, last = held.registers
    counts = (*outer, last // k.lanes if k.lanes > 1 else last)
    type_ = kc.VectorType(held.view.memory.element, k.lanes)
    return new_tile(k, type_, counts, held.view.memory.name.base)


def read_in_nests(exp: SegMap, arrays: set[Name]) -> list[Name]:
    """Those of the arrays of a group whose elements the nests of a thread read."""
    found: dict[Name, None] = {}
    for node in walk(exp.body):
        is_read = isinstance(node, core.Index) and node.array in arrays
        if is_read and len(node.slice) > len(exp.space.indices):
            found[node.array] = None
    return list(found)


# --- memory ---------------------------------------------------------------------------


def element_place(tile: Tile, at: tuple[Name, ...]) -> tuple[Size, ...]:
    """The indices of the first element of one of the vectors."""
    indices = [Size.of(name) for name in at]
    return (*indices[:-1], indices[-1] * tile.type.lanes)


def load_tile(k: WorkerBuilder, tile: Tile, source: Array) -> None:
    """All vectors of a tile from an array of its shape."""
    with each_register(k, tile.counts) as at:
        where = element_place(tile, at)
        lanes = tile.type.lanes
        if lanes == 1:
            k.assign(tile.at(at), k.read(source, where))
        elif source.strides[-1] == ONE:
            value = k.load(source.memory, source.position(where), lanes)
            k.assign(tile.at(at), value)
        else:
            parts = tuple(
                k.read(source, (*where[:-1], where[-1] + lane)) for lane in range(lanes)
            )
            k.assign(tile.at(at), kc.Vector(parts, tile.type))


def store_tile(k: WorkerBuilder, target: Array, tile: Tile) -> None:
    """All vectors of a tile to an array of its shape."""
    with each_register(k, tile.counts) as at:
        where = element_place(tile, at)
        lanes, value = tile.type.lanes, tile.at(at)
        if lanes == 1 or target.strides[-1] == ONE:
            k.store(target.memory, target.position(where), value)
            return
        for lane in range(lanes):
            part = kc.Component(value, lane, kc.VectorType(tile.type.scalar))
            place = target.position((*where[:-1], where[-1] + lane))
            k.store(target.memory, place, part)


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
    k: WorkerBuilder, tile: Tile, held: Held, at: tuple[Size, ...], first: bool
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
            whole = kc.Vector((value,), tile.type) if tile.type.lanes > 1 else value
            k.assign(tile.at(registers), whole)
    with k.otherwise():
        from_memory()


def store_held(k: WorkerBuilder, held: Held, at: tuple[Size, ...], tile: Tile) -> None:
    """The tile of a thread to the result, as far as that goes."""
    target = held.view.row(at)
    with k.branch(k.named(is_full(k, held, at), "full")):
        store_tile(k, target, tile)
    with k.otherwise():
        buffer = edge_buffer(k, held)
        store_tile(k, buffer, tile)
        k.each(inside(k, held, at), lambda i: k.write(target, i, k.read(buffer, i)))


def threads_inside(held: list[Held], sizes: tuple[Size, ...]) -> tuple[Size, ...]:
    """How many threads have any part of the results, per dimension."""
    limits = list(sizes)
    for each in held:
        limits = [
            minimum(limit, ceil_div(rest, size))
            for limit, rest, size in zip(
                limits, each.remaining, each.registers, strict=True
            )
        ]
    return tuple(limits)


def wanted_tiles(exp: SegMap, tiles: frozenset[Name]) -> set[Name]:
    """The arrays that a thread looks up only to start a tile from, or to read in its
    nests: they are loaded as tiles."""
    found: set[Name] = set()
    for node in walk(exp.body):
        match node:
            case core.Loop():
                for bound, atom in zip(node.parameters, node.initial, strict=True):
                    if bound.name in tiles and isinstance(atom, Name):
                        found.add(atom)
            case SegMap(level, space, body, _) if level == REGISTER:
                for read in walk(body):
                    if isinstance(read, core.Index) and read.slice == space.indices:
                        found.add(read.array)
    return found
