"""Reductions of scalar code without checks or loops: several running values at once.

    commutes, plain       acc[0:64] = neutral                         "lanes"
                          for j by 64:  for l < 64:  acc[l] = acc[l] + xs[j + l]
                          combine acc[0:64] in halves
    commutes, branches    explicit vectors, see `cpu.vector_fold`; so, too, if the body
                          calls functions
    else                  four parts side by side, combined in order

The loop over 64 independent lanes is what the device's compiler turns into vector
instructions, map part included, for any tuple of scalars; it takes elements in turn, so
the operator must commute. One running value alone is bound by the latency of its
operator, hence the four parts.
"""

from __future__ import annotations

from minifut.kernel_code import nodes as kc
from minifut.kernel_code.cpu.reduction import (
    Reduction,
    combine_lane,
    lane_memories,
    store_neutral,
)
from minifut.kernel_code.cpu.vector_fold import fold_vectors
from minifut.kernel_code.lanes.loops import divide_fold, interleave_fold
from minifut.kernel_code.operators import State
from minifut.kernel_code.threads.builder import KernelBuilder

PLAIN = "of plain operators the compiler of the device makes vectors itself"
FEW = "a light body runs in four parts side by side, as scalars"
PARTS = 4
"""of a chunk, reduced side by side where the order must be kept"""


def reduce_light(
    k: KernelBuilder,
    reduction: Reduction,
    state: State,
    segment: list[kc.Variable],
    ends: tuple[kc.Expression, kc.Expression],
    start: kc.Variable,
) -> None:
    """Reduce most of 64 elements or more; `start` becomes the first left over."""
    in_vectors = reduction.lanes and not reduction.is_simple
    if in_vectors and fold_vectors(k, reduction, state, segment, ends, start):
        return
    if not in_vectors:
        rule, reason = (
            (interleave_fold, PLAIN) if reduction.lanes else (divide_fold, FEW)
        )
        rule.leave(k, reason)
    by = reduce_lanes if reduction.lanes else reduce_parts
    by(k, reduction, state, segment, ends, start)


def reduce_lanes(
    k: KernelBuilder,
    reduction: Reduction,
    state: State,
    segment: list[kc.Variable],
    ends: tuple[kc.Expression, kc.Expression],
    start: kc.Variable,
) -> None:
    """Reduce the elements that fill all lanes; `start` becomes the first left over."""
    lanes = reduction.lanes
    memories = lane_memories(k, reduction.types, lanes)
    first, last = ends
    k.assign(start, last - (last - first) % lanes)
    with k.loop("l", lanes) as lane:
        store_neutral(k, reduction.operators, memories, lane)
    with k.loop("i", start, first, lanes) as index, k.loop("l", lanes) as lane:
        values = reduction.visit(k, segment, index + lane)
        combine_lane(k, reduction.operators, memories, lane, values)
    # Halves of constant size cost a copy of the operator each, but few instructions.
    half = lanes // 2
    while half:
        with k.loop("l", half) as lane:
            values = [k.declare("right", k.load(m, lane + half)) for m in memories]
            combine_lane(k, reduction.operators, memories, lane, values)
        half //= 2
    for place, memory in zip(state.all_places, memories, strict=True):
        assert isinstance(place, kc.Variable)
        k.assign(place, k.load(memory, 0))


def reduce_parts(
    k: KernelBuilder,
    reduction: Reduction,
    state: State,
    segment: list[kc.Variable],
    ends: tuple[kc.Expression, kc.Expression],
    start: kc.Variable,
) -> None:
    """Reduce equal parts side by side, each in its order, then combine them in order;
    `start` becomes the first element left over."""
    first, last = ends
    part = k.named((last - first) // PARTS, "each")
    parts = []
    for number in range(PARTS):
        running = State(k, reduction.operators)
        running.reset()
        parts.append((k.named(first + part * number, "begin"), running))
    with k.loop("i", part) as i:
        for begin, running in parts:
            values = reduction.visit(k, segment, begin + i)
            running.combine(values, reassociate=True)
    for _, running in parts:
        state.combine(list(running.all_places))
    k.assign(start, first + part * PARTS)
