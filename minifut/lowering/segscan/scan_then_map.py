"""A map over the results of a scan of its points (`SegMap.scan`), under the CPU
schedule.

    for i in chunk:
        running = running op operands(i)         in registers
        body(i, running)                         stores and scatters

Neither operands nor scanned values are stored. Bodies that need the position among
those before take one pass over memory (`chained_scan`); totals, two. Points that write
their own elements are vectors (`vector_scan`).
"""

from __future__ import annotations

from functools import partial

from minifut.ir.core import Param
from minifut.ir.kernels import KernelBody, SegMap, SegScan, TotalReturns
from minifut.ir.sizes import ONE, Size
from minifut.ir.traverse import free_names
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.lowering.cpu.partition import partition
from minifut.lowering.cpu.reduction import Reduction
from minifut.lowering.cpu.vector_operators import PointUse, ScannedPoint, scalar_places
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators
from minifut.lowering.segmap.points import finish_point, outputs_of
from minifut.lowering.segred.cpu import reduce_range
from minifut.lowering.segscan.chained_scan import ScanFirst, ScannedRange
from minifut.lowering.segscan.compaction import CollectedStream, Compaction
from minifut.lowering.segscan.cpu import (
    partition_for_caches,
    scan_in_chunks,
    scan_in_two_passes,
)
from minifut.lowering.segscan.stable_partition import StablePartition, partition_stably
from minifut.lowering.segscan.vector_scan import scan_point, vector_scan
from minifut.lowering.threads.builder import KernelBuilder
from minifut.passes.scan_of_map import writes_by_index


def lower(
    host: HostBuilder, pattern: tuple[Param, ...], operation: SegMap, scan: SegScan
) -> None:
    """Kernels and launches; binds the results."""
    reduction = Reduction.of(host, scan)
    plan = partition_stably(operation, host)
    chosen = plan if isinstance(plan, StablePartition) else None
    overwrites = chosen is not None and chosen.is_permutation
    outputs = outputs_of(host, pattern, operation, overwrites)
    scan_range = partial(_scan_range, (reduction, operation, outputs, chosen))
    (length,) = host.sizes(operation.space.sizes)
    body, totals = operation.body, {p.name for p in operation.totals}
    kept = tuple(r for r in body.result if not isinstance(r, TotalReturns))
    if totals & free_names(KernelBody(body.statements, kept)):
        split = partition(host, (), length, reduction.smallest)
        scan_in_two_passes(host, reduction, split, ONE, scan_range)
    else:
        split = partition_for_caches(host, (), length, ONE)
        first = None
        if chosen is not None and chosen.most_points is None:
            whole = (reduction, operation, outputs, chosen)
            first = _compact_first(whole, split.chunk_size)
        scan_in_chunks(host, reduction, split, scan_range, first)
    for bound, output in zip(pattern, outputs, strict=True):
        host.bind(bound, output)


def _scan_range(
    joined: tuple[Reduction, SegMap, list[Array], StablePartition | None],
    k: KernelBuilder,
    accumulators: Accumulators,
    place: ScannedRange,
    partials: list[Array],
) -> None:
    """Scan a range and run the map at each point; at the end of all, store the totals
    that are results."""
    reduction, operation, outputs, plan = joined
    for bound, array in zip(operation.totals, partials, strict=False):
        last_chunk = (array.shape[0] - 1,)
        k.bind(bound.name, k.declare("total", k.read(array, last_chunk)))

    use = _map_use(operation, outputs)

    def one_by_one() -> None:
        with k.loop("i", place[2], place[1]) as index:
            scan_point(k, reduction, accumulators, (place[0], index), use)

    points = k.size_value(operation.space.sizes[0])
    if plan is not None:
        compaction = Compaction(k, plan, operation, outputs, accumulators)
        if plan.most_points is None:
            compaction.range(place)
        else:
            with k.branch(points <= plan.most_points):
                compaction.range(place)
            with k.otherwise():
                one_by_one()
    elif writes_by_index(operation):
        one_by_one()
    else:
        (length,) = k.host.sizes(operation.space.sizes)
        vector_scan(k, reduction, accumulators, place, use, length)
    _store_totals(k, operation, outputs, accumulators, place[2])


def _compact_first(
    joined: tuple[Reduction, SegMap, list[Array], StablePartition], most: Size
) -> ScanFirst:
    """Collect the streams of a chunk, and write them when those before are counted."""
    reduction, operation, outputs, plan = joined
    collected: list[CollectedStream] = []

    def collect(
        k: KernelBuilder, accumulators: Accumulators, place: ScannedRange
    ) -> None:
        compaction = Compaction(k, plan, operation, outputs, accumulators)
        collected[:] = compaction.collect(place, most)

    def aggregate(
        k: KernelBuilder, accumulators: Accumulators, place: ScannedRange
    ) -> None:
        segment, first, last = place
        found = reduce_range(k, reduction, segment, (first, last), long=True)
        k.assign_all(scalar_places(accumulators), scalar_places(found))

    def deliver(
        k: KernelBuilder, accumulators: Accumulators, place: ScannedRange
    ) -> None:
        compaction = Compaction(k, plan, operation, outputs, accumulators)
        compaction.deliver(place[1], collected)
        _store_totals(k, operation, outputs, accumulators, place[2])

    return ScanFirst(collect, aggregate, deliver, combines_first=True)


def _store_totals(
    k: KernelBuilder,
    operation: SegMap,
    outputs: list[Array],
    accumulators: Accumulators,
    last: kc.Expression,
) -> None:
    """Behind the last point of all, store the totals that are results."""
    names = [p.name for p in operation.totals]
    places = dict(zip(names, accumulators.all_places, strict=True))
    with k.branch(last.equals(k.size_value(operation.space.sizes[0]))):
        for result, output in zip(operation.body.result, outputs, strict=True):
            if isinstance(result, TotalReturns):
                k.write(output, (), places[result.value])


def _map_use(operation: SegMap, outputs: list[Array]) -> PointUse:
    """The map at a point of its scan."""
    scan = operation.scan
    assert scan is not None
    count = len(operation.totals)

    def emit(k: KernelBuilder, point: ScannedPoint) -> None:
        index = k.bind_index(operation.space.indices[0], point.index)
        values = (*point.scanned, *point.passed)
        for bound, value in zip(operation.seen, values, strict=False):
            k.bind(bound.name, value)
        for bound, value in zip(operation.before, point.before, strict=True):
            k.bind(bound.name, value)
        finish_point(k, operation.body, outputs, (k.as_size(index),))

    passed = tuple(t for t in scan.types[count:] if isinstance(t, ScalarType))
    return PointUse(
        emit,
        sum(array.memory.element.bytes for array in outputs if array.rank),
        passed,
        bool(operation.before),
    )
