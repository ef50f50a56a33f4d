"""Emission of threads with register tiles: a loop over threads for each vector width of
the plan.

    segmap thread (y < ty, x < tx) {..}       if RX % 16 == 0      (when it is built)
                                                  for (y ..) for (x ..) { float16 .. }
                                              else if RX % 8 == 0 ..
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minifut.ir import core, kernels
from minifut.ir.core import Param, Stm
from minifut.ir.node import flagged
from minifut.ir.node import replace as replace_node
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise import NotVectorisable
from minifut.lowering.index_functions import Array
from minifut.lowering.packing.packed_arrays import InPlaceArray, PanelArray
from minifut.lowering.threads import code as thread_code
from minifut.lowering.threads import control
from minifut.lowering.threads.builder import NotInKernel
from minifut.lowering.threads.register_tiles import RegisterTile
from minifut.lowering.tiles import transfers
from minifut.lowering.tiles.plan import ThreadPlan
from minifut.lowering.tiles.register_nests import declare_tile, tile_for, vector_counts
from minifut.names import Name
from minifut.rewrite.trace import untraced

if TYPE_CHECKING:
    from minifut.lowering.groups.cpu import WorkerBuilder


def emit_threads(k: WorkerBuilder, stm: Stm, plan: ThreadPlan) -> None:
    """Code for each vector width, of which the build of the kernel selects one; widths
    for which there is no vector code are left out."""
    outputs: list[transfers.AccumulatorTile | Array] = [
        k.accumulators[bound.name] if bound.name in k.accumulators else k.fresh(bound)
        for bound in stm.pattern
    ]
    versions: list[tuple[int, kc.Block]] = []
    for lanes in plan.widths:
        try:
            with (
                k.inside(replace(k.at, threads=plan, lanes=lanes)),
                k.nested() as body,
                untraced(k, bool(versions)),
            ):
                _emit_loops(k, stm, plan, outputs)
        except NotVectorisable as reason:
            if lanes == 1:
                raise NotInKernel(str(reason)) from None
            continue
        versions.append((lanes, kc.Block(tuple(body))))
    chosen = versions[-1][1]
    for lanes, block in reversed(versions[:-1]):
        chosen = kc.Block((kc.StaticIf(_divides(k, plan, lanes), block, chosen),))
    k.statements.extend(chosen.statements)
    for bound, output in zip(stm.pattern, outputs, strict=True):
        if isinstance(output, Array):
            k.bind(bound.name, output)


def _divides(k: WorkerBuilder, plan: ThreadPlan, lanes: int) -> kc.Expression:
    """Whether all sizes are multiples of the number of lanes."""
    sizes = sorted({k.resolve(size) for size in plan.divided}, key=str)
    return kc.all_of((k.size_value(size) % lanes).equals(0) for size in sizes)


def _emit_loops(
    k: WorkerBuilder,
    stm: Stm,
    plan: ThreadPlan,
    outputs: list[transfers.AccumulatorTile | Array],
) -> None:
    """Loops over the threads."""
    exp = stm.exp_of(kernels.SegMap)
    sizes = tuple(k.resolve(size) for size in exp.space.sizes)
    if plan.guarded:
        tiles = [
            output
            for output in outputs
            if isinstance(output, transfers.AccumulatorTile)
        ]
        limits = [k.size_value(size) for size in transfers.threads_inside(tiles, sizes)]
        sizes = tuple(k.as_size(k.named(limit, "threads")) for limit in limits)

    def visit(thread: tuple[Size, ...]) -> None:
        k.bind_all(exp.space.indices, map(k.size_value, thread))
        streams = {
            name: transfers.streaming_guard(k, k.accumulators[name], thread, rounds)
            for name, rounds in plan.written_once.items()
        }
        for name in plan.prefetched:
            around = streams.get(name)
            with k.unless([around]) if around else nullcontext():
                transfers.prefetch_accumulator(k, k.accumulators[name], thread)
        preloaded = {}
        for name in plan.preloaded:
            source = k.accumulators[name]
            counts, memory = vector_counts(k, source.registers), source.view.memory
            tile = declare_tile(k, memory.element, counts, memory.name.base)
            first = k.plan.first_iterations.get(name)
            transfers.load_accumulator(k, tile, source, thread, first)
            preloaded[name] = tile
        with k.inside(replace(k.at, thread=thread, preloaded=preloaded)):
            k.statements_of(exp.body.statements)
        for bound, output, returned in zip(
            stm.pattern, outputs, exp.body.result, strict=True
        ):
            assert isinstance(returned, kernels.Returns)
            value = k.atom(returned.value)
            if not isinstance(output, transfers.AccumulatorTile):
                k.write(output, thread, value)
            elif isinstance(value, RegisterTile):
                around = streams.get(bound.name)
                transfers.store_accumulator(k, output, thread, value, around)
            else:
                raise NotInKernel("a tile that is not in registers")

    k.each(sizes, visit)


def lower_index(k: WorkerBuilder, stm: Stm, exp: core.Index) -> None:
    """A register of a tile, a whole tile, or an element of a packed copy."""
    bound, at = stm.pattern[0], k.at
    if exp.array in at.preloaded:
        bind_register(k, bound, at.preloaded[exp.array], exp.slice[len(at.thread) :])
        return
    if exp.array in k.accumulators:
        tile = tile_for(k, bound)
        first = k.plan.first_iterations.get(exp.array)
        transfers.load_accumulator(k, tile, k.accumulators[exp.array], at.thread, first)
        k.bind(bound.name, tile)
        return
    value = k.atom(exp.array)
    if isinstance(value, RegisterTile):
        bind_register(k, bound, value, exp.slice)
    elif isinstance(value, PanelArray | InPlaceArray):
        indices = tuple(
            k.full_index(part)
            for part in exp.slice
            if not isinstance(part, core.DimSlice)
        )
        k.define(bound, k.load(value.memory, value.position(indices)))
    elif k.lanes and bound.name in at.threads.loaded:
        assert isinstance(value, Array)
        tile = tile_for(k, bound)
        transfers.load_tile(k, tile, value.sliced(exp.slice, k.index, k.resolve))
        k.bind(bound.name, tile)
    else:
        thread_code.RULES[core.Index](k, stm, exp)


def bind_register(
    k: WorkerBuilder, bound: Param, tile: RegisterTile, slice_: tuple[Any, ...]
) -> None:
    """The register of a tile at the point of the enclosing nest."""
    registers = k.at.registers
    at = tuple(registers[part] for part in slice_ if part in registers)
    whole = len(at) == len(tile.counts) == len(slice_)
    if not whole or not isinstance(bound.type, ScalarType):
        raise NotInKernel("a part of a register tile")
    k.bind(bound.name, kc.Register(tile.family, at, kc.VectorType(bound.type)))


def lower_size(k: WorkerBuilder, stm: Stm, exp: core.SizeExp) -> None:
    """A variable; in register nests the size itself, which vectorisation analyses."""
    if k.at.in_nest:
        k.bind(stm.pattern[0].name, k.size_value(k.full_size(exp.size)))
        return
    thread_code.RULES[core.SizeExp](k, stm, exp)


def lower_loop(k: WorkerBuilder, stm: Stm, exp: core.Loop) -> None:
    """Loops do not carry accumulators, which stay in the result; those that carry
    tiles in registers are the reduction of the tile."""
    kept = [p.name not in k.accumulators for p in exp.parameters]
    if all(kept):
        in_reduction = any(p.name in k.plan.registers for p in exp.parameters)
        with k.inside(replace(k.at, in_reduction=in_reduction)):
            control.lower_loop(k, stm, exp)
        return
    for parameter, name in zip(exp.parameters, exp.initial, strict=True):
        if isinstance(name, Name) and name in k.plan.deferred:
            assert isinstance(exp.form, core.ForLoop)
            start = k.scalar(k.plan.first_iterations[parameter.name].start)
            with k.branch(k.scalar(exp.form.bound) <= 0):
                transfers.fill_accumulator(k, k.accumulators[name], start)
    reduced = replace_node(
        exp,
        parameters=flagged(exp.parameters, kept),
        initial=flagged(exp.initial, kept),
        body=replace_node(exp.body, result=flagged(exp.body.result, kept)),
    )
    pattern = flagged(stm.pattern, kept)
    control.lower_loop(k, replace_node(stm, pattern=pattern), reduced)
