"""Loops that fold or scan points, vector by vector.

A fold has an accumulator in each lane: if its operator commutes points are distributed
cyclically, and memory is read in whole vectors; else in blocks (`block_folds`), or the
lanes of a vector are combined in order (`ordered_folds`). A scan keeps it, too: within
a vector by shuffles, from one to the next by one application of the operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from minifut.ir.search import nodes_of
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_ir.types import STREAMABLE
from minifut.kernel_passes.context import KernelOutcome
from minifut.kernel_passes.if_convert import if_convert
from minifut.kernel_passes.split_block import decided_in_block
from minifut.kernel_passes.vectorise.affine import Affine, affine, is_zero, number_of
from minifut.kernel_passes.vectorise.context import LIFT, LoopContext, widths_of
from minifut.kernel_passes.vectorise.lane_limits import lane_limits
from minifut.kernel_passes.vectorise.operators import (
    Fold,
    OperatorCode,
    PointCode,
    VectorCode,
)
from minifut.kernel_passes.vectorise.ordered_operands import decided_by_order
from minifut.kernel_passes.vectorise.registers import crowded_scan
from minifut.kernel_passes.vectorise.rows import tested_before
from minifut.kernel_passes.vectorise.short_folds import fewest_with_masks
from minifut.kernel_passes.vectorise.statements import vectorise
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

ONE = kc.Literal(1, kc.LONG)
GATHERED_BY_THE_DEVICE = (
    "the compiler of the device vectorises plain folds that gather elements itself"
)
INDEPENDENT_ACCUMULATORS = 4
"""vectors of accumulators where a body is cheap: one would wait for the operator's
latency"""
COMMUTES = "the operator commutes, so that points can be distributed cyclically"


@rule(label="asVector", paper=LIFT, remark=widths_of)
def distribute_fold_cyclically(fold: Fold, context: LoopContext) -> KernelOutcome:
    """Distribute points over lanes cyclically, with an accumulator in each lane.

    before:
        given (const int *xs, long n)
        commuting fold (int total = 0)
        for (long i = 0; i < n; i++) {
            right = xs[i] * xs[i];
            right = left + right;
        }
    after:
        int4 left;
        int4 right;
        long whole = n - (n % 4L);
        int4 lane = ((int4)(0));
        for (long at = 0L; at < whole; at += 4L) {
                {
                        right = as_int4(as_uint4((*(__global const loose_int4 *)(xs +
                    at))) * as_uint4((*(__global const loose_int4 *)(xs + at))));
                }
                {
                        left = lane;
                        right = as_int4(as_uint4(left) + as_uint4(right));
                }
                lane = right;
        }
        right = lane;
        {
                left = MOVE_UP_1_4X32(((int4)(0)), right);
                right = as_int4(as_uint4(left) + as_uint4(right));
        }
        {
                left = MOVE_UP_2_4X32(((int4)(0)), right);
                right = as_int4(as_uint4(left) + as_uint4(right));
        }
        total = right.s3;
        start = whole;
    declines: the operator does not commute
        like before of distribute_fold_in_blocks, with
        right == 0 ? left : right; => right;
    """
    if not fold.commutes:
        return Declined("the operator does not commute")
    if fold.plain and not reads_whole_vectors(away_from_ends(fold, context.k)):
        return Declined(GATHERED_BY_THE_DEVICE)
    k, many = context.k, INDEPENDENT_ACCUMULATORS if fold.cheap else 1

    def emit(vectorised: VectorCode) -> None:
        rest = (fold.last - fold.first) % (vectorised.width * many)
        whole = k.declare("whole", fold.last - rest)
        lanes = [vectorised.declare("lane", vectorised.neutral) for _ in range(many)]
        step = many * vectorised.width
        operator = vectorised.code.operator
        ordered = decided_by_order(vectorised.code)

        def collect(at: kc.Expression, *operators: OperatorCode | None) -> None:
            triples = zip(range(many), lanes, operators, strict=True)
            for number, mine, combining in triples:
                vectorised.visit(k.named(at + number * vectorised.width, "own"))
                if combining is not None:
                    vectorised.combine(mine, combining)
                vectorised.k.assign_all(mine, vectorised.right)

        if ordered is None:
            with k.loop("at", whole, fold.first, step, streams=fold.long) as at:
                collect(at, *[operator] * many)
        else:
            with k.branch(fold.first < whole):
                collect(fold.first, operator, *[None] * (many - 1))
                second, streams = fold.first + step, fold.long
                with k.loop("at", whole, second, step, streams=streams) as at:
                    collect(at, *[ordered] * many)
        end: kc.Expression = whole
        if fewest_with_masks(fold) is not None:
            end = fold.last
            with k.loop("at", end, whole, vectorised.width) as at:
                vectorised.visit_before(end, at)
                vectorised.combine(lanes[0])
                vectorised.k.assign_all(lanes[0], vectorised.right)
        vectorised.k.assign_all(vectorised.right, lanes[-1])
        for mine in lanes[:-1]:
            vectorised.combine(mine)
        vectorised.prefix()
        vectorised.k.assign_all(fold.running, vectorised.last())
        k.assign(fold.start, end)

    def make(vectorised: VectorCode) -> None:
        body = vectorised.code.body
        if any(store.memory.space == "global" for store in nodes_of(kc.Store, *body)):
            emit(vectorised)
            return
        assumed: list[kc.Expression] = []
        vectorised.rows = assumed
        with k.nested() as made:
            emit(vectorised)
        with k.only_if(tested_before(assumed, body)):
            k.statements.extend(made)

    return folded(fold, context, make)


def away_from_ends(fold: Fold, k: CodeBuilder) -> PointCode:
    """The code of most points: without what only the first or the last ones do."""
    code = fold.code()
    one, body = kc.Literal(1, kc.LONG), kc.Block(code.body)
    points = kc.For(code.index, fold.first, fold.last, one, body)
    own = [variable.name for variable in code.running]
    decided = decided_in_block(points, fold.first, 1, k, own)
    return replace(code, body=decided[1]) if decided else code


def reads_whole_vectors(code: PointCode) -> bool:
    """Whether neighbouring points read neighbouring elements, or all the same one, by
    code without branches."""
    index = code.index.name
    known: dict[Name, Affine] = {index: (code.index, 1)}
    varying = {index, *(place.name for place in (*code.left, *code.right))}
    for statement in code.body:
        if not isinstance(statement, kc.Declare | kc.Assign | kc.Store):
            return False
        for node in walk(statement):
            if isinstance(node, kc.Load | kc.Store):
                found = affine(node.index, known, frozenset(varying))
                if found is None or number_of(found[1]) not in (0, 1):
                    return False
        match statement:
            case kc.Declare(kc.Variable(name, _), kc.Expression() as value):
                found = affine(value, known, frozenset(varying))
                if found is None or not is_zero(found[1]):
                    varying.add(name)
                if found is not None:
                    known[name] = found
    return True


def folded(
    fold: Fold, context: LoopContext, make: Callable[[VectorCode], None]
) -> KernelOutcome:
    """The statements that `make` emits with the vectorised code of a point."""
    code = fold.code()
    code = replace(
        code,
        body=tuple(if_convert(context.k, code.body)),
        operator=tuple(if_convert(context.k, code.operator)),
    )
    limits, comments = lane_limits(code.body, code.index.name)
    context.limits += limits
    chosen = context.by_width(
        [*code.body, *code.operator],
        lambda width: make(VectorCode(context.k, code, width)),
    )
    return (*comments, *chosen.statements)


@rule(label="asVector", paper=LIFT, remark=widths_of)
def vectorise_scan(fold: Fold, context: LoopContext) -> KernelOutcome:
    """Scan vector by vector, in order, with a prefix scan inside each vector.

    before:
        given (const float *xs, float *ys, long n)
        fold (float total = 0.0f)
        for (long i = 0; i < n; i++) {
            right = xs[i];
            right = right == 0.0f ? left : right;
            ys[i] = right;
        }
    after:
        like after of fold_vectors_in_order, with
        long whole = n - (n % 4L); float4 before = ((float4)(0.0f));
        => float4 before = ((float4)(total)); long whole = n - (n % 4L);
        before = ((float4)(right.s3));
        => { *(__global loose_float4 *)(ys + at) = right; }
        => before = ((float4)(right.s3));
    declines: DeclareArray in lanes
        like before, with
        right = xs[i]; => float own[4]; right = own[i];
    """
    k = context.k

    def make(vectorised: VectorCode) -> None:
        before = vectorised.declare("before", vectorised.broadcast(fold.running))
        large = k.declare("large", fold.is_large()) if fold.is_large else None
        rest = (fold.last - fold.first) % vectorised.width
        whole = k.declare("whole", fold.last - rest)

        def stored(statement: kc.Statement) -> kc.Statement:
            if large is None:
                return statement
            return _around_caches(statement, large, vectorised.width)

        with k.loop("at", whole, fold.first, vectorised.width) as at:
            vectorised.visit(at)
            vectorised.prefix()
            vectorised.combine(before)
            vectorised.enter(before)
            vectorised.save(at, stored)
            vectorised.k.assign_all(before, vectorised.last_in_all())
        with k.branch(fold.first < whole):
            vectorised.k.assign_all(fold.running, vectorised.last())
        k.assign(fold.start, whole)

    context.limits += crowded_scan(fold.running)
    return folded(fold, context, make)


@rule(kc.For, label="asVector", paper=LIFT, remark=widths_of)
def vectorise_nest(loop: kc.For, context: LoopContext) -> KernelOutcome:
    """Execute the points of a register nest that fill one vector at once.

    before:
        given (const float *xs, float *ys, float a, long t)
        for (long j = t; j < t + 4; j++) {
            ys[j] = a * xs[j];
        }
    after:
        *(__global loose_float4 *)(ys + t) = ((float4)(a)) * (*(__global const
            loose_float4 *)(xs + t));
    declines: there are not as many points as lanes
        like before, with
        t + 4 => t + 3
    """
    (width,) = context.choices
    if loop.rounds != width:
        return Declined("there are not as many points as lanes")
    at = (loop.start, 1)
    body = loop.body.statements
    vectorised = vectorise(
        context.k, body, loop.variable, at, width, numbers=context.numbers
    )
    context.widths.append(width)
    return tuple(vectorised)


def _around_caches(
    statement: kc.Statement, large: kc.Expression, width: int
) -> kc.Statement:
    """A store of a vector, non-temporal if the result is large and it is aligned."""
    match statement:
        case kc.Store(memory, index, exp, False):
            if memory.element in STREAMABLE and exp.type.lanes == width:
                aligned = (index & (width - 1)).equals(0)
                wanted = kc.all_of((large, aligned))
                around = kc.Store(memory, index, exp, True)
                return kc.Branch(wanted, kc.Block((around,)), kc.Block((statement,)))
    return statement
