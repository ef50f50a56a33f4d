"""Segmented reductions under the GPU schedule.

    segred grid (i < n, j < m) {add, 0} { x }  :  [n]t

    first kernel    each task (see `gpu.work_distribution`) is reduced by its lanes:
                    every lane folds elements into registers, with several loads in
                    flight, then the lanes combine in a tree in local memory
    second kernel   only if segments were cut into chunks: the chunks' values, in order

With a commutative operator lane i has the elements i, i + t, ... of its task (cyclic
distribution). Otherwise the order is kept: a tile of elements is staged in local
memory, each lane folds consecutive ones (block distribution), and a tree that keeps the
order gives the value of the tile. Operators on arrays are left to `segred.cpu`: groups
of one work-item, which any device runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from minifut.ir.core import Index, Param, ScalarOp, SizeExp
from minifut.ir.kernels import KernelBody, Returns, SegRed, SegScan
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, minimum
from minifut.ir.soacs import operand_count
from minifut.ir.types import ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.gpu.lane_groups import Element, LaneGroup, lane_group, tiles
from minifut.lowering.gpu.work_distribution import (
    ElementValues,
    SegmentTask,
    WorkDistribution,
    bind_segment,
    count_segments,
    distribute,
    each_task,
    fold_group,
    launch,
    outer_indices,
    parallel_region,
    whole_segments,
)
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import OF_ARRAYS, commutes, works_on_scalars
from minifut.lowering.segred import cpu as segred_cpu
from minifut.lowering.threads.builder import KernelBuilder
from minifut.rewrite.context import Context
from minifut.rewrite.rule import Declined, decision

FoldElement = Callable[[LaneGroup, Element], ElementValues]
"""emits how the lanes of a task fold its elements"""
LOADS_IN_FLIGHT = 4
"""of a lane: 2048 work-items with a load of 4 bytes each cover 60 % of the latency of
an H200's memory at its full bandwidth"""
LIGHT_STATEMENTS = 8
"""of a body that is emitted once for each load in flight"""


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegRed) -> None:
    """Reduce every segment; bind the results."""
    fold: FoldElement
    if distribute_cyclically.fires(operation, host):
        in_flight = LOADS_IN_FLIGHT if is_light(operation.body) else 1
        fold, per_item = partial(reduce_strided, in_flight=in_flight), 1
    elif distribute_in_blocks.fires(operation, host):
        light = is_light(operation.body)
        fold, per_item = partial(reduce_in_order, light=light), 3
    else:
        segred_cpu.lower(host, pattern, operation)
        return
    count = operand_count(operation.operators)
    types = [element_of(t) for t in operation.types[:count]]
    group = fold_group(host, types, per_item)
    segments, length = count_segments(host, operation.space)
    cut = distribute(host, segments, length, group)
    outer = tuple(host.size(size) for size in operation.space.sizes[:-1])
    results = [
        host.allocate_result(p, t, outer) for t, p in zip(types, pattern, strict=False)
    ]
    mapped = allocate_mapped(host, pattern, operation)
    several = minimum(cut.chunks - 1, ONE)
    partials = [
        host.allocate(t, (cut.tasks * several,), f"{p.name.base}_parts")
        for t, p in zip(types, pattern, strict=False)
    ]
    whole = Whole(operation, types, fold)
    _first(host, whole, cut, results, mapped, partials)
    again = whole_segments(host, segments, cut.chunks, group, several)
    _second(host, whole, again, results, partials)
    host.bind_all(pattern, (*results, *mapped))


@immutable
class Whole:
    """What is reduced, the types of its operands, and how a group folds a task."""

    operation: SegRed
    types: list[ScalarType]
    fold: FoldElement

    def reduce(
        self, k: KernelBuilder, task: SegmentTask, cut: WorkDistribution, point: Element
    ) -> ElementValues:
        """The value of a task, in the variables of its lane 0."""
        lanes = lane_group(k, self.operation.operators, self.types, task, cut.group)
        return self.fold(lanes, point)


def is_light(body: KernelBody) -> bool:
    """Whether a body is little but loads, of which several should be in flight."""
    light = (Index, ScalarOp, SizeExp)
    statements = body.statements
    return len(statements) <= LIGHT_STATEMENTS and all(
        isinstance(statement.exp, light) for statement in statements
    )


@decision()
def distribute_cyclically(operation: SegRed, context: Context) -> bool | Declined:
    """Distribute the elements of a task cyclically over the lanes of a group.

    before:
        given (n: i64, xs: [n]i32)
        let s: i32 = segred grid (i < n) operator(add_i32, (0i32), []) -> (i32) {
          let x: i32 = xs[i]
          return returns x
        }
    after:
        ROUNDS(long, at, start + lane, last, step_1, chunk) {
        ..
            int x_3 = xs[i_3];
            int c = (int)((uint)sum + (uint)x);
            int combined = c;
            sum = combined;
        ..
        ROUNDS(long, at_1, rest, end, lanes_1, step_1) {
            int x_4 = xs[at_1];
        ..
        while (count_1 > 1L) {
            long bits = (count_1 > 2L) ? 2L : 1L;
            long first_1 = local_1 << bits;
            long beyond = (local_1 + 1L) << bits;
        ..
            barrier(CLK_LOCAL_MEM_FENCE);
            if (beyond <= left) {
    declines: the operator does not commute
        like before of distribute_in_blocks
    """
    if not all(map(works_on_scalars, operation.operators)):
        return Declined(OF_ARRAYS)
    if not all(map(commutes, operation.operators)):
        return Declined("the operator does not commute")
    return True


@decision()
def distribute_in_blocks(operation: SegRed, context: Context) -> bool | Declined:
    """Distribute the elements of a task in blocks: each lane folds consecutive ones,
    and lanes are combined in order.

    before:
        like before of distribute_cyclically, with
        add_i32 => \\(a: i32, b: i32) -> (i32) {
        => let none: bool = eq_i32(b, 0i32)
        => let c: i32 = if none then {a} else {b}
        => return c
        => }
    after:
        if (full) {
            for (long r = 0L; r < STAGED_ELEMENTS; r++) {
                long step_1 = (r * lanes_1) + lane;
                long at = first + step_1;
                int x = xs[at];
                staged[tile_place + step_1] = x;
            }
        } else {
        ..
        int own_1 = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        ..
        int shared = staged[place_1];
    declines: the operator combines arrays
        given (n: i64, xs: [n][2]i32)
        let none: [2]i32 = replicate([2], 0i32)
        let s: [2]i32 = segred grid (i < n)
            operator(\\(a: [2]i32, b: [2]i32) -> ([2]i32) {b}, (none), []) -> ([2]i32) {
          return returns xs[i]
        }
    """
    if not all(map(works_on_scalars, operation.operators)):
        return Declined(OF_ARRAYS)
    return True


def allocate_mapped(
    host: HostBuilder, pattern: tuple[Param, ...], operation: SegRed | SegScan
) -> list[Array]:
    """Memory for the results of the body besides the operands."""
    count = operand_count(operation.operators)
    return [
        host.allocate_result(p, element_of(p.type), host.shape(p.type))
        for p in pattern[count:]
    ]


def _first(
    host: HostBuilder,
    whole: Whole,
    cut: WorkDistribution,
    results: list[Array],
    mapped: list[Array],
    partials: list[Array],
) -> None:
    operation = whole.operation
    k = host.kernel("reduce")
    with each_task(k, cut) as task:
        outer = bind_segment(k, operation.space, task.segment)
        point = body_at(k, operation, outer, mapped)
        total = whole.reduce(k, task, cut, point)
        with k.branch(task.active & task.lane.equals(0)):
            with k.branch(k.size_value(cut.chunks).equals(1)):
                for result, value in zip(results, total, strict=True):
                    k.write(result, outer, value)
            with k.otherwise():
                for part, value in zip(partials, total, strict=True):
                    k.write(part, (task.task,), value)
    launch(host, k, cut)


def _second(
    host: HostBuilder,
    whole: Whole,
    cut: WorkDistribution,
    results: list[Array],
    partials: list[Array],
) -> None:
    operation = whole.operation
    k = host.kernel("reduce_parts")
    with each_task(k, cut) as task:
        start = k.declare("first", task.segment * k.size_value(cut.length))

        def point(at: kc.Expression) -> ElementValues:
            return tuple(k.read(part, (start + at,)) for part in partials)

        total = whole.reduce(k, task, cut, point)
        with k.branch(task.active & task.lane.equals(0)):
            outer = outer_indices(k, operation.space, task.segment)
            for result, value in zip(results, total, strict=True):
                k.write(result, outer, value)
    launch(host, k, cut)


def body_at(
    k: KernelBuilder,
    operation: SegRed | SegScan,
    outer: tuple[kc.Expression, ...],
    mapped: list[Array],
) -> Element:
    """The body as a function of the innermost index."""
    count = operand_count(operation.operators)

    def point(at: kc.Expression) -> ElementValues:
        index = k.bind_index(operation.space.indices[-1], at)
        k.statements_of(operation.body.statements)
        values = []
        for position, result in enumerate(operation.body.result):
            assert isinstance(result, Returns)
            if position < count:
                values.append(k.scalar(result.value))
            else:
                target = mapped[position - count]
                k.write(target, (*outer, index), k.atom(result.value))
        return tuple(values)

    return point


def reduce_strided(
    lanes: LaneGroup, point: Element, in_flight: int = 1
) -> ElementValues:
    """Cyclic distribution: lane i folds the elements i, i + t, i + 2 t, ...

    So many loads are `in_flight`: the main loop computes that many elements before it
    folds the first of them, in the same order.
    """
    k, task = lanes.k, lanes.task
    own = lanes.neutral("sum")
    first, extent = task.start + task.lane, task.chunk
    with parallel_region(k):
        if in_flight > 1:
            rest = k.declare("rest", first)
            last = k.declare("last", task.end - task.lanes * (in_flight - 1))
            step = k.declare("step", task.lanes * in_flight)
            with k.loop("at", last, first, step, extent=task.chunk) as at:
                places = [at + task.lanes * i for i in range(in_flight)]
                for values in [point(place) for place in places]:
                    lanes.combine_right(own, values)
                k.assign(rest, at + step)
            first, extent = rest, step
        with k.loop("at", task.end, first, task.lanes, extent=extent) as at:
            lanes.combine_right(own, point(at))
    return lanes.tree(own)


def reduce_in_order(lanes: LaneGroup, point: Element, light: bool) -> ElementValues:
    """Block distribution, tile by tile: every lane folds consecutive elements, whose
    code may be `light`."""
    k = lanes.k
    total = lanes.neutral("sum")
    with tiles(lanes) as tile:
        tile.fill(point, light)
        own = lanes.neutral("own")
        with parallel_region(k), tile.consecutive() as place:
            lanes.combine_right(own, tile.staged.get(place))
        part = lanes.tree(own)
        with parallel_region(k):
            lanes.combine_right(total, part)
    return tuple(total)
