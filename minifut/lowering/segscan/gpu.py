"""Segmented inclusive scans under the GPU schedule.

    segscan grid (i < n, j < m) {add, 0} { x }  :  [n][m]t

    one pass        each group scans a tile and looks back (`segscan.look_back`), where
                    segments are split and groups of the device wait for each other
    first kernel    else: each task (`gpu.work_distribution`) is scanned by its lanes,
                    tile by tile: every lane folds consecutive elements in local
                    memory, the lanes scan those partial results, a carry goes from tile
                    to tile
    second kernel   only if segments were split into chunks: each chunk but the first
                    folds the carries before it and combines its elements with that

In the last two no group waits for another one, so that any device runs them. Operators
on arrays are left to `segscan.cpu`.
"""

from __future__ import annotations

from dataclasses import replace

from minifut.ir.core import Param
from minifut.ir.kernels import SegScan
from minifut.ir.sizes import ONE, minimum
from minifut.ir.soacs import operand_count
from minifut.ir.types import ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.gpu.lane_groups import LaneGroup, StagedTile, lane_group, tiles
from minifut.lowering.gpu.work_distribution import (
    ElementValues,
    WorkDistribution,
    bind_segment,
    combine,
    count_segments,
    distribute,
    each_task,
    fold_group,
    later_chunks,
    launch,
    outer_indices,
    parallel_region,
)
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import works_on_scalars
from minifut.lowering.segred.gpu import allocate_mapped, body_at, is_light
from minifut.lowering.segscan import cpu as segscan_cpu
from minifut.lowering.segscan.look_back import LOOK_BACK, look_back_scan


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegScan) -> None:
    """Scan every segment; bind the results."""
    if not all(map(works_on_scalars, operation.operators)):
        segscan_cpu.lower(host, pattern, operation)
        return
    count = operand_count(operation.operators)
    types = [element_of(t) for t in operation.types[:count]]
    group = fold_group(host, types, 3)
    segments, length = count_segments(host, operation.space)
    cut = distribute(host, segments, length, group)
    shape = host.sizes(operation.space.sizes)
    several = host.let_size(minimum(cut.chunks - 1, ONE), "several")
    one_pass = host.let_size(several * host.parameter(LOOK_BACK), "one_pass")
    results, carries = [], []
    for type_, bound in zip(types, pattern, strict=False):
        results.append(host.allocate_result(bound, type_, shape))
        base = f"{bound.name.base}_carry"
        carry_count = cut.tasks * (several - one_pass)
        carries.append(host.allocate(type_, (carry_count,), base))
    mapped = allocate_mapped(host, pattern, operation)
    look_back_scan(host, operation, cut, types, (results, mapped), one_pass)
    groups = host.let_size(cut.groups * (ONE - one_pass), "groups")
    cut = replace(cut, groups=groups)
    _first(host, operation, cut, types, results, mapped, carries)
    _second(host, operation, cut, types, results, carries)
    host.bind_all(pattern, (*results, *mapped))


def _first(
    host: HostBuilder,
    operation: SegScan,
    cut: WorkDistribution,
    types: list[ScalarType],
    results: list[Array],
    mapped: list[Array],
    carries: list[Array],
) -> None:
    k = host.kernel("scan")
    with each_task(k, cut) as task:
        outer = bind_segment(k, operation.space, task.segment)
        point = body_at(k, operation, outer, mapped)
        lanes = lane_group(k, operation.operators, types, task, cut.group)
        carry = lanes.neutral("carry")
        with tiles(lanes) as tile:
            tile.fill(point, is_light(operation.body))
            scan_tile(lanes, tile, carry)
            tile.write(results, outer)
        last = task.active & task.lane.equals(0)
        with k.branch(last & (k.size_value(cut.chunks) > 1)):
            for array, value in zip(carries, carry, strict=True):
                k.write(array, (task.task,), value)
    launch(host, k, cut)


def scan_tile(lanes: LaneGroup, tile: StagedTile, carry: list[kc.Variable]) -> None:
    """Scan the elements of a tile in place, starting from `carry`; then a barrier, and
    `carry` is the last prefix of the tile."""
    k, task = lanes.k, lanes.task
    prefixes = tile.prefixes()
    before = [k.declare("before", value) for value in carry]
    with parallel_region(k):
        with k.branch(task.lane > 0):
            lanes.combine_right(before, prefixes.before)
        tile.scan(before)
        lanes.combine_right(carry, prefixes.total)


def _second(
    host: HostBuilder,
    operation: SegScan,
    cut: WorkDistribution,
    types: list[ScalarType],
    results: list[Array],
    carries: list[Array],
) -> None:
    k = host.kernel("scan_carry")
    over = later_chunks(host, cut)
    with each_task(k, over) as task:
        outer = outer_indices(k, operation.space, task.segment)
        chunks = k.size_value(cut.chunks)
        later = k.size_value(over.chunks)
        number = k.declare("number", task.task - task.segment * later + 1)
        row = k.declare("row", task.segment * chunks)
        lanes = lane_group(k, operation.operators, types, task, cut.group)
        carry = _fold_before(lanes, carries, row, number)
        first = k.declare("start", number * task.chunk)
        full = kc.Call("min", (first + task.chunk, k.size_value(cut.length)), kc.LONG)
        end = k.declare("end", kc.Select(task.active, full, first, kc.LONG))
        own = first + task.lane
        loop = k.loop("at", end, own, task.lanes, extent=task.chunk)
        with parallel_region(k), loop as at:
            old = [k.declare("old", k.read(r, (*outer, at))) for r in results]
            new = combine(k, operation.operators, carry, old)
            for result, value in zip(results, new, strict=True):
                k.write(result, (*outer, at), value)
    launch(host, k, over)


def _fold_before(
    lanes: LaneGroup, carries: list[Array], row: kc.Expression, number: kc.Expression
) -> ElementValues:
    """The carries of the chunks before `number`, folded."""
    k, task = lanes.k, lanes.task
    own = lanes.neutral("own")
    share = k.declare("share", (number + task.lanes - 1) // task.lanes)
    begin = k.declare("begin", task.lane * share)
    stop = kc.Call("min", (begin + share, number), kc.LONG)
    end = k.declare("stop", kc.Select(task.active, stop, begin, kc.LONG))
    with parallel_region(k), k.loop("at", end, begin, extent=share) as at:
        place = row + at
        lanes.combine_right(own, [k.read(array, (place,)) for array in carries])
    return lanes.tree(own, everywhere=True)
