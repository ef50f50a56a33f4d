"""Reductions and scans by the threads of a group (the GPU schedule).

    segred thread (i < n, j < m) {add, 0} {..}     n segments of m elements

A segment is assigned to t neighbouring lanes, t the power of two that covers it, at
most the group; so a group works on several short segments at once. Lanes fold elements
into registers (distributed cyclically if the operator commutes, else in blocks), then
combine in a tree or a prefix scan in local memory; see `gpu.lane_groups`. A reduction
without segments gives scalars, which all threads have.

Operators on arrays: a segment is the work of one thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from minifut.ir.core import Stm
from minifut.ir.kernels import SegRed, SegScan
from minifut.ir.sizes import Size, product
from minifut.ir.soacs import operand_count
from minifut.ir.types import ArrayType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.gpu.lane_groups import Element, LaneGroup, lane_group
from minifut.lowering.gpu.work_distribution import (
    ElementValues,
    SegmentTask,
    bind_segment,
    parallel_region,
)
from minifut.lowering.groups.gpu_builder import GroupBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators, returned, works_on_scalars
from minifut.lowering.segred import gpu


def lower_segred(k: GroupBuilder, stm: Stm, exp: SegRed) -> None:
    """Reduce every segment; bind the results."""
    fold: gpu.FoldElement
    if gpu.distribute_cyclically.fires(exp, k):
        fold = gpu.reduce_strided
    elif gpu.distribute_in_blocks.fires(exp, k):
        fold = _reduce_consecutive
    else:
        _one_segment_per_thread(k, stm, exp)
        return
    count, has_segments = operand_count(exp.operators), len(exp.space.sizes) > 1
    results = [k.fresh(bound) for bound in stm.pattern[:count] if has_segments]
    mapped = [k.fresh(bound) for bound in stm.pattern[count:]]
    with _segment_lanes(k, exp, mapped) as (lanes, at, point):
        total = fold(lanes, point)
        if has_segments:
            with k.branch(lanes.task.active & lanes.task.lane.equals(0)):
                for result, value in zip(results, total, strict=True):
                    k.write(result, at, value)
    if not has_segments:
        k.bind_all([bound.name for bound in stm.pattern[:count]], total)
    _bind_arrays(k, stm, [*results, *mapped])


def lower_segscan(k: GroupBuilder, stm: Stm, exp: SegScan) -> None:
    """Scan every segment; bind the results."""
    if not all(map(works_on_scalars, exp.operators)):
        _one_segment_per_thread(k, stm, exp)
        return
    count = operand_count(exp.operators)
    made = [k.fresh(bound) for bound in stm.pattern]
    results, mapped = made[:count], made[count:]
    with _segment_lanes(k, exp, mapped) as (lanes, at, point):
        own = lanes.neutral("own")
        with parallel_region(k), consecutive(k, lanes.task) as index:
            lanes.combine_right(own, point(index))
            for result, value in zip(results, own, strict=True):
                k.write(result, (*at, index), value)
        before = lanes.prefixes(own).before
        later = k.branch(lanes.task.lane > 0)
        with parallel_region(k), later, consecutive(k, lanes.task) as index:
            after = [k.declare("own", k.read(r, (*at, index))) for r in results]
            lanes.combine_left(before, after)
            for result, value in zip(results, after, strict=True):
                k.write(result, (*at, index), value)
    _bind_arrays(k, stm, made)


@contextmanager
def _segment_lanes(
    k: GroupBuilder, exp: SegRed | SegScan, mapped: list[Array]
) -> Iterator[tuple[LaneGroup, tuple[kc.Expression, ...], Element]]:
    """The lanes of each segment, its indices, and its elements; what else these give
    goes to arrays."""
    types = [element_of(type_) for type_ in exp.types[: operand_count(exp.operators)]]
    *outer, length = map(k.resolve, exp.space.sizes)
    with k.cooperative_region(), tasks(k, tuple(outer), length) as task:
        at = bind_segment(k, exp.space, task.segment)
        lanes = lane_group(k, exp.operators, types, task, k.group)
        yield lanes, at, gpu.body_at(k, exp, at, mapped)


def _bind_arrays(k: GroupBuilder, stm: Stm, arrays: Sequence[Array]) -> None:
    """Bind the last elements of the pattern."""
    bound = stm.pattern[len(stm.pattern) - len(arrays) :]
    k.bind_all([p.name for p in bound], arrays)


# --- segments and lanes -------------------------------------------------------------


@contextmanager
def tasks(
    k: GroupBuilder, outer: tuple[Size, ...], length: Size
) -> Iterator[SegmentTask]:
    """A loop over the segments, uniform in the group."""
    local, width = k.local, k.width
    zero = kc.Literal(0, kc.LONG)
    chunk = k.named(k.size_value(length), "length")
    lanes = k.declare("lanes", kc.Literal(1, kc.LONG))
    with k.while_loop((lanes * 2 <= width) & (lanes < chunk)):
        k.assign(lanes, lanes * 2)
    if not outer:
        # others, too, count as lanes of the one segment, and get its value
        active = k.declare("active", local < lanes)
        end = k.declare("end", kc.Select(active, chunk, zero, kc.LONG))
        yield SegmentTask(local, lanes, local, zero, active, zero, zero, end, chunk)
        return
    lane = k.declare("lane", local % lanes)
    own = k.declare("own", local // lanes)
    segments = k.named(k.size_value(product(outer)), "segments")
    per_round = k.declare("per_round", width // lanes)
    rounds = k.declare("rounds", (segments + per_round - 1) // per_round)
    with k.loop("round", rounds) as number:
        task = k.declare("segment", number * per_round + own)
        active = k.declare("active", (own < per_round) & (task < segments))
        end = k.declare("end", kc.Select(active, chunk, zero, kc.LONG))
        yield SegmentTask(lane, lanes, local, task, active, task, zero, end, chunk)


@contextmanager
def consecutive(k: GroupBuilder, task: SegmentTask) -> Iterator[kc.Variable]:
    """The elements of this lane: a block of consecutive ones."""
    share = k.declare("share", (task.chunk + task.lanes - 1) // task.lanes)
    first = k.declare("first", task.lane * share)
    least = kc.Call("min", (first + share, task.end), kc.LONG)
    with k.loop("at", k.declare("stop", least), first, extent=share) as index:
        yield index


def _reduce_consecutive(lanes: LaneGroup, point: Element) -> ElementValues:
    """Block distribution: each lane folds consecutive elements, so order is kept."""
    k = lanes.k
    assert isinstance(k, GroupBuilder)
    own = lanes.neutral("sum")
    with parallel_region(k), consecutive(k, lanes.task) as index:
        lanes.combine_right(own, point(index))
    return lanes.tree(own)


# --- operators on arrays ------------------------------------------------------------


def _one_segment_per_thread(k: GroupBuilder, stm: Stm, exp: SegRed | SegScan) -> None:
    """A thread reduces or scans a segment from its first element to its last."""
    count = operand_count(exp.operators)
    scans = isinstance(exp, SegScan)
    outer = tuple(k.resolve(size) for size in exp.space.sizes[:-1])
    whole = tuple(k.resolve(size) for size in exp.space.sizes)
    made = []
    for position, (bound, type_) in enumerate(zip(stm.pattern, exp.types, strict=True)):
        if isinstance(bound.type, ArrayType):
            made.append(k.fresh(bound))
            continue
        spaces = whole if scans or position >= count else outer
        made.append(k.new_array(element_of(type_), spaces, bound.name.base))
    results, mapped = made[:count], made[count:]
    with k.thread_region(), k.points(outer) as at:
        k.bind_indices(exp.space.indices[:-1], at)
        accumulators = Accumulators(k, exp.operators)
        accumulators.reset()
        with k.loop("at", k.size_value(whole[-1])) as last:
            k.bind(exp.space.indices[-1], last)
            k.statements_of(exp.body.statements)
            values = returned(k, exp.body)
            accumulators.combine(values[:count])
            if scans:
                accumulators.save(results, (*at, last))
            for array, value in zip(mapped, values[count:], strict=True):
                k.write(array, tuple(map(k.as_size, (*at, last))), value)
        if not scans:
            accumulators.save(results, at)
    for bound, array in zip(stm.pattern, made, strict=True):
        if isinstance(bound.type, ArrayType):
            k.bind(bound.name, array)
        else:
            with k.access_region():
                k.define(bound, k.read(array, ()))
