"""The scan of a range of one segment, vectorised where possible.

    for i in range by 16:
        right = body(i .. i + 15)
        right = prefixes of right, then before op right
        results[i .. i + 15] = right
        before = the last lane of right in all lanes

The loop-carried dependence is one operator and a broadcast for each vector, so the loop
is bound by memory bandwidth. Results too large for the caches are stored with
non-temporal stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import rewritten_or_comment
from minifut.kernel_passes.vectorise.context import loop_context
from minifut.kernel_passes.vectorise.folds import vectorise_scan
from minifut.kernel_passes.vectorise.operators import Fold
from minifut.lowering.cpu.reduction import Reduction, points_of_range
from minifut.lowering.cpu.vector_operators import point_code, scalar_places
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators
from minifut.lowering.segmap.streaming import is_large
from minifut.lowering.segscan.chained_scan import ScannedRange
from minifut.lowering.threads.builder import KernelBuilder


def vector_scan(
    k: KernelBuilder,
    reduction: Reduction,
    accumulators: Accumulators,
    place: ScannedRange,
    scanned: Sequence[Array | None],
    total: Size | None,
) -> None:
    """Scan the points of a segment from the first to before the last, with
    `accumulators` as carry-in; `total` is the number of points of all segments, if
    results may be too large for the caches. Without places for results, only the
    accumulators get theirs."""
    segment, first, last = place

    def in_vectors(unchecked: Reduction) -> None:
        start = _scan_in_vectors(k, unchecked, accumulators, place, scanned, total)
        one_by_one(unchecked, start)

    def one_by_one(reduction: Reduction, start: kc.Expression = first) -> None:
        with k.loop("i", last, start) as index:
            accumulators.combine(reduction.visit(k, segment, index))
            if scanned:
                accumulators.save(scanned, (*segment, index))

    points = points_of_range(k, segment, (first, last))
    reduction.in_phases(k, points, in_vectors, one_by_one)


def _scan_in_vectors(
    k: KernelBuilder,
    reduction: Reduction,
    accumulators: Accumulators,
    place: ScannedRange,
    scanned: Sequence[Array | None],
    total: Size | None,
) -> kc.Expression:
    """Scan whole vectors; gives the first point that is left."""
    segment, first, last = place

    def save(index: kc.Expression, values: list[kc.Variable]) -> None:
        for array, value in zip(scanned, values, strict=False):
            if array is not None:
                k.write(array, (*segment, index), value)

    stored = [array for array in scanned if array is not None]
    begin = k.variable("start", kc.LONG)
    fold = Fold(
        cache(lambda: point_code(k, reduction, segment, save)),
        tuple(scalar_places(accumulators)),
        first,
        last,
        begin,
        is_large=None
        if total is None or not stored
        else lambda: is_large(k, total, sum(a.memory.element.bytes for a in stored)),
    )
    vectors = rewritten_or_comment(vectorise_scan, fold, loop_context(k))
    if vectors is None:
        return first
    k.statements.extend((kc.Declare(begin, first), *vectors))
    return begin
