"""Histograms by the threads of a group (the GPU schedule): local atomics.

    seghist thread (i < n) {dest [k], op} {bin, value}    dest[bin] = dest[bin] op value

The destinations are in local memory (or wherever they may be written in place). Cells
are those of `atomic_cells`; what is no plain value gets words beside its arrays, filled
before and read back after. Operators on arrays: a segment is the work of one thread.
"""

from __future__ import annotations

from minifut.ir.core import Stm
from minifut.ir.kernels import SegHist
from minifut.ir.types import ArrayType
from minifut.lowering.atomic_cells import cells_of
from minifut.lowering.groups import cpu_threads
from minifut.lowering.groups.gpu_builder import GroupBuilder
from minifut.lowering.seghist.gpu_targets import Target, each_cell
from minifut.lowering.seghist.histograms import Bins, bin_updates


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
