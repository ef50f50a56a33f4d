"""Threads with register tiles under the CPU schedule: a loop over threads for each
width of vectors that the register nests may have.

    segmap thread (y < ty, x < tx) {..}       if RX % 16 == 0      (when it is built)
                                                  for (y ..) for (x ..) { float16 .. }
                                              else if RX % 8 == 0 ..
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minifut.ir import core, kernels
from minifut.ir.core import Param, Stm
from minifut.ir.node import replace
from minifut.ir.sizes import Size
from minifut.ir.traverse import walk
from minifut.ir.types import ScalarType
from minifut.kernel_code.cpu.direct_reads import PartArray
from minifut.kernel_code.cpu.least_and_greatest import running_extremes
from minifut.kernel_code.cpu.register_tiles import (
    Held,
    held_tile,
    innermost,
    read_in_nests,
    threads_inside,
    tile_for,
    wanted_tiles,
    widths,
)
from minifut.kernel_code.cpu.tile_layouts import PanelArray
from minifut.kernel_code.cpu.tile_memory import (
    ask_for_held,
    load_held,
    load_tile,
    store_held,
)
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.threads import code as thread_code
from minifut.kernel_code.threads import control
from minifut.kernel_code.threads.builder import NotInKernel
from minifut.kernel_code.threads.register_tiles import RegisterTile
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.rule import untraced
from minifut.kernel_passes.vectorise import NotVectorisable
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.kernel_code.cpu.group import WorkerBuilder


def lower_tiled_threads(k: WorkerBuilder, stm: Stm, exp: kernels.SegMap) -> None:
    """Choose among widths of vectors, which is done when the kernel is built."""
    if any(not isinstance(result, kernels.Returns) for result in exp.body.result):
        raise NotInKernel("threads with tiles that write elsewhere")
    name = stm.pattern[0].name if len(stm.pattern) == 1 else None
    if name in k.delayed and name not in k.postponed:
        k.postponed[name] = stm
        return
    outputs: list[Held | Array] = [
        k.held[bound.name] if bound.name in k.held else k.fresh(bound)
        for bound in stm.pattern
    ]
    k.wanted = wanted_tiles(exp, k.tiles)
    starts = {name: held.initial for name, held in k.held.items() if held.index}
    k.numbers |= running_extremes(exp, starts)
    widest = {k.resolve(size) for size in innermost(exp)}
    versions: list[tuple[int, kc.Block]] = []
    for lanes in widths(exp):
        if not all(_may_divide(size, lanes) for size in widest):
            continue
        k.lanes = lanes
        try:
            with k.nested() as body, untraced(k, bool(versions)):
                _threads(k, exp, outputs)
        except NotVectorisable as reason:
            if lanes == 1:
                raise NotInKernel(str(reason)) from None
            continue
        finally:
            k.lanes = 0
        versions.append((lanes, kc.Block(tuple(body))))
    chosen = versions[-1][1]
    for lanes, block in reversed(versions[:-1]):
        chosen = kc.Block((kc.StaticIf(_divides(k, widest, lanes), block, chosen),))
    k.statements.extend(chosen.statements)
    for bound, output in zip(stm.pattern, outputs, strict=True):
        if isinstance(output, Array):
            k.bind(bound.name, output)


def _may_divide(size: Size, lanes: int) -> bool:
    known = size.as_constant
    return known is None or known % lanes == 0


def _divides(k: WorkerBuilder, sizes: set[Size], lanes: int) -> kc.Expression:
    """Whether all sizes are multiples of the number of lanes."""
    test: kc.Expression = kc.Literal(True, kc.TRUTH)
    for size in sorted(sizes, key=str):
        whole = (k.size_value(size) % lanes).equals(0)
        test = kc.Binary("&&", test, whole, kc.TRUTH)
    return test


def _threads(
    k: WorkerBuilder, exp: kernels.SegMap, outputs: list[Held | Array]
) -> None:
    """Loops over the threads."""
    sizes = tuple(k.resolve(size) for size in exp.space.sizes)
    held = [output for output in outputs if isinstance(output, Held)]
    if len(held) == len(outputs):
        limits = [k.size_value(size) for size in threads_inside(held, sizes)]
        sizes = tuple(k.as_size(k.named(limit, "threads")) for limit in limits)

    def visit(at: tuple[Size, ...]) -> None:
        k.point = at
        for name, index in zip(exp.space.indices, at, strict=True):
            k.bind(name, k.size_value(index))
        k.loaded = {}
        for result in held if has_steps(exp) else ():
            ask_for_held(k, result, at)
        for array in read_in_nests(exp, set(k.held)):
            source = k.held[array]
            tile = held_tile(k, source)
            load_held(k, tile, source, at, first=False)
            k.loaded[array] = tile
        k.statements_of(exp.body.statements)
        for output, returned in zip(outputs, exp.body.result, strict=True):
            assert isinstance(returned, kernels.Returns)
            value = k.atom(returned.value)
            if not isinstance(output, Held):
                k.write(output, at, value)
            elif isinstance(value, RegisterTile):
                store_held(k, output, at, value)
            else:
                raise NotInKernel("a tile that is not in registers")

    k.each(sizes, visit)


def has_steps(exp: kernels.SegMap) -> bool:
    """Whether threads go through steps of the common dimension."""
    return any(isinstance(node, core.Loop) for node in walk(exp.body))


def lower_index(k: WorkerBuilder, stm: Stm, exp: core.Index) -> None:
    """A register of a tile, a whole tile, or an element in panels."""
    bound = stm.pattern[0]
    loaded = k.loaded.get(exp.array)
    if loaded is not None:
        bind_register(k, bound, loaded, exp.slice[len(k.point) :])
        return
    held = k.held.get(exp.array)
    if held is not None:
        tile = tile_for(k, bound)
        load_held(k, tile, held, k.point, first=held.index is not None)
        k.bind(bound.name, tile)
        return
    value = k.atom(exp.array)
    if isinstance(value, RegisterTile):
        bind_register(k, bound, value, exp.slice)
    elif isinstance(value, PanelArray | PartArray):
        indices = tuple(
            k.full_size(Size.of(part)) if isinstance(part, Name) else k.index(part)
            for part in exp.slice
            if not isinstance(part, core.DimSlice)
        )
        k.define(bound, k.load(value.memory, value.position(indices)))
    elif k.lanes and bound.name in k.wanted:
        assert isinstance(value, Array)
        tile = tile_for(k, bound)
        load_tile(k, tile, thread_code.sliced(k, value, exp.slice))
        k.bind(bound.name, tile)
    else:
        thread_code.RULES[core.Index](k, stm, exp)


def bind_register(
    k: WorkerBuilder, bound: Param, tile: RegisterTile, slice_: tuple[Any, ...]
) -> None:
    """The register of a tile at the point of the nest around."""
    at = tuple(k.registers[part] for part in slice_ if part in k.registers)
    whole = len(at) == len(tile.counts) == len(slice_)
    if not whole or not isinstance(bound.type, ScalarType):
        raise NotInKernel("a part of a register tile")
    k.bind(bound.name, kc.Register(tile.family, at, kc.VectorType(bound.type)))


def lower_size(k: WorkerBuilder, stm: Stm, exp: core.SizeExp) -> None:
    """A variable, whose meaning is kept for indices into panels; in nests only the
    latter."""
    name = stm.pattern[0].name
    k.sizes[name] = k.full_size(exp.size)
    if k.in_nest:
        k.bind(name, k.size_value(k.sizes[name]))
        return
    thread_code.RULES[core.SizeExp](k, stm, exp)


def lower_loop(k: WorkerBuilder, stm: Stm, exp: core.Loop) -> None:
    """Tiles that live in the result are not handed over by loops; loops that carry
    tiles in registers are the reduction of the tile."""
    carried = [p.name in k.held for p in exp.parameters]
    if not any(carried):
        before = k.in_reduction
        k.in_reduction = any(p.name in k.tiles for p in exp.parameters)
        control.lower_loop(k, stm, exp)
        k.in_reduction = before
        return
    index = exp.form.index if isinstance(exp.form, core.ForLoop) else None
    for parameter, initial in zip(exp.parameters, exp.initial, strict=True):
        postponed = k.postponed.get(initial) if isinstance(initial, Name) else None
        if postponed is None or initial not in k.delayed:
            continue
        held = k.held[parameter.name]
        if isinstance(exp.form, core.ForLoop):
            held.initial, held.index = k.delayed[initial], index
            with k.branch(k.scalar(exp.form.bound) <= 0):
                k.statements_of((postponed,))
        else:
            k.statements_of((postponed,))
    kept = [not held for held in carried]
    reduced = replace(
        exp,
        parameters=_only(exp.parameters, kept),
        initial=_only(exp.initial, kept),
        body=replace(exp.body, result=_only(exp.body.result, kept)),
    )
    control.lower_loop(k, replace(stm, pattern=_only(stm.pattern, kept)), reduced)
    for parameter in exp.parameters:
        if parameter.name in k.held:
            k.held[parameter.name].index = None


def _only(values: tuple[Any, ...], kept: list[bool]) -> tuple[Any, ...]:
    return tuple(v for v, keep in zip(values, kept, strict=True) if keep)
