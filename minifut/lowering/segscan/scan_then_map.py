"""A map that sees a scan of its points (`SegMap.scan`), under the CPU schedule.

    for i in chunk:
        running = running op operands(i)         in registers
        body(i, running)                         stores and scatters

Neither operands nor scanned values are stored. Bodies that need the position among
those before take one pass over memory (`chained_scan`); totals, two.
"""

from __future__ import annotations

from dataclasses import dataclass

from minifut.ir.core import Param
from minifut.ir.kernels import KernelBody, SegMap, SegScan, TotalReturns
from minifut.ir.sizes import ONE
from minifut.ir.traverse import free_names
from minifut.lowering.cpu.partition import partition
from minifut.lowering.cpu.reduction import Reduction
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators, returned
from minifut.lowering.segmap.points import finish_point, outputs_of
from minifut.lowering.segscan.chained_scan import ScannedRange
from minifut.lowering.segscan.cpu import (
    partition_for_caches,
    scan_in_chunks,
    scan_in_two_passes,
)
from minifut.lowering.threads.builder import KernelBuilder


def lower(
    host: HostBuilder, pattern: tuple[Param, ...], operation: SegMap, scan: SegScan
) -> None:
    """Kernels and launches; binds the results."""
    reduction = Reduction.of(host, scan)
    outputs = outputs_of(host, pattern, operation)
    scan_range = _ScanRange(reduction, operation, outputs)
    (length,) = host.sizes(operation.space.sizes)
    if needs_totals(operation):
        split = partition(host, (), length, reduction.smallest)
        scan_in_two_passes(host, reduction, split, ONE, scan_range)
    else:
        split = partition_for_caches(host, (), length, ONE)
        scan_in_chunks(host, reduction, split, scan_range)
    for bound, output in zip(pattern, outputs, strict=True):
        host.bind(bound, output)


def needs_totals(operation: SegMap) -> bool:
    """Whether points need totals, which are known when all operands are."""
    results = operation.body.result
    written = tuple(r for r in results if not isinstance(r, TotalReturns))
    used = free_names(KernelBody(operation.body.statements, written))
    return not used.isdisjoint(p.name for p in operation.totals)


@dataclass(frozen=True, slots=True)
class _ScanRange:
    """Scans a range and runs the map at each point; at the end of all, stores the
    totals that are results."""

    reduction: Reduction
    operation: SegMap
    outputs: list[Array]

    def __call__(
        self,
        k: KernelBuilder,
        accumulators: Accumulators,
        place: ScannedRange,
        partials: list[Array],
    ) -> None:
        segment, first, last = place
        seen, totals = self.operation.seen, self.operation.totals
        body, count = self.operation.body, len(self.reduction.types)
        for bound, partial in zip(totals, partials, strict=False):
            last_chunk = (partial.shape[0] - 1,)
            k.bind(bound.name, k.declare("total", k.read(partial, last_chunk)))
        with k.loop("i", last, first) as index:
            operands = self.reduction.visit(k, segment, index)
            passed = returned(k, self.reduction.operation.body)[count:]
            accumulators.combine(operands)
            k.bind_index(self.operation.space.indices[0], index)
            values = (*accumulators.all_places, *passed)
            for bound, value in zip(seen, values, strict=False):
                k.bind(bound.name, value)
            finish_point(k, body, self.outputs, (k.as_size(index),))
        names = [bound.name for bound in totals]
        places = dict(zip(names, accumulators.all_places, strict=True))
        with k.branch(last.equals(k.size_value(self.operation.space.sizes[0]))):
            for result, output in zip(body.result, self.outputs, strict=True):
                if isinstance(result, TotalReturns):
                    k.write(output, (), places[result.value])
