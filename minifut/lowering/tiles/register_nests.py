"""Register nests under the CPU schedule: the tile of a thread in vectors.

    let mine = acc[y, x]                            float16 mine_0_0 = .., mine_0_1, ..;
    let sums = loop (sums_1 = mine) for k < n do    for (k ..) {
      segmap register (i < ry, j < rx) {..}             mine_0_0 = mine_0_0 + u * v_0;
    return returns sums                             }   .. = mine_0_0; ..

The innermost index runs over lanes. A nest is emitted once for each vector width of the
plan; the build of the kernel selects one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from minifut.ir.core import Param, Stm
from minifut.ir.kernels import Parameter, Returns, SegMap
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise import NotVectorisable
from minifut.kernel_passes.vectorise.context import LoopContext
from minifut.kernel_passes.vectorise.folds import vectorise_nest
from minifut.kernel_passes.vectorise.vectors import VectorOperations
from minifut.lowering.threads.builder import NotInKernel
from minifut.lowering.threads.register_tiles import RegisterTile, each_register
from minifut.names import Name
from minifut.rewrite.rule import Declined

if TYPE_CHECKING:
    from minifut.lowering.groups.cpu import WorkerBuilder


def emit_register_nest(k: WorkerBuilder, stm: Stm, exp: SegMap) -> None:
    """Copies of the body for the points of a nest, in lanes."""
    sizes = tuple(k.resolve(size) for size in exp.space.sizes)
    if not all(map(k.is_build_constant, sizes)):
        raise NotInKernel("a register nest whose size is not known when it is built")
    counts = vector_counts(k, sizes)
    tiles = []
    for bound, type_ in zip(stm.pattern, exp.types, strict=True):
        if not isinstance(type_, ScalarType):
            raise NotInKernel("a register nest of arrays")
        tiles.append(declare_tile(k, type_, counts, bound.name.base))
    scope = k.reassociate() if k.at.in_reduction else k.scope()
    with each_register(k, counts) as at, scope:
        registers = {**k.at.registers, **dict(zip(exp.space.indices, at, strict=True))}
        for name in exp.space.indices:
            k.bind(name, kc.SizeValue(Size.of(registers[name])))
        with k.inside(replace(k.at, registers=registers)):
            if k.lanes == 1:
                _emit_point(k, exp, tiles, at)
            else:
                _emit_lanes(k, exp, tiles, at, sizes)
    k.bind_all([p.name for p in stm.pattern], tiles)


def _emit_lanes(
    k: WorkerBuilder,
    exp: SegMap,
    tiles: list[RegisterTile],
    at: tuple[Name, ...],
    sizes: tuple[Size, ...],
) -> None:
    """The bodies of the points of one vector, vectorised."""
    lanes = k.lanes
    index = k.variable("j", kc.LONG)
    k.bind(exp.space.indices[-1], index)
    with k.nested() as body:
        _emit_point(k, exp, tiles, at)
    first = kc.SizeValue(Size.of(at[-1]) * lanes)
    bound_tiles = map(k.values.get, k.at.threads.nan_free)
    numbers = frozenset(t.family for t in bound_tiles if isinstance(t, RegisterTile))
    one = kc.Literal(1, kc.LONG)
    loop = kc.For(index, first, first + lanes, one, kc.Block(tuple(body)))
    governing = _governing(k, sizes)
    context = LoopContext(k, (lanes,), governing=governing, numbers=numbers)
    outcome = vectorise_nest(loop, context)
    if isinstance(outcome, Declined):
        raise NotVectorisable(outcome.reason)
    k.statements.extend(outcome or ())


def _governing(k: WorkerBuilder, sizes: tuple[Size, ...]) -> tuple[Parameter, ...]:
    """The parameters that decide how many lanes divide the innermost size."""
    constants = k.host.build.parameters
    return tuple(constants[n] for n in sizes[-1].names() if n in constants)


def _emit_point(
    k: WorkerBuilder, exp: SegMap, tiles: list[RegisterTile], at: tuple[Name, ...]
) -> None:
    """The scalar body of one point."""
    with k.inside(replace(k.at, in_nest=True)):
        k.statements_of(exp.body.statements)
    for tile, type_, result in zip(tiles, exp.types, exp.body.result, strict=True):
        assert isinstance(result, Returns) and isinstance(type_, ScalarType)
        point = kc.Register(tile.family, at, kc.VectorType(type_))
        k.assign(point, k.scalar(result.value))


def vector_counts(k: WorkerBuilder, shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """The number of vector registers of an array of a shape, per dimension."""
    return (*shape[:-1], shape[-1] // k.lanes if k.lanes > 1 else shape[-1])


def declare_tile(
    k: WorkerBuilder, element: ScalarType, counts: tuple[Size, ...], base: str
) -> RegisterTile:
    """Declare a family of vector registers."""
    lanes = k.lanes
    type_ = (
        kc.VectorType(element) if lanes == 1 else VectorOperations(lanes).wide(element)
    )
    tile = RegisterTile(k.names.fresh(base), type_, counts)
    with each_register(k, counts) as at:
        k.emit(kc.Declare(tile.at(at)))
    return tile


def tile_for(k: WorkerBuilder, bound: Param) -> RegisterTile:
    """Registers for an array of the pattern."""
    counts = vector_counts(k, k.shape(bound.type))
    return declare_tile(k, element_of(bound.type), counts, bound.name.base)
