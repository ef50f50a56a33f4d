"""Register nests under the CPU schedule: named vectors, loaded and stored once.

    let mine = acc[y, x]                            float16 mine_0_0 = .., mine_0_1, ..;
    let sums = loop (sums_1 = mine) for k < n do    for (k ..) {
      segmap register (i < ry, j < rx) {..}             mine_0_0 = mine_0_0 + u * v_0;
    return returns sums                             }   .. = mine_0_0; ..

The innermost index runs over lanes: 16 where that many elements are no more than 64
bytes and divide the width of the nest, which is decided when the kernel is built, else
fewer. Tiles that live in the result (see `ir.held_tiles`) and cross its edge go
through a small private buffer, and threads beyond the edge do nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minifut.ir import core
from minifut.ir.core import Param, Stm
from minifut.ir.kernels import REGISTER, Parameter, Returns, SegMap
from minifut.ir.sizes import Size, ceil_div, minimum
from minifut.ir.traverse import walk
from minifut.ir.types import ArrayType, ScalarType, element_of
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.threads.builder import NotInKernel
from minifut.kernel_code.threads.register_tiles import RegisterTile, each_register
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise import NotVectorisable
from minifut.kernel_passes.vectorise.loops import vectorise_nest
from minifut.kernel_passes.vectorise.rule import LoopSite
from minifut.kernel_passes.vectorise.vectors import VectorOperations
from minifut.names import Name
from minifut.rewrite.rule import Declined

if TYPE_CHECKING:
    from minifut.kernel_code.cpu.group import WorkerBuilder

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
            most = min(most, *[LARGEST_VECTOR // register_bytes(t) for t in types])
    return [most, most // 2, 1] if most > 2 else [1]


def register_bytes(type_: ScalarType) -> int:
    """How much of a vector a value takes: truth values are masks, halves floats."""
    return 4 if type_.name in ("bool", "f16") else type_.bytes


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
    counts = vectors(k, sizes)
    tiles = []
    for bound, type_ in zip(stm.pattern, exp.types, strict=True):
        if not isinstance(type_, ScalarType):
            raise NotInKernel("a register nest of arrays")
        tiles.append(new_tile(k, vector_type(k, type_), counts, bound.name.base))
    scope = k.reassociate() if k.in_reduction else k.scope()
    with each_register(k, counts) as at, scope:
        k.registers.update(zip(exp.space.indices, at, strict=True))
        for name, register in zip(exp.space.indices, at, strict=True):
            k.bind(name, kc.SizeValue(Size.of(register)))
        if lanes == 1:
            nest_body(k, exp, tiles, at)
        else:
            index = k.variable("j", kc.LONG)
            k.bind(exp.space.indices[-1], index)
            with k.nested() as body:
                nest_body(k, exp, tiles, at)
            first = kc.SizeValue(Size.of(at[-1]) * lanes)
            numbers = frozenset(
                tile.family
                for tile in map(k.values.get, k.numbers)
                if isinstance(tile, RegisterTile)
            )
            one = kc.Literal(1, kc.LONG)
            loop = kc.For(index, first, first + lanes, one, kc.Block(tuple(body)))
            outcome = vectorise_nest(
                loop,
                LoopSite(k, (lanes,), governing=governing(k, sizes), numbers=numbers),
            )
            if isinstance(outcome, Declined):
                raise NotVectorisable(outcome.reason)
            k.statements.extend(outcome or ())
    for bound, tile in zip(stm.pattern, tiles, strict=True):
        k.bind(bound.name, tile)


def governing(k: WorkerBuilder, sizes: tuple[Size, ...]) -> tuple[Parameter, ...]:
    """The parameters that decide how many lanes fit the innermost size."""
    constants = k.host.build_constants
    return tuple(constants[n] for n in sizes[-1].names() if n in constants)


def nest_body(
    k: WorkerBuilder, exp: SegMap, tiles: list[RegisterTile], at: tuple[Name, ...]
) -> None:
    """The scalar body of one point."""
    k.in_nest = True
    k.statements_of(exp.body.statements)
    k.in_nest = False
    for tile, type_, result in zip(tiles, exp.types, exp.body.result, strict=True):
        assert isinstance(result, Returns) and isinstance(type_, ScalarType)
        point = kc.Register(tile.family, at, kc.VectorType(type_))
        k.assign(point, k.scalar(result.value))


def vectors(k: WorkerBuilder, shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """How many registers an array of a shape takes, per dimension."""
    return (*shape[:-1], shape[-1] // k.lanes if k.lanes > 1 else shape[-1])


def vector_type(k: WorkerBuilder, element: ScalarType) -> kc.VectorType:
    """The type of a register."""
    return (
        kc.VectorType(element)
        if k.lanes == 1
        else VectorOperations(k.lanes).wide(element)
    )


def new_tile(
    k: WorkerBuilder, type_: kc.VectorType, counts: tuple[Size, ...], base: str
) -> RegisterTile:
    """Declare a family of vectors."""
    tile = RegisterTile(k.names.fresh(base), type_, counts)
    with each_register(k, counts) as at:
        k.emit(kc.Declare(tile.at(at)))
    return tile


def tile_for(k: WorkerBuilder, bound: Param) -> RegisterTile:
    """Registers for an array of the pattern."""
    assert isinstance(bound.type, ArrayType)
    counts = vectors(k, k.shape(bound.type))
    return new_tile(k, vector_type(k, bound.type.element), counts, bound.name.base)


def held_tile(k: WorkerBuilder, held: Held) -> RegisterTile:
    """Registers for the tile of a thread."""
    memory = held.view.memory
    counts = vectors(k, held.registers)
    return new_tile(k, vector_type(k, memory.element), counts, memory.name.base)


def read_in_nests(exp: SegMap, arrays: set[Name]) -> list[Name]:
    """Those of the arrays of a group whose elements the nests of a thread read."""
    found: dict[Name, None] = {}
    for node in walk(exp.body):
        is_read = isinstance(node, core.Index) and node.array in arrays
        if is_read and len(node.slice) > len(exp.space.indices):
            found[node.array] = None
    return list(found)


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
