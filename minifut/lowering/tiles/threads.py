"""Emission of threads with register tiles: a loop for each vector width of the plan.

    segmap thread (y < ty, x < tx) {..}       if RX % 16 == 0      (when it is built)
                                                  for (y ..) for (x ..) { float16 .. }
                                              else if RX % 8 == 0 ..

A tile of an accumulator may cross the edge of the result. A full-tile guard selects
vector loads and stores for full tiles; others go through a private buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from minifut.ir import core, kernels
from minifut.ir.core import Param, Stm
from minifut.ir.node import flagged, immutable
from minifut.ir.node import replace as replace_node
from minifut.ir.sizes import ONE, Size, ceil_div, minimum
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise import NotVectorisable
from minifut.kernel_passes.vectorise.vectors import VectorOperations, stored_type
from minifut.lowering.groups.results import TileExtent
from minifut.lowering.index_functions import Array
from minifut.lowering.packing.packed_arrays import InPlaceArray, PanelArray
from minifut.lowering.threads import code as thread_code
from minifut.lowering.threads import control
from minifut.lowering.threads.builder import NotInKernel
from minifut.lowering.threads.register_tiles import RegisterTile, each_register
from minifut.lowering.tiles.plan import FirstIteration, ThreadPlan
from minifut.lowering.tiles.register_nests import declare_tile, tile_for, vector_counts
from minifut.names import Name
from minifut.rewrite.trace import untraced

if TYPE_CHECKING:
    from minifut.lowering.groups.cpu import WorkerBuilder


def emit_threads(k: WorkerBuilder, stm: Stm, plan: ThreadPlan) -> None:
    """Code for each vector width, of which the build of the kernel selects one; widths
    for which there is no vector code are left out."""
    exp = stm.exp_of(kernels.SegMap)
    outputs: list[AccumulatorTile | Array] = [
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
                _emit_loops(k, exp, plan, outputs)
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
    exp: kernels.SegMap,
    plan: ThreadPlan,
    outputs: list[AccumulatorTile | Array],
) -> None:
    """Loops over the threads."""
    sizes = tuple(k.resolve(size) for size in exp.space.sizes)
    if plan.guarded:
        tiles = [output for output in outputs if isinstance(output, AccumulatorTile)]
        limits = [k.size_value(size) for size in threads_inside(tiles, sizes)]
        sizes = tuple(k.as_size(k.named(limit, "threads")) for limit in limits)

    def visit(thread: tuple[Size, ...]) -> None:
        k.bind_all(exp.space.indices, map(k.size_value, thread))
        for name in plan.prefetched:
            prefetch_accumulator(k, k.accumulators[name], thread)
        preloaded = {}
        for name in plan.preloaded:
            source = k.accumulators[name]
            counts, memory = vector_counts(k, source.registers), source.view.memory
            tile = declare_tile(k, memory.element, counts, memory.name.base)
            first = k.plan.first_iterations.get(name)
            load_accumulator(k, tile, source, thread, first)
            preloaded[name] = tile
        with k.inside(replace(k.at, thread=thread, preloaded=preloaded)):
            k.statements_of(exp.body.statements)
        for output, returned in zip(outputs, exp.body.result, strict=True):
            assert isinstance(returned, kernels.Returns)
            value = k.atom(returned.value)
            if not isinstance(output, AccumulatorTile):
                k.write(output, thread, value)
            elif isinstance(value, RegisterTile):
                store_accumulator(k, output, thread, value)
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
        load_accumulator(k, tile, k.accumulators[exp.array], at.thread, first)
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
        load_tile(k, tile, value.sliced(exp.slice, k.index, k.resolve))
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
    for name in exp.initial:
        if isinstance(name, Name) and name in k.plan.deferred:
            assert isinstance(exp.form, core.ForLoop)
            with k.branch(k.scalar(exp.form.bound) <= 0):
                emit_threads(k, k.plan.deferred[name], k.plan.threads[name])
    reduced = replace_node(
        exp,
        parameters=flagged(exp.parameters, kept),
        initial=flagged(exp.initial, kept),
        body=replace_node(exp.body, result=flagged(exp.body.result, kept)),
    )
    pattern = flagged(stm.pattern, kept)
    control.lower_loop(k, replace_node(stm, pattern=pattern), reduced)


@immutable
class AccumulatorTile:
    """The tiles of a group, [block]..[register].., as a `view` of the result.

    `remaining` are the elements from the start of the group to the end of the result,
    per dimension.
    """

    view: Array
    remaining: tuple[Size, ...]
    registers: tuple[Size, ...]


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
    return AccumulatorTile(view, tuple(remaining), registers)


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


def store_tile(k: WorkerBuilder, target: Array, tile: RegisterTile) -> None:
    """Store all vectors of a tile to an array of its shape."""
    with each_register(k, tile.counts) as at:
        where = element_indices(tile, at)
        lanes, memory = tile.type.lanes, target.memory
        value: kc.Expression = tile.at(at)
        if lanes > 1:
            value = VectorOperations(lanes).to_memory(memory, value)
        if lanes == 1 or target.strides[-1] == ONE:
            k.store(memory, target.position(where), value)
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
) -> None:
    """Store the part of the tile of a thread that is inside the result."""
    target = accumulator.view.row(at)
    with k.branch(full_tile_guard(k, accumulator, at)):
        store_tile(k, target, tile)
    with k.otherwise():
        buffer = edge_buffer(k, accumulator)
        store_tile(k, buffer, tile)
        k.each(
            elements_inside(k, accumulator, at),
            lambda i: k.write(target, i, k.read(buffer, i)),
        )
