"""A map that sees a scan of its points (`SegMap.scan`), under the CPU schedule.

    for i in chunk:
        running = running op operands(i)         in registers
        body(i, running)                         stores and scatters

Neither operands nor scanned values are stored. Bodies that need the position among
those before take one pass over memory (`chained_scan`); totals, two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from minifut.ir.core import Param
from minifut.ir.kernels import KernelBody, SegMap, SegScan, TotalReturns, WriteReturns
from minifut.ir.sizes import ONE, Size
from minifut.ir.traverse import free_names
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.lowering.cpu.partition import ALIGNMENT as BLOCK
from minifut.lowering.cpu.partition import partition, smaller
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
    scan_range = partial(_scan_range, (reduction, operation, outputs))
    (length,) = host.sizes(operation.space.sizes)
    body, totals = operation.body, {p.name for p in operation.totals}
    kept = tuple(r for r in body.result if not isinstance(r, TotalReturns))
    if totals & free_names(KernelBody(body.statements, kept)):
        split = partition(host, (), length, reduction.smallest)
        scan_in_two_passes(host, reduction, split, ONE, scan_range)
    else:
        split = partition_for_caches(host, (), length, ONE)
        scan_in_chunks(host, reduction, split, scan_range)
    for bound, output in zip(pattern, outputs, strict=True):
        host.bind(bound, output)


def _scan_range(
    joined: tuple[Reduction, SegMap, list[Array]],
    k: KernelBuilder,
    accumulators: Accumulators,
    place: ScannedRange,
    partials: list[Array],
) -> None:
    """Scan a range and run the map at each point; at the end of all, store the totals
    that are results."""
    reduction, operation, outputs = joined
    body, totals = operation.body, operation.totals
    for bound, array in zip(totals, partials, strict=False):
        last_chunk = (array.shape[0] - 1,)
        k.bind(bound.name, k.declare("total", k.read(array, last_chunk)))

    def points(place: ScannedRange, work: Callable[[Size], None]) -> None:
        with k.loop("i", place[2], place[1]) as index:
            operands = reduction.visit(k, place[0], index)
            passed = returned(k, reduction.operation.body)[len(operands) :]
            accumulators.combine(operands)
            k.bind_index(operation.space.indices[0], index)
            values = (*accumulators.all_places, *passed)
            for bound, value in zip(operation.seen, values, strict=False):
                k.bind(bound.name, value)
            work(k.as_size(index))

    def finish(index: Size) -> None:
        finish_point(k, body, outputs, (index,))

    result, *others = body.result
    single = outputs[0].rank == 1 and all(isinstance(r, TotalReturns) for r in others)
    if single and isinstance(result, WriteReturns) and len(result.writes) == 1:
        _in_blocks(k, operation, outputs[0], place, points, finish)
    else:
        points(place, finish)
    places = dict(zip([p.name for p in totals], accumulators.all_places, strict=True))
    with k.branch(place[2].equals(k.size_value(operation.space.sizes[0]))):
        for result, output in zip(body.result, outputs, strict=True):
            if isinstance(result, TotalReturns):
                k.write(output, (), places[result.value])


def _in_blocks(
    k: KernelBuilder,
    operation: SegMap,
    output: Array,
    place: ScannedRange,
    points: Callable[[ScannedRange, Callable[[Size], None]], None],
    finish: Callable[[Size], None],
) -> None:
    """Collect the writes of a block without branches, and then do them, unless branches
    are well predicted, as nearly all or none of a block were written."""
    (segment, first, last), result = place, operation.body.result[0]
    assert isinstance(result, WriteReturns)
    (((where,), value),) = result.writes
    places = k.private_memory(I64, BLOCK, "places")
    values = k.private_memory(output.memory.element, BLOCK, "values")
    kept = k.declare("kept", kc.Literal(BLOCK // 2, kc.LONG))

    def collect(_: Size) -> None:
        k.statements_of(operation.body.statements)
        at = k.named(kc.Cast(k.scalar(where), kc.LONG), "place")
        k.store(places, kept, at)
        k.store(values, kept, k.scalar(value))
        inside = (at >= 0) & (at < k.size_value(output.shape[0]))
        k.assign(kept, kept + kc.Cast(inside, kc.LONG))

    with k.loop("block", last, first, BLOCK) as block:
        part = segment, block, k.named(smaller(block + BLOCK, last), "end")
        with k.branch((kept < BLOCK // 8) | (kept > BLOCK - BLOCK // 8)):
            points(part, finish)
        with k.otherwise():
            k.assign(kept, 0)
            points(part, collect)
            with k.loop("write", kept) as number:
                k.write(output, (k.load(places, number),), k.load(values, number))
