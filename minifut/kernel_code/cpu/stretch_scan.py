"""The scan of one stretch of a segment, in vectors where they do.

    for i in stretch by 16:
        right = body(i .. i + 15)
        right = prefixes of right, then before op right
        results[i .. i + 15] = right
        before = the last lane of right in all lanes

From vector to vector only one operator and a broadcast wait for each other, so the loop
keeps pace with memory. Results too large for the caches are written around them.
"""

from __future__ import annotations

from functools import cache

from minifut.ir.sizes import Size
from minifut.kernel_code.cpu.reduction import Reduction
from minifut.kernel_code.cpu.streaming import LARGE
from minifut.kernel_code.cpu.vector_operators import point_code, scalar_places
from minifut.kernel_code.cpu.widths import site_of
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.lanes.loops import vectorise_scan
from minifut.kernel_code.lanes.operators import Fold
from minifut.kernel_code.operators import State
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_ir import nodes as kc


def scan_stretch(
    k: KernelBuilder,
    reduction: Reduction,
    state: State,
    place: tuple[list[kc.Variable], kc.Expression, kc.Expression],
    scanned: list[Array],
    total: Size,
) -> None:
    """Scan the points of a segment, from the first to before the last, on from `state`;
    there are `total` points in all."""
    segment, first, last = place

    def save(index: kc.Expression, values: list[kc.Variable]) -> None:
        for array, value in zip(scanned, values, strict=True):
            k.write(array, (*segment, index), value)

    start: kc.Expression = first
    begin = k.variable("start", kc.LONG)
    fold = Fold(
        cache(lambda: point_code(k, reduction, segment, save)),
        tuple(scalar_places(state)),
        first,
        last,
        begin,
        is_large=lambda: k.size_value(total) >= LARGE,
    )
    vectors = vectorise_scan.or_comment(fold, site_of(k))
    if vectors is not None:
        start = begin
        k.statements.extend((kc.Declare(begin, first), *vectors))
    with k.loop("i", last, start) as index:
        state.combine(reduction.visit(k, segment, index))
        state.save(scanned, (*segment, index))
