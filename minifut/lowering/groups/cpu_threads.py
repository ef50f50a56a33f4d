"""Operations of the threads of a group as loops of its single work-item.

    let (s, ys) = segred thread (i < w) {add, 0} { .. return returns x, returns y }
→
    s = 0; for (i = 0; i < w; i++) { ..; s = s + x; ys[i] = y; }

Together with the rules of `threads.code` these lower all that a group may do. Results
are arrays of the group, or variables where only scalars are returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minifut.analysis.simple_points import is_simple
from minifut.ir import core, kernels
from minifut.ir.core import Param, Stm
from minifut.ir.kernels import REGISTER, Returns
from minifut.ir.sizes import Size
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators, returned
from minifut.lowering.packing.emit import copy_collectively
from minifut.lowering.seghist.histograms import Bins, bin_updates, update_bin
from minifut.lowering.segmap import points as segmap
from minifut.lowering.threads import code as thread_code
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue, NotInKernel
from minifut.lowering.tiles.register_nests import emit_register_nest
from minifut.lowering.tiles.threads import (
    emit_threads,
    lower_index,
    lower_loop,
    lower_size,
)

if TYPE_CHECKING:
    from minifut.lowering.groups.cpu import WorkerBuilder


def lower_segmap(k: WorkerBuilder, stm: Stm, exp: kernels.SegMap) -> None:
    """The points one after the other, or copies of a register nest."""
    if exp.level == REGISTER and k.lanes:
        emit_register_nest(k, stm, exp)
        return
    threads = k.plan.threads.get(stm.pattern[0].name) if stm.pattern else None
    if threads is not None:
        if stm.pattern[0].name not in k.plan.deferred:
            emit_threads(k, stm, threads)
        return
    outputs = []
    for bound, result in zip(stm.pattern, exp.body.result, strict=True):
        match result:
            case Returns():
                outputs.append(k.fresh(bound))
            case kernels.WriteReturns(array, _, _):
                outputs.append(k.updatable(bound.name, array))
            case (
                kernels.TileReturns()
                | kernels.RegTileReturns()
                | kernels.TotalReturns()
            ):
                raise NotInKernel("a tile of a thread")

    def visit(at: tuple[Size, ...]) -> None:
        k.bind_all(exp.space.indices, map(k.size_value, at))
        segmap.finish_point(k, exp.body, outputs, at)

    each_point(k, exp, visit, parallel=is_simple(exp))
    bind_results(k, stm.pattern, outputs)


def lower_fold(
    k: KernelBuilder, stm: Stm, exp: kernels.SegRed | kernels.SegScan
) -> None:
    """Segment after segment; a scan stores the accumulators after each point."""
    scans = isinstance(exp, kernels.SegScan)
    accumulators = Accumulators(k, exp.operators)
    count = len(accumulators.all_places)
    segments = tuple(k.resolve(size) for size in exp.space.sizes[:-1])
    length = k.size(exp.space.sizes[-1])
    folded = [k.fresh(bound) for bound in stm.pattern[:count] if segments or scans]
    mapped = [k.fresh(bound) for bound in stm.pattern[count:]]

    def visit(segment: tuple[Size, ...]) -> None:
        accumulators.reset()
        with k.loop("i", length) as i:
            at = (*segment, Size.of(i.name))
            values = operands(k, exp, at, mapped)
            accumulators.combine(values, reassociate=not scans)
            if scans:
                accumulators.save(folded, at)
        if segments and not scans:
            accumulators.save(folded, segment)

    k.each(segments, visit)
    results: list[LoweredValue] = [*(folded or accumulators.all_places), *mapped]
    bind_results(k, stm.pattern, results)


def lower_seghist(k: KernelBuilder, stm: Stm, exp: kernels.SegHist) -> None:
    """BinUpdate after point into the bins; of a group of several threads each thread
    those of a segment."""
    bins = own_bins(k, stm, exp)

    def visit(at: tuple[Size, ...]) -> None:
        k.bind_all(exp.space.indices, map(k.size_value, at))
        for point in bin_updates(k, exp, bins):
            with k.branch(point.inside):
                where = (*at[:-1], *[k.as_size(index, "bin") for index in point.at])
                places = [array.row(where) for array in point.bins.arrays]
                update_bin(k, point.bins.operator, places, point.values)

    each_point(k, exp, visit)
    bind_results(k, stm.pattern, [array for each in bins for array in each.arrays])


# --- what they share ------------------------------------------------------------------


def own_bins(k: KernelBuilder, stm: Stm, exp: kernels.SegHist) -> list[Bins]:
    """The destinations, or copies of them."""
    targets = iter(stm.pattern)
    return [
        Bins(
            operator,
            tuple(k.updatable(next(targets).name, d) for d in operator.destinations),
            tuple(k.resolve(size) for size in operator.shape),
        )
        for operator in exp.operators
    ]


def each_point(
    k: KernelBuilder,
    exp: kernels.SegMap | kernels.SegHist,
    visit: Callable[[tuple[Size, ...]], None],
    parallel: bool = False,
) -> None:
    """Loops over the space of an operation; `parallel`: the innermost in any order."""
    *outer, last = (k.resolve(size) for size in exp.space.sizes)

    def row(at: tuple[Size, ...]) -> None:
        with k.loop("i", k.size_value(last), parallel=parallel, points=parallel) as i:
            visit((*at, Size.of(i.name)))

    k.each(tuple(outer), row)


def operands(
    k: KernelBuilder,
    exp: kernels.SegRed | kernels.SegScan,
    at: tuple[Size, ...],
    mapped: list[Array],
) -> list[LoweredValue]:
    """Run the body at a point: writes mapped results, gives the operands."""
    k.bind_all(exp.space.indices, map(k.size_value, at))
    k.statements_of(exp.body.statements)
    values = returned(k, exp.body)
    count = len(values) - len(mapped)
    for array, value in zip(mapped, values[count:], strict=True):
        k.write(array, at, value)
    return values[:count]


def bind_results(
    k: KernelBuilder, pattern: tuple[Param, ...], values: list[Any]
) -> None:
    k.bind_all([p.name for p in pattern], values)


RULES: dict[type, Callable[..., None]] = {
    **thread_code.RULES,
    kernels.SegMap: lower_segmap,
    kernels.SegRed: lower_fold,
    kernels.SegScan: lower_fold,
    kernels.SegHist: lower_seghist,
    kernels.CollectiveCopy: copy_collectively,
    core.Index: lower_index,
    core.SizeExp: lower_size,
    core.Loop: lower_loop,
}
