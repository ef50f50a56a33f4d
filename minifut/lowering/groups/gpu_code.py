"""Group code of the GPU schedule, one rule per expression; see `groups.gpu_builder`.

    let ys = segmap thread (i < n) {..}    each thread takes points i, i + threads, ..;
                                           ys in local memory, or distributed over
                                           registers
    let t = collective_copy xs[f :+ w]     neighbouring threads copy neighbours
    let z = segmap register (i < r) {..}   (thread code) a tile: copies of the body
    seghist thread (i < n) {dest, op} ..   local atomics: dest[bin] = dest[bin] op value

All else is as in `threads.code`: its rules make arrays by `each`, `copy` and `write` of
the builder, which threads do cooperative_region in group code.

Destinations of histograms are in local memory (or wherever they may be written in
place). Cells are those of `atomic_cells`; what is no plain value gets words beside its
arrays, filled before and read back after. Operators on arrays: a segment is the work of
one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from minifut.ir import core, kernels
from minifut.ir.core import Param, Stm
from minifut.ir.kernels import SegHist
from minifut.ir.sizes import ONE, ZERO, Size, product
from minifut.ir.types import ArrayType, ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.atomic_cells import cells_of
from minifut.lowering.groups import cpu_threads
from minifut.lowering.groups.gpu_builder import GroupBuilder
from minifut.lowering.groups.gpu_reductions import lower_segred, lower_segscan
from minifut.lowering.index_functions import Array
from minifut.lowering.packing.facts import CopyRegion, copy_region
from minifut.lowering.seghist.gpu_targets import Target, each_cell
from minifut.lowering.seghist.histograms import Bins, bin_updates
from minifut.lowering.segmap.writes import write_if_inside
from minifut.lowering.threads import code as thread_code
from minifut.lowering.threads.builder import LoweredValue, NotInKernel
from minifut.lowering.threads.register_tiles import RegisterTile, move

# --- segmaps --------------------------------------------------------------------------


def _segmap(k: GroupBuilder, stm: Stm, exp: kernels.SegMap) -> None:
    """The points of a space, shared by the threads of the group."""
    if exp.level != kernels.THREAD:
        raise NotInKernel(f"a segmap of level {exp.level} in a group")
    space, body = exp.space, exp.body
    places: list[RegisterTile | Array] = []
    for bound, result in zip(stm.pattern, body.result, strict=True):
        match result:
            case kernels.Returns():
                places.append(k.place_for(bound) or k.fresh(bound))
            case kernels.WriteReturns(array, _, _):
                places.append(k.updatable(bound.name, array))
            case (
                kernels.TileReturns()
                | kernels.RegTileReturns()
                | kernels.TotalReturns()
            ):
                raise NotInKernel("threads that return tiles")
    with k.thread_region(), k.points(tuple(k.resolve(s) for s in space.sizes)) as at:
        k.bind_indices(space.indices, at)
        _point(k, body, places, tuple(k.as_size(index) for index in at))
    k.bind_all([p.name for p in stm.pattern], places)


def _point(
    k: GroupBuilder,
    body: kernels.KernelBody,
    places: list[RegisterTile | Array],
    at: tuple[Size, ...],
) -> None:
    rows = [
        (result.value, place.row(at))
        for result, place in zip(body.result, places, strict=True)
        if isinstance(result, kernels.Returns)
        and isinstance(place, Array)
        and place.rank > len(at)
    ]
    k.pass_destinations(body, tuple(rows))
    k.statements_of(body.statements)
    for result, place in zip(body.result, places, strict=True):
        match result:
            case kernels.Returns(value) if isinstance(place, RegisterTile):
                move(k, place.own, k.atom(value))
            case kernels.Returns(value):
                assert isinstance(place, Array)
                k.write(place, at, k.atom(value))
            case kernels.WriteReturns(_, _, writes):
                assert isinstance(place, Array)
                for where, atom in writes:
                    write_if_inside(k, place, where, atom)


def _register_nest(k: GroupBuilder, stm: Stm, exp: kernels.SegMap) -> None:
    """In thread code: registers, if there is a known number of them."""
    sizes = tuple(k.resolve(size) for size in exp.space.sizes)
    places = [k.place_for(bound) for bound in stm.pattern]
    known = all(k.is_build_constant(size) for size in sizes)
    if exp.level != kernels.REGISTER or not known or None in places:
        thread_code.RULES[kernels.SegMap](k, stm, exp)
        return
    with ExitStack() as nest:
        at = [nest.enter_context(k.unrolled("r", k.size_value(s))) for s in sizes]
        nest.enter_context(k.scope())
        k.bind_all(exp.space.indices, at)
        k.statements_of(exp.body.statements)
        names = tuple(index.name for index in at)
        for place, result in zip(places, exp.body.result, strict=True):
            assert place is not None and isinstance(result, kernels.Returns)
            k.assign(place.at(names), k.scalar(result.value))
    for bound, place in zip(stm.pattern, places, strict=True):
        assert place is not None
        k.bind(bound.name, place)


# --- indexing -------------------------------------------------------------------------


def _index(k: GroupBuilder, stm: Stm, exp: core.Index) -> None:
    """In group code: all threads read the same element."""
    with k.access_region():
        thread_code.RULES[core.Index](k, stm, exp)


def _index_in_thread(k: GroupBuilder, stm: Stm, exp: core.Index) -> None:
    """In thread code an array may be in registers."""
    value = k.atom(exp.array)
    if not isinstance(value, RegisterTile):
        thread_code.RULES[core.Index](k, stm, exp)
        return
    bound = stm.pattern[0]
    if value.outer:
        own = value.own
        k.bind(bound.name, own) if own.counts else k.define(bound, own.at(()))
        return
    if len(exp.slice) != len(value.counts):
        raise NotInKernel("a part of a register tile")
    at = []
    for part in exp.slice:
        index = k.scalar(part) if not isinstance(part, core.DimSlice) else None
        if not isinstance(index, kc.Variable) or index.name not in k.unrolled_names:
            raise NotInKernel("a register chosen when the kernel runs")
        at.append(index.name)
    k.define(bound, value.at(tuple(at)))


# --- arrays ---------------------------------------------------------------------------


def _replicate(k: GroupBuilder, stm: Stm, exp: core.Replicate) -> None:
    """Element by element, so that all threads have something to do."""
    value = k.atom(exp.value)
    if not isinstance(value, Array):
        thread_code.RULES[core.Replicate](k, stm, exp)
        return
    made, outer = k.fresh(stm.pattern[0]), len(exp.shape)
    k.each(made.shape, lambda at: k.write(made, at, k.read(value, at[outer:])))
    k.bind(stm.pattern[0].name, made)


def _literal(k: GroupBuilder, stm: Stm, exp: core.ArrayLiteral) -> None:
    """One thread writes all scalars."""
    rows: list[LoweredValue] = [k.atom(row) for row in exp.rows]
    made = k.fresh(stm.pattern[0])
    if isinstance(exp.row, ScalarType):
        with k.thread_region(), k.points(()):
            for number, row in enumerate(rows):
                k.write(made, (Size.constant(number),), row)
    else:
        for number, row in enumerate(rows):
            k.write(made, (Size.constant(number),), row)
    k.bind(stm.pattern[0].name, made)


def _collective_copy(k: GroupBuilder, stm: Stm, exp: kernels.CollectiveCopy) -> None:
    """Positions beyond the edges are clamped; a tile that is inside needs none."""
    source, bound = k.array(exp.array), stm.pattern[0]
    region = copy_region(bound, exp, source, k.index, k.resolve)
    if not region.kept:
        with k.access_region():
            zero = kc.Literal(0, kc.VectorType(element_of(bound.type)))
            found = k.declare(bound.name.base, zero)
            _load_clamped(k, region, (), found)
        k.bind(bound.name, found)
        return
    made = _memory_of_copy(k, bound)
    order = _coalesced(region)
    shape = tuple(made.shape[d] for d in order)
    inside = _inside(k, region)
    with k.thread_region():
        with k.branch(inside), k.points(shape) as at:
            where = _unordered(k, at, order)
            k.write(made, where, k.read(source, _positions(region, where)))
        with k.otherwise(), k.points(shape) as at:
            where = _unordered(k, at, order)
            zero = kc.Literal(0, kc.VectorType(made.memory.element))
            found = k.declare("found", zero)
            _load_clamped(k, region, where, found)
            k.write(made, where, found)
    k.bind(bound.name, made)


def _memory_of_copy(k: GroupBuilder, bound: Param) -> Array:
    """Local memory, in the layout that suits the threads that read it."""
    innermost = k.innermost.get(bound.name)
    if innermost is None or bound.name in k.destinations:
        return k.fresh(bound)
    element, shape = element_of(bound.type), k.shape(bound.type)
    return k.transposed_copy(element, shape, innermost, bound.name.base)


def _coalesced(region: CopyRegion) -> list[int]:
    """The dimensions of the copy, last the one whose elements are neighbours in the
    array, so that neighbouring threads take them."""
    order = list(range(len(region.kept)))
    steps = [region.source.strides[d] * region.ranges[d].step for d in region.kept]
    if steps[-1] != ONE and ONE in steps:
        nearest = len(steps) - 1 - steps[::-1].index(ONE)
        order.remove(nearest)
        order.append(nearest)
    return order


def _unordered(
    k: GroupBuilder, at: tuple[kc.Expression, ...], order: list[int]
) -> tuple[Size, ...]:
    places = {d: k.as_size(index) for d, index in zip(order, at, strict=True)}
    return tuple(places[d] for d in range(len(order)))


def _positions(region: CopyRegion, where: tuple[Size, ...]) -> tuple[Size, ...]:
    """The indices of the array for those of the copy."""
    found = [dim.start for dim in region.ranges]
    for dimension, index in zip(region.kept, where, strict=True):
        found[dimension] = found[dimension] + index * region.ranges[dimension].step
    return tuple(found)


def _inside(k: GroupBuilder, region: CopyRegion) -> kc.Expression:
    """Whether nothing is beyond an edge."""
    tests: list[kc.Expression] = []
    for dim in region.ranges:
        length = ONE if dim.length is None else dim.length
        if (dim.start, length, dim.step) == (ZERO, dim.extent, ONE):
            continue
        last = dim.start + (length - 1) * dim.step
        for end in dict.fromkeys((dim.start, last)):
            at = k.declare("end", k.size_value(end))
            tests.append(kc.all_of((at >= 0, at < k.size_value(dim.extent))))
    return k.declare("inside", kc.all_of(tests))


def _load_clamped(
    k: GroupBuilder, region: CopyRegion, where: tuple[Size, ...], found: kc.Variable
) -> None:
    """`found` becomes the element nearest to a position; it stays if there is none."""
    source = region.source
    total = k.declare("elements", k.size_value(product(source.shape)))
    with k.branch(total > 0):
        nearest = []
        places = _positions(region, where)
        for position, size in zip(places, source.shape, strict=True):
            at = k.declare("at", k.size_value(position))
            last = k.declare("last", k.size_value(size - 1))
            low = kc.Call("max", (at, kc.Literal(0, kc.LONG)), kc.LONG)
            nearest.append(k.declare("nearest", kc.Call("min", (low, last), kc.LONG)))
        k.assign(found, k.read(source, tuple(nearest)))


def lower_seghist(k: GroupBuilder, stm: Stm, exp: SegHist) -> None:
    """Update the destinations, or copies of them; bind the results."""
    if any(
        isinstance(t, ArrayType) for op in exp.operators for t in op.operator.results
    ):
        cpu_threads.lower_seghist(k, stm, exp)
        return
    bins = cpu_threads.own_bins(k, stm, exp)
    _together(k, exp, bins)
    arrays = [array for each in bins for array in each.arrays]
    k.bind_all([p.name for p in stm.pattern], arrays)


def _together(k: GroupBuilder, exp: SegHist, bins: list[Bins]) -> None:
    """All threads at once, by atomics."""
    targets = [_target(k, each) for each in bins]
    for target in targets:
        _convert(k, target, back=False)
    space = exp.space
    with k.thread_region(), k.points(tuple(k.resolve(s) for s in space.sizes)) as at:
        k.bind_indices(space.indices, at)
        outer = tuple(k.as_size(index) for index in at[:-1])
        for target, point in zip(targets, bin_updates(k, exp, bins), strict=True):
            with each_cell(k, point) as (where, values):
                target.cells.update(k, target.places(k, outer, where), values)
    for target in targets:
        _convert(k, target, back=True)


def _target(k: GroupBuilder, bins: Bins) -> Target:
    cells = cells_of(bins.operator.operator)
    if cells.is_plain:
        return Target(bins, cells, ())
    shape = bins.arrays[0].shape
    return Target(
        bins, cells, tuple(k.new_array(w, shape, "words") for w in cells.words)
    )


def _convert(k: GroupBuilder, target: Target, back: bool) -> None:
    """Fill the words of cells from the destination, or write them back."""
    if target.cells.is_plain:
        return
    with k.thread_region(), k.points(target.bins.arrays[0].shape) as at:
        target.convert(k, at, back)


GroupRule = Callable[[Any, Stm, Any], None]

GROUP_RULES: dict[type, GroupRule] = {
    **thread_code.RULES,
    core.Index: _index,
    core.Replicate: _replicate,
    core.ArrayLiteral: _literal,
    kernels.SegMap: _segmap,
    kernels.SegRed: lower_segred,
    kernels.SegScan: lower_segscan,
    kernels.SegHist: lower_seghist,
    kernels.CollectiveCopy: _collective_copy,
}
THREAD_RULES: dict[type, GroupRule] = {
    **thread_code.RULES,
    core.Index: _index_in_thread,
    kernels.SegMap: _register_nest,
}
