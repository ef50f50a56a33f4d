"""The loop over a chunk of a reduction, with several accumulators: the first of these
rules that fires emits it.

    distribute_fold_cyclically    explicit vectors, points distributed cyclically
    distribute_selection_cyclically  the same, with positions, for the greatest element
    accumulate_in_array           acc[0:64] = neutral
                                  for j by 64:  for l < 64:  acc[l] = acc[l] + xs[j + l]
                                  tree reduction of acc[0:64]
    distribute_fold_in_blocks     explicit vectors, points distributed in blocks
    fold_vectors_in_order         explicit vectors, their lanes combined in order
    split_into_parts              four parts of the chunk interleaved, combined in order

Explicit vectors (`lanes.loops`) are for bodies with loops, for operators that branch or
mix components, for several components, and where whole vectors are read. A loop over 64
independent accumulators the device's compiler vectorises itself, gathers included; but
it keeps them in memory, so that each takes a store, and combining them as long as some
hundred elements: of rows in caches, most of the time. A single accumulator is
bound by the latency of its operator, hence the four parts.
"""

from __future__ import annotations

from functools import cache, partial

from minifut.ir.sizes import Size
from minifut.ir.types import ArrayType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import KernelOutcome
from minifut.kernel_passes.split_block import emit_split
from minifut.kernel_passes.vectorise.block_folds import distribute_fold_in_blocks
from minifut.kernel_passes.vectorise.context import loop_context
from minifut.kernel_passes.vectorise.folds import COMMUTES, distribute_fold_cyclically
from minifut.kernel_passes.vectorise.operators import Fold
from minifut.kernel_passes.vectorise.ordered_folds import fold_vectors_in_order
from minifut.kernel_passes.vectorise.short_folds import fewest_with_masks
from minifut.lowering.cpu.reduction import (
    EXPENSIVE,
    ReductionChunk,
    combine_lane,
    lane_accumulators,
    store_neutral,
)
from minifut.lowering.cpu.vector_operators import point_code, scalar_places
from minifut.lowering.operators import AccumulatorPlace, Accumulators
from minifut.lowering.segred.selections import distribute_selection_cyclically
from minifut.lowering.threads.builder import KernelBuilder
from minifut.lowering.threads.register_tiles import each_register, new_tile
from minifut.names import Name
from minifut.rewrite.context import Context
from minifut.rewrite.rule import Declined, Remark, Rule, rule

ACCUMULATORS = 64
"""independent accumulators where the operator commutes"""
PARTS = 4
"""interleaved parts of a chunk where the order must be kept"""
PART_COUNTS = (Size.constant(PARTS),)


def reduce_chunk(k: KernelBuilder, chunk: ReductionChunk) -> None:
    """Reduce most of a chunk into a neutral accumulators; its `start` becomes the first
    point of the remainder loop, the chunk's first if no rule fires."""
    fold = fold_of(k, chunk)
    with k.nested() as most:
        fired = _reduce_most(k, chunk, fold)
    if not chunk.reduction.is_cheap:
        k.statements.extend(most)
        return
    first, last = chunk.ends
    masked = fewest_with_masks(fold) if fired is distribute_fold_cyclically else None
    enough = last - first >= (masked or ACCUMULATORS)
    k.emit(kc.Branch(enough, kc.Block(tuple(most))))


def _reduce_most(k: KernelBuilder, chunk: ReductionChunk, fold: Fold) -> Rule | None:
    """Emit what the first rule that fires makes of it; which that is."""
    tried: tuple[tuple[Rule, Fold | ReductionChunk, Context], ...] = (
        (distribute_fold_cyclically, fold, loop_context(k)),
        (distribute_selection_cyclically, chunk, k),
        (accumulate_in_array, chunk, k),
        (distribute_fold_in_blocks, fold, loop_context(k)),
        (fold_vectors_in_order, fold, loop_context(k)),
        (split_into_parts, chunk, k),
    )
    declined = []
    for candidate, node, context in tried:
        outcome: KernelOutcome = candidate(node, context)
        if isinstance(outcome, tuple):
            k.statements.extend(outcome)
            return candidate
        if isinstance(outcome, Declined):
            declined.append(kc.Comment(f"no {candidate.name}: {outcome.reason}"))
    k.statements.extend(declined)
    return None


def fold_of(k: KernelBuilder, chunk: ReductionChunk) -> Fold:
    """The loop over a chunk as the vectorising rules take it."""
    reduction = chunk.reduction
    several = len(reduction.types) > 1
    return Fold(
        cache(lambda: point_code(k, reduction, chunk.segment)),
        tuple(scalar_places(chunk.accumulators)),
        *chunk.ends,
        chunk.start,
        commutes=reduction.commutes,
        cheap=reduction.is_cheap,
        plain=reduction.is_cheap and reduction.is_simple and not several,
        short=bool(chunk.segment),
        long=chunk.long,
    )


@rule(remark=lambda _, k: Remark((f"{ACCUMULATORS} accumulators in {k.base}",)))
def accumulate_in_array(chunk: ReductionChunk, k: KernelBuilder) -> KernelOutcome:
    """Distribute points cyclically over an array of accumulators, which the device's
    compiler vectorises.

    before:
        given (n: i64, xs: [n][2]i32)
        let s: i32 = segred grid (i < n) operator(add_i32, (0i32), []) -> (i32) {
          let x: i32 = xs[i, 1i64]
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
                int x = xs[2 * i_1 + 1];
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
        like before of split_into_parts
    """
    reduction, accumulators = chunk.reduction, chunk.accumulators
    if not reduction.commutes:
        return Declined("the operator does not commute")
    if not reduction.is_cheap:
        return Declined(EXPENSIVE)
    first, last = chunk.ends
    with k.nested() as made:
        memories = lane_accumulators(k, reduction.types, ACCUMULATORS)
        k.assign(chunk.start, last - (last - first) % ACCUMULATORS)
        with k.loop("l", ACCUMULATORS) as lane:
            store_neutral(k, reduction.operators, memories, lane)
        streams = chunk.long
        blocks = k.loop("i", chunk.start, first, ACCUMULATORS, streams=streams)
        with blocks as index:
            with k.nested() as block, k.loop("l", ACCUMULATORS) as lane:
                values = reduction.visit(k, chunk.segment, index + lane)
                combine_lane(k, reduction.operators, memories, lane, values)
            emit_split(k, block)
        # A tree with levels of constant size: more code than a loop, but vectorised.
        half = ACCUMULATORS // 2
        while half:
            with k.loop("l", half) as lane:
                values = [k.declare("right", k.load(m, lane + half)) for m in memories]
                combine_lane(k, reduction.operators, memories, lane, values)
            half //= 2
        for place, memory in zip(accumulators.all_places, memories, strict=True):
            assert isinstance(place, kc.Variable)
            k.assign(place, k.load(memory, 0))
    return tuple(made)


@rule(remark=lambda _, k: Remark((f"{PARTS} parts in {k.base}",)))
def split_into_parts(chunk: ReductionChunk, k: KernelBuilder) -> KernelOutcome:
    """Interleave the reductions of equal parts of a chunk, each in its order, then
    combine their results in order.

    before:
        like before of distribute_in_blocks
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
              return if none then {a} else {b}
            }, (0i64), []) -> (i64) {
          let x: i64 = xs[i]
          return returns loop (y_1: i64 = x) for j: i64 < 3i64 do {
            let half: f16 = convert_i64_f16(y_1)
            let bits: u16 = to_bits_f16(half)
            return convert_u16_i64(bits)
          }
        }
    """
    reduction, accumulators = chunk.reduction, chunk.accumulators
    if reduction.commutes:
        return Declined(COMMUTES)
    if not reduction.is_cheap:
        return Declined(EXPENSIVE)
    first, last = chunk.ends
    with k.nested() as made:
        part = k.named((last - first) // PARTS, "each")
        tiles = [
            [
                new_tile(k, ArrayType(element_of(t), PART_COUNTS), "acc")
                for t in o.operator.results
            ]
            for o in reduction.operators
        ]

        def state_of(number: Name) -> Accumulators:
            places: list[list[AccumulatorPlace]] = [
                [t.at((number,)) for t in ts] for ts in tiles
            ]
            return Accumulators(k, reduction.operators, places)

        each_part = partial(each_register, k, PART_COUNTS)
        with each_part() as (number,):
            state_of(number).reset()
        with k.loop("i", part) as i, each_part() as (number,), k.scope():
            begin = first + part * kc.SizeValue(Size.of(number))
            values = reduction.visit(k, chunk.segment, begin + i)
            state_of(number).combine(values, reassociate=True)
        with each_part() as (number,), k.scope():
            accumulators.combine(list(state_of(number).all_places))
        k.assign(chunk.start, first + part * PARTS)
    return tuple(made)
