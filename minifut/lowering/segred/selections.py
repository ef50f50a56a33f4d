r"""Reductions by operators that give one of their operands, such as the position of the
greatest element, with points distributed cyclically over lanes.

    \(a, x) (b, y) -> if b > a then (b, y) else (a, x)
  →
    \(a, p) (b, q) -> if a > b || a == b && p < q || a != a then (a, p) else (b, q)
    and then the body once more, at the position p that is left

Where a component is no key, lanes have the position of an element in the place of it,
a last key by which the operator commutes. A NaN wins in it: so it is what is left, and
the chunk is reduced once more, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from minifut.analysis.selections import Key, KeyOrder, key_order_of
from minifut.ir import node
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Body, If, Lambda
from minifut.ir.kernels import KernelBody, KernelResult, Returns, SegBinOp
from minifut.ir.node import divided
from minifut.ir.types import I64, Type
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import KernelOutcome
from minifut.kernel_passes.vectorise.context import loop_context
from minifut.kernel_passes.vectorise.folds import COMMUTES, distribute_fold_cyclically
from minifut.kernel_passes.vectorise.operators import Fold
from minifut.lowering.cpu.reduction import EXPENSIVE, Reduction, ReductionChunk
from minifut.lowering.cpu.vector_operators import point_code, scalar_places
from minifut.lowering.operators import Accumulators, value_types
from minifut.lowering.threads.builder import KernelBuilder
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

BEFORE_ALL = i64(-1)
"""the position of neutral elements"""


@rule(label="asVector")
def distribute_selection_cyclically(
    chunk: ReductionChunk, k: KernelBuilder
) -> KernelOutcome:
    """Distribute points cyclically where the operator gives the operand whose keys win.

    before:
        given (n: i64, xs: [n]f32)
        let (s: f32, t: i64) = segred grid (i < n)
            operator(\\(a: f32, p: i64, b: f32, q: i64) -> (f32, i64) {
              let more: bool = gt_f32(b, a)
              let (c: f32, r: i64) = if more then {b, q} else {a, p}
              return c, r
            }, (-f32.inf, -1i64), []) -> (f32, i64) {
          let x: f32 = xs[i]
          return returns x, returns i
        }
    after:
        float8 lane = ((float8)((-INFINITY)));
        long8 lane_1 = ((long8)((-1L)));
        ..
                left = lane;
    declines: the operator gives none of its operands
        like before of split_into_parts
    """
    reduction = chunk.reduction
    if reduction.commutes:
        return Declined(COMMUTES)
    if not reduction.is_cheap:
        return Declined(EXPENSIVE)
    if reduction.outs:
        return Declined("points have results of their own, written once")
    found = [key_order_of(operator.operator) for operator in reduction.operators]
    selections = [selection for selection in found if selection is not None]
    if len(selections) < len(found):
        return Declined("the operator gives none of its operands")
    with k.nested() as made:
        total = _by_position(k, reduction, selections)
        lanes = Accumulators(k, total.operators)
        fold = Fold(
            cache(lambda: point_code(k, total, chunk.segment)),
            tuple(scalar_places(lanes)),
            *chunk.ends,
            chunk.start,
            commutes=True,
            cheap=True,
            long=chunk.long,
        )
        lanes.reset()
        outcome: KernelOutcome = distribute_fold_cyclically(fold, loop_context(k))
        if not isinstance(outcome, tuple):
            return outcome
        k.statements.extend(outcome)
        _finish(k, chunk, selections, lanes)
    return tuple(made)


def _finish(
    k: KernelBuilder,
    chunk: ReductionChunk,
    selections: Sequence[KeyOrder],
    lanes: Accumulators,
) -> None:
    """The accumulators become the elements that were found; neutral, with all points
    still to come, if there was a NaN."""
    accumulators = chunk.accumulators
    states, found = (
        divided(scalar_places(each), map(len, each.places))
        for each in (accumulators, lanes)
    )
    for number, (selection, mine) in enumerate(zip(selections, found, strict=True)):
        state, place = states[number], mine[-1]
        if len(selection.keys) == len(state):
            for key, winner in zip(selection.keys, mine, strict=True):
                k.assign(state[key.component], winner)
            continue
        with k.branch(place >= 0):
            values = chunk.reduction.visit(k, chunk.segment, place)
            counts = map(len, states)
            for one, value in zip(state, divided(values, counts)[number], strict=True):
                assert isinstance(value, kc.Expression)
                k.assign(one, value)
    for first, *_ in found:
        if first.type.scalar.is_float:
            with k.branch(first.differs(first)):
                accumulators.reset()
                k.assign(chunk.start, chunk.ends[0])


def _by_position(
    k: KernelBuilder, reduction: Reduction, selections: Sequence[KeyOrder]
) -> Reduction:
    """The reduction of keys, and of positions where an operand has more than keys."""
    operation = reduction.operation
    position = Returns(operation.space.indices[-1])
    results: list[KernelResult] = []
    operators: list[SegBinOp] = []
    before = 0
    for given, selection in zip(reduction.operators, selections, strict=True):
        chosen = [key.component for key in selection.keys]
        types: list[Type] = [given.operator.results[c] for c in chosen]
        neutral = [given.neutral[c] for c in chosen]
        keys = [Key(n, key.greatest) for n, key in enumerate(selection.keys)]
        results += [operation.body.result[before + c] for c in chosen]
        before += len(given.neutral)
        if len(chosen) < len(given.neutral):
            keys.append(Key(len(keys), not selection.keeps_left))
            types.append(I64)
            neutral.append(BEFORE_ALL)
            results.append(position)
        total = _winning(k, types, keys)
        operators.append(SegBinOp(total, tuple(neutral), commutative=True))
    body = KernelBody(operation.body.statements, tuple(results))
    changed = node.replace(operation, operators=tuple(operators), body=body)
    return replace(
        reduction,
        operation=changed,
        operators=tuple(operators),
        types=value_types(tuple(operators)),
    )


def _winning(k: KernelBuilder, types: Sequence[Type], keys: Sequence[Key]) -> Lambda:
    """The operator that gives the operand whose keys win; a NaN wins."""

    def make(build: Builder, *operands: Name) -> Sequence[Name]:
        left, right = divided(operands, (len(types), len(types)))
        wins: Name | None = None
        for key in reversed(keys):
            mine, other = left[key.component], right[key.component]
            here = build.op("gt" if key.greatest else "lt", mine, other)
            if build.scalar_type(mine).is_float:
                here = build.op("or", here, build.op("ne", mine, mine))
            if wins is not None:
                ties = build.op("and", build.op("eq", mine, other), wins)
                here = build.op("or", here, ties)
            wins = here
        assert wins is not None
        return build.let_many(If(wins, Body((), left), Body((), right)))

    return Builder(k.names, {}).function((*types, *types), make)
