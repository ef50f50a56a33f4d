"""The loop over a chunk of a reduction, several points at once: rules, of which the
first that does not refuse does it.

    interleave_fold      explicit vectors, points dealt to lanes in turn
    fill_running_values  acc[0:64] = neutral
                         for j by 64:  for l < 64:  acc[l] = acc[l] + xs[j + l]
                         combine acc[0:64] in halves
    divide_fold          explicit vectors, each lane has a stretch of its own
    divide_into_parts    four parts side by side, combined in order

Explicit vectors (`lanes.loops`) are for bodies with loops, and for operators that
branch or mix components. Of a loop over 64 independent running values the compiler of
the device makes vectors itself, map part included, for any tuple of scalars; but it
keeps them in memory. One running value alone is bound by the latency of its operator,
hence the four parts.
"""

from __future__ import annotations

from functools import cache

from minifut.ir.kernels import SegBinOp
from minifut.ir.sizes import Size
from minifut.ir.types import ArrayType, element_of
from minifut.kernel_code.cpu.reduction import (
    HEAVY,
    Chunk,
    combine_lane,
    lane_memories,
    store_neutral,
)
from minifut.kernel_code.cpu.vector_operators import point_code, scalar_places
from minifut.kernel_code.cpu.widths import site_of
from minifut.kernel_code.lanes.loops import DEALT, divide_fold, interleave_fold
from minifut.kernel_code.lanes.operators import Fold
from minifut.kernel_code.lanes.rule import Outcome
from minifut.kernel_code.operators import Place, State
from minifut.kernel_code.rule import CodeRule, Site, Told, lowering_rule
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_code.threads.register_tiles import Tile, each_register, new_tile
from minifut.kernel_ir import nodes as kc
from minifut.names import Name
from minifut.rewrite.rule import Declined

RUNNING = 64
"""running values at once where the operator commutes"""
PARTS = 4
"""of a chunk, reduced side by side where the order must be kept"""
COPIES = (Size.constant(PARTS),)


def reduce_chunk(k: KernelBuilder, chunk: Chunk) -> None:
    """Reduce most of a chunk into a state that is neutral; its `start` becomes the
    first point left over, which is all of them if no rule does it."""
    if not chunk.reduction.light:
        _reduce_most(k, chunk)
        return
    first, last = chunk.ends
    with k.branch(last - first >= RUNNING):
        _reduce_most(k, chunk)


def _reduce_most(k: KernelBuilder, chunk: Chunk) -> None:
    fold = fold_of(k, chunk)
    tried: tuple[tuple[CodeRule, Fold | Chunk, Site], ...] = (
        (interleave_fold, fold, site_of(k)),
        (fill_running_values, chunk, k),
        (divide_fold, fold, site_of(k)),
        (divide_into_parts, chunk, k),
    )
    refusals = []
    for rule, statement, site in tried:
        outcome: Outcome = rule(statement, site)
        if isinstance(outcome, tuple):
            k.statements.extend(outcome)
            return
        if isinstance(outcome, Declined):
            refusals.append(kc.Comment(f"no {rule.name}: {outcome.reason}"))
    k.statements.extend(refusals)


def fold_of(k: KernelBuilder, chunk: Chunk) -> Fold:
    """The loop over a chunk, as rules get it that make vectors."""
    reduction = chunk.reduction
    return Fold(
        cache(lambda: point_code(k, reduction, chunk.segment)),
        tuple(scalar_places(chunk.state)),
        *chunk.ends,
        chunk.start,
        commutes=reduction.commutes,
        light=reduction.light,
        plain=reduction.light and reduction.is_simple,
    )


@lowering_rule(tell=lambda _, k: Told((f"{RUNNING} values in {k.base}",)))
def fill_running_values(chunk: Chunk, k: KernelBuilder) -> Outcome:
    """Deal points in turn to running values in an array, of which the compiler of the
    device makes vectors.

    before:
        given (n: i64, xs: [n]i32)
        let s: i32 = segred grid (i < n)
            operator(\\(a: i32, b: i32) -> (i32) {
              let c: i32 = add_i32(a, b)
              return c
            }, (0i32), []) -> (i32) {
          let x: i32 = xs[i]
          let y: i32 = mul_i32(x, x)
          return returns y
        }
    after:
        for (long l = 0L; l < 64L; l++) {
            lane[l] = 0;
        }
        for (long i = 0L; i < start; i += 64L) {
            for (long l_1 = 0L; l_1 < 64L; l_1++) {
                long i_1 = i + l_1;
                int x = xs[i_1];
                int y = (int)((uint)x * (uint)x);
                int left = lane[l_1];
                int c = (int)((uint)left + (uint)y);
                lane[l_1] = c;
            }
        }
        for (long l_2 = 0L; l_2 < 32L; l_2++) {
        ..
        for (long l_7 = 0L; l_7 < 1L; l_7++) {
            int right_5 = lane[l_7 + 1L];
        ..
        acc = lane[0L];
    declines: the operator does not commute
        given (n: i64, xs: [n]i32)
        let s: i32 = segred grid (i < n)
            operator(\\(a: i32, b: i32) -> (i32) {
              let none: bool = eq_i32(b, 0i32)
              let c: i32 = if none then {a} else {b}
              return c
            }, (0i32), []) -> (i32) {
          let x: i32 = xs[i]
          return returns x
        }
    """
    reduction, state = chunk.reduction, chunk.state
    if not reduction.commutes:
        return Declined("the operator does not commute")
    if not reduction.light:
        return Declined(HEAVY)
    first, last = chunk.ends
    with k.nested() as made:
        memories = lane_memories(k, reduction.types, RUNNING)
        k.assign(chunk.start, last - (last - first) % RUNNING)
        with k.loop("l", RUNNING) as lane:
            store_neutral(k, reduction.operators, memories, lane)
        blocks = k.loop("i", chunk.start, first, RUNNING)
        with blocks as index, k.loop("l", RUNNING) as lane:
            values = reduction.visit(k, chunk.segment, index + lane)
            combine_lane(k, reduction.operators, memories, lane, values)
        # Halves of constant size cost a copy of the operator each, but little time.
        half = RUNNING // 2
        while half:
            with k.loop("l", half) as lane:
                values = [k.declare("right", k.load(m, lane + half)) for m in memories]
                combine_lane(k, reduction.operators, memories, lane, values)
            half //= 2
        for place, memory in zip(state.all_places, memories, strict=True):
            assert isinstance(place, kc.Variable)
            k.assign(place, k.load(memory, 0))
    return tuple(made)


@lowering_rule(tell=lambda _, k: Told((f"{PARTS} parts in {k.base}",)))
def divide_into_parts(chunk: Chunk, k: KernelBuilder) -> Outcome:
    """Reduce equal parts of a chunk side by side, each in its order, then combine them
    in order.

    before:
        given (n: i64, xs: [n]i32)
        let s: i32 = segred grid (i < n)
            operator(\\(a: i32, b: i32) -> (i32) {
              let none: bool = eq_i32(b, 0i32)
              let c: i32 = if none then {a} else {b}
              return c
            }, (0i32), []) -> (i32) {
          let x: i32 = xs[i]
          return returns x
        }
    after:
        long each_1 = n / 4L;
        ..
        for (long i = 0L; i < each_1; i++) {
            $for r_2 < 4
                {
                    long i_1 = (each_1 * (${r_2})) + i;
                    int x = xs[i_1];
                    bool none = x == 0;
                    int c;
                    if (none) {
        ..
        start = each_1 * 4L;
        ..
        for (long i_2 = start; i_2 < n; i_2++) {
    declines: has loops, checks or arrays
        given (n: i64, xs: [n]i64)
        let s: i64 = segred grid (i < n)
            operator(\\(a: i64, b: i64) -> (i64) {
              let none: bool = eq_i64(b, 0i64)
              let c: i64 = if none then {a} else {b}
              return c
            }, (0i64), []) -> (i64) {
          let x: i64 = xs[i]
          let y: i64 = loop (y_1: i64 = x) for j: i64 < 3i64 do {
            let z: i64 = div_i64(y_1, 3i64)
            return z
          }
          return returns y
        }
    """
    reduction, state = chunk.reduction, chunk.state
    if reduction.commutes:
        return Declined(DEALT)
    if not reduction.light:
        return Declined(HEAVY)
    first, last = chunk.ends
    with k.nested() as made:
        part = k.named((last - first) // PARTS, "each")
        tiles = _for_each_part(k, reduction.operators)

        def running(number: Name) -> State:
            places: list[list[Place]] = [[t.at((number,)) for t in ts] for ts in tiles]
            return State(k, reduction.operators, places)

        with each_register(k, COPIES) as (number,):
            running(number).reset()
        with k.loop("i", part) as i, each_register(k, COPIES) as (number,), k.scope():
            begin = first + part * kc.SizeValue(Size.of(number))
            values = reduction.visit(k, chunk.segment, begin + i)
            running(number).combine(values, reassociate=True)
        with each_register(k, COPIES) as (number,), k.scope():
            state.combine(list(running(number).all_places))
        k.assign(chunk.start, first + part * PARTS)
    return tuple(made)


def _for_each_part(
    k: KernelBuilder, operators: tuple[SegBinOp, ...]
) -> list[list[Tile]]:
    """Running values of all operators for each part."""
    return [
        [
            new_tile(k, ArrayType(element_of(t), COPIES), "acc")
            for t in o.operator.results
        ]
        for o in operators
    ]
