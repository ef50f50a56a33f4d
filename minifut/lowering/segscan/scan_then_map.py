"""A map over the results of a scan of its points (`SegMap.scan`), on CPUs.

    for i in chunk:
        running = running op operands(i)         in registers
        body(i, running)                         stores and scatters

Neither operands nor scanned values are stored. Bodies that need the position among
those before take one pass over memory (`chained_scan`); totals, two. Points that write
their own elements are vectors (`vector_scan`).
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from minifut.ir import core, traverse, types
from minifut.ir.kernels import KernelBody, SegMap, SegScan, TotalReturns
from minifut.ir.node import immutable, mutable
from minifut.ir.sizes import ONE, Size
from minifut.kernel_ir import nodes as kc
from minifut.lowering.cpu.partition import partition
from minifut.lowering.cpu.reduction import Reduction
from minifut.lowering.cpu.vector_operators import PointUse, ScannedPoint, scalar_places
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators
from minifut.lowering.segmap.points import finish_point, outputs_of
from minifut.lowering.segred.cpu import reduce_range
from minifut.lowering.segscan import cpu
from minifut.lowering.segscan.chained_scan import ScannedRange
from minifut.lowering.segscan.compaction import Compaction
from minifut.lowering.segscan.compressed_streams import CollectedStream
from minifut.lowering.segscan.stable_partition import StablePartition, partition_stably
from minifut.lowering.segscan.vector_scan import scan_point, vector_scan
from minifut.lowering.threads.builder import KernelBuilder
from minifut.passes.scan_of_map import writes_by_index

COLLECTED = 2 * cpu.IN_CACHE
"""points of a chunk whose streams are collected: only what is kept is read again"""


def lower(
    host: HostBuilder, pattern: tuple[core.Param, ...], operation: SegMap, scan: SegScan
) -> None:
    """Kernels and launches; binds the results."""
    reduction = Reduction.of(host, scan)
    plan = partition_stably(operation, host)
    chosen = plan if isinstance(plan, StablePartition) else None
    overwrites = chosen is not None and chosen.is_permutation
    outputs = outputs_of(host, pattern, operation, overwrites)
    whole = _ScannedMap(reduction, operation, outputs, chosen)
    (length,) = host.sizes(operation.space.sizes)
    body, totals = operation.body, {p.name for p in operation.totals}
    kept = tuple(r for r in body.result if not isinstance(r, TotalReturns))
    if totals & traverse.free_names(KernelBody(body.statements, kept)):
        split = partition(host, (), length, reduction.smallest)
        cpu.scan_in_two_passes(host, reduction, split, ONE, whole.scan_range)
    else:
        once = chosen is not None and chosen.most_points is None
        in_cache = COLLECTED if once else cpu.IN_CACHE
        split = cpu.partition_for_caches(host, (), length, ONE, in_cache)
        first = _CompactFirst(whole, split.chunk_size) if once else None
        cpu.scan_in_chunks(host, reduction, split, whole.scan_range, first)
    for bound, output in zip(pattern, outputs, strict=True):
        host.bind(bound, output)


@immutable
class _ScannedMap:
    """A map, its scan, where its results go, and the plan if it is a partition."""

    reduction: Reduction
    operation: SegMap
    outputs: list[Array]
    plan: StablePartition | None

    def scan_range(
        self,
        k: KernelBuilder,
        accumulators: Accumulators,
        place: ScannedRange,
        partials: list[Array],
    ) -> None:
        """Scan a range and run the map at each point; at the end of all, store the
        totals that are results."""
        operation, plan = self.operation, self.plan
        for bound, array in zip(operation.totals, partials, strict=False):
            last_chunk = (array.shape[0] - 1,)
            k.bind(bound.name, k.declare("total", k.read(array, last_chunk)))

        use = _map_use(operation, self.outputs)

        def one_by_one() -> None:
            with k.loop("i", place[2], place[1]) as index:
                scan_point(k, self.reduction, accumulators, (place[0], index), use)

        points = k.size_value(operation.space.sizes[0])
        if plan is not None:
            compaction = self.compaction(k, accumulators)
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
            vector_scan(k, self.reduction, accumulators, place, use, length)
        self.store_totals(k, accumulators, place[2])

    def compaction(self, k: KernelBuilder, accumulators: Accumulators) -> Compaction:
        """The code of the partition of a range."""
        assert self.plan is not None
        return Compaction(k, self.plan, self.operation, self.outputs, accumulators)

    def store_totals(
        self, k: KernelBuilder, accumulators: Accumulators, last: kc.Expression
    ) -> None:
        """Behind the last point of all, store the totals that are results."""
        operation = self.operation
        names = [p.name for p in operation.totals]
        places = dict(zip(names, accumulators.all_places, strict=True))
        with k.branch(last.equals(k.size_value(operation.space.sizes[0]))):
            for result, output in zip(operation.body.result, self.outputs, strict=True):
                if isinstance(result, TotalReturns):
                    k.write(output, (), places[result.value])


@mutable
class _CompactFirst:
    """Collects streams of a chunk, and writes them when those before are counted."""

    combines_first: ClassVar[bool] = True
    whole: _ScannedMap
    most: Size
    """points of a chunk"""
    collected: list[CollectedStream] = field(default_factory=list)

    def scan(self, k: KernelBuilder, own: Accumulators, place: ScannedRange) -> None:
        """Collect the streams of a range, and count them."""
        self.collected = self.whole.compaction(k, own).collect(place, self.most)

    def aggregate(
        self, k: KernelBuilder, own: Accumulators, place: ScannedRange
    ) -> None:
        """Count the streams of a range."""
        segment, first, last = place
        ends, reduction = (first, last), self.whole.reduction
        found = reduce_range(k, reduction, segment, ends, long=True)
        k.assign_all(scalar_places(own), scalar_places(found))

    def combine(
        self, k: KernelBuilder, before: Accumulators, place: ScannedRange
    ) -> None:
        """Write what was collected to its places."""
        self.whole.compaction(k, before).deliver(place[1], self.collected)
        self.whole.store_totals(k, before, place[2])


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

    passed = tuple(t for t in scan.types[count:] if isinstance(t, types.ScalarType))
    return PointUse(
        emit,
        sum(array.memory.element.bytes for array in outputs if array.rank),
        passed,
        bool(operation.before),
    )
