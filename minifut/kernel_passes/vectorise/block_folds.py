"""Folds whose operator keeps the order, in blocks of points, one for each lane.

    for (i = 0; i < n; i++) acc = acc op xs[i]
    →  for (t = 0; t < n / 4; t++) acc = acc op (xs[t], xs[n / 4 + t], ..)
       acc0 op acc1 op acc2 op acc3

Elements that a vector takes are apart in memory, but no lanes are shuffled until the
end: this is for points that take longer to compute, or to combine, than to load.
"""

from __future__ import annotations

from minifut.ir.search import contains, nodes_of
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import KernelOutcome
from minifut.kernel_passes.vectorise.context import LIFT, LoopContext, widths_of
from minifut.kernel_passes.vectorise.folds import COMMUTES, ONE, folded
from minifut.kernel_passes.vectorise.operators import Fold, PointCode, VectorCode
from minifut.rewrite.rule import Declined, rule

CHOICE = kc.Branch | kc.Select
LINE = 16
"""elements in whole cache lines"""


@rule(label="asVector", paper=LIFT, remark=widths_of)
def distribute_fold_in_blocks(fold: Fold, context: LoopContext) -> KernelOutcome:
    """Give each lane a block of points, and combine lanes in order at the end. If there
    are many, blocks have an odd number of cache lines, so that their elements are in
    different sets of the cache.

    before:
        given (const int *xs, long n)
        long fold (int total = 0)
        for (long i = 0; i < n; i++) {
            right = xs[i];
            right = right == 0 ? left : right;
        }
    after:
        int4 left;
        int4 right;
        long lines = n / 64L;
        long part = (lines > 0L) ? (((lines - 1L) | 1L) * 16L) : 0L;
        int4 lane = ((int4)(0));
        for (long t = 0L; t < part; t++) {
                {
                        right = ((int4)(xs[t + (part * 0L)], xs[t + part], xs[t + (part
                    * 2L)], xs[t + (part * 3L)]));
                }
                {
                        left = lane;
                        right = (right == ((int4)(0))) ? left : right;
                }
                lane = right;
        }
        right = lane;
        {
                left = MOVE_UP_1_4X32(((int4)(0)), right);
                right = (right == ((int4)(0))) ? left : right;
        }
        {
                left = MOVE_UP_2_4X32(((int4)(0)), right);
                right = (right == ((int4)(0))) ? left : right;
        }
        total = right.s3;
        start = part * 4L;
    declines: points can be distributed cyclically
        like before, with
        long fold => commuting fold
        right == 0 ? left : => left +
    """
    if fold.commutes:
        return Declined(COMMUTES)
    if fold.cheap and not (fold.long and is_bound_by_operator(fold.code())):
        return Declined("the body is cheap: independent accumulators are enough")
    k = context.k

    def make(vectorised: VectorCode) -> None:
        points = fold.last - fold.first
        if fold.long:
            lines = k.declare("lines", points // (vectorised.width * LINE))
            odd = ((lines - 1) | ONE) * LINE
            size: kc.Expression = kc.Select(
                lines > 0, odd, kc.Literal(0, kc.LONG), kc.LONG
            )
        else:
            size = points // vectorised.width
        part = k.declare("part", size)
        mine = vectorised.declare("lane", vectorised.neutral)
        with k.loop("t", part) as t:
            vectorised.visit(k.named(fold.first + t, "own"), part)
            vectorised.combine(mine)
            vectorised.k.assign_all(mine, vectorised.right)
        vectorised.k.assign_all(vectorised.right, mine)
        vectorised.prefix()
        vectorised.k.assign_all(fold.running, vectorised.last())
        k.assign(fold.start, fold.first + part * vectorised.width)

    return folded(fold, context, make)


def is_bound_by_operator(code: PointCode) -> bool:
    """Whether combining points takes longer than to load them, one block or several:
    where floats are chosen, or there are as many operations as bytes."""
    if chooses_floats(code):
        return True
    point = (*code.body, *code.operator)
    loaded = sum(load.memory.element.bytes for load in nodes_of(kc.Load, *point))
    return len(list(nodes_of(kc.Operation, *point))) >= loaded


def chooses_floats(code: PointCode) -> bool:
    """Whether the operator chooses between floats, which in scalar code is a jump."""
    return contains(kc.Block(code.operator), CHOICE) and any(
        place.type.scalar.is_float for place in code.right
    )
