"""The scan of a range of one segment, vectorised where possible.

    for i in range by 16:
        right = body(i .. i + 15)
        right = prefixes of right, then before op right
        results[i .. i + 15] = right            or what a map makes of it there
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
from minifut.kernel_passes.vectorise import context, folds, operators
from minifut.lowering.cpu.reduction import ReducedPoint, Reduction, points_of_range
from minifut.lowering.cpu.vector_operators import (
    PointUse,
    ScannedPoint,
    point_code,
    scalar_places,
)
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators, returned
from minifut.lowering.segmap.streaming import is_large
from minifut.lowering.segscan.chained_scan import ScannedRange
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue


def vector_scan(
    k: KernelBuilder,
    reduction: Reduction,
    accumulators: Accumulators,
    place: ScannedRange,
    use: PointUse | None,
    total: Size | None,
) -> None:
    """Scan the points of a segment from the first to before the last, with
    `accumulators` as carry-in; `total` is the number of points of all segments, if
    results may be too large for the caches. Without a use of the results, only the
    accumulators get theirs."""
    segment, first, last = place

    def in_vectors(unchecked: Reduction) -> None:
        start = _scan_in_vectors(k, unchecked, accumulators, place, use, total)
        one_by_one(unchecked, start)

    def one_by_one(reduction: Reduction, start: kc.Expression = first) -> None:
        with k.loop("i", last, start) as index:
            scan_point(k, reduction, accumulators, (segment, index), use)

    points = points_of_range(k, segment, (first, last))
    reduction.in_phases(k, points, in_vectors, one_by_one)


def scan_point(
    k: KernelBuilder,
    reduction: Reduction,
    accumulators: Accumulators,
    at: ReducedPoint,
    use: PointUse | None,
) -> None:
    """Combine the accumulators with a point, and do there what is to be done."""
    values = reduction.visit(k, *at)
    before: list[kc.Expression] = []
    passed: list[LoweredValue] = []
    if use is not None and use.wants_before:
        before += [k.declare("before", p) for p in scalar_places(accumulators)]
    if use is not None and use.passed:
        passed = returned(k, reduction.operation.body)[len(values) :]
    accumulators.combine(values)
    if use is not None:
        use.emit(k, ScannedPoint(at[1], accumulators.all_places, passed, before))


def stored(
    segment: Sequence[kc.Expression], arrays: Sequence[Array | None]
) -> PointUse | None:
    """Store the scanned values in those arrays that there are."""
    wanted = [array for array in arrays if array is not None]
    if not wanted:
        return None

    def emit(k: KernelBuilder, point: ScannedPoint) -> None:
        for array, value in zip(arrays, point.scanned, strict=True):
            if array is not None:
                k.write(array, (*segment, point.index), value)

    return PointUse(emit, sum(array.memory.element.bytes for array in wanted))


def _scan_in_vectors(
    k: KernelBuilder,
    reduction: Reduction,
    accumulators: Accumulators,
    place: ScannedRange,
    use: PointUse | None,
    total: Size | None,
) -> kc.Expression:
    """Scan whole vectors; gives the first point that is left."""
    segment, first, last = place
    begin = k.variable("start", kc.LONG)
    fold = operators.Fold(
        cache(lambda: point_code(k, reduction, segment, use)),
        tuple(scalar_places(accumulators)),
        first,
        last,
        begin,
        is_large=None
        if total is None or use is None or not use.bytes
        else lambda: is_large(k, total, use.bytes),
    )
    vectors = rewritten_or_comment(folds.vectorise_scan, fold, context.loop_context(k))
    if vectors is None:
        return first
    k.statements.extend((kc.Declare(begin, first), *vectors))
    return begin
