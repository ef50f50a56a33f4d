"""Folds whose operator keeps the order, over elements that lie side by side.

    for (i = 0; i < n; i++) acc = acc op xs[i]
    →  for (i = 0; i < n; i += 4) acc = acc op (x0 op x1 op x2 op x3)

The lanes of a vector are combined in order by shuffles, as in a scan. Blocks of points,
one for each lane, would need no shuffles but read far apart.
"""

from __future__ import annotations

from dataclasses import replace

from minifut.ir.search import contains
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import KernelOutcome
from minifut.kernel_passes.if_convert import if_convert
from minifut.kernel_passes.vectorise import folds
from minifut.kernel_passes.vectorise.block_folds import CHOICE, chooses_floats
from minifut.kernel_passes.vectorise.context import LIFT, LoopContext, widths_of
from minifut.kernel_passes.vectorise.operators import Fold, VectorCode
from minifut.rewrite.rule import Declined, rule


@rule(label="asVector", paper=LIFT, remark=widths_of)
def fold_vectors_in_order(fold: Fold, context: LoopContext) -> KernelOutcome:
    """Combine the lanes of each vector in order, then with those of the vectors before.

    before:
        given (const float *xs, long n)
        fold (float total = 0.0f)
        for (long i = 0; i < n; i++) {
            right = xs[i];
            right = right == 0.0f ? left : right;
        }
    after:
        float4 left;
        float4 right;
        long whole = n - (n % 4L);
        float4 before = ((float4)(0.0f));
        for (long at = 0L; at < whole; at += 4L) {
            {
                right = (*(__global const loose_float4 *)(xs + at));
            }
            {
                left = MOVE_UP_1_4X32(((float4)(0.0f)), right);
                right = (right == ((float4)(0.0f))) ? left : right;
            }
            {
                left = MOVE_UP_2_4X32(((float4)(0.0f)), right);
                right = (right == ((float4)(0.0f))) ? left : right;
            }
            {
                left = before;
                right = (right == ((float4)(0.0f))) ? left : right;
            }
            before = ((float4)(right.s3));
        }
        if (0L < whole) {
            total = right.s3;
        }
        start = whole;
    declines: scalar code has no jumps
        like before, with
        given (const float *xs => given (const int *xs
        (float total = 0.0f) => (int total = 0)
        right == 0.0f => right == 0
    """
    if fold.commutes:
        return Declined(folds.COMMUTES)
    k, code = context.k, fold.code()
    most = folds.away_from_ends(fold, k)
    if not contains(kc.Block(most.body), CHOICE) and not chooses_floats(code):
        return Declined("scalar code has no jumps: independent accumulators are enough")
    if not folds.reads_whole_vectors(
        replace(most, body=tuple(if_convert(k, most.body)))
    ):
        return Declined("elements are apart in memory")

    def make(vectorised: VectorCode) -> None:
        rest = (fold.last - fold.first) % vectorised.width
        whole = k.declare("whole", fold.last - rest)
        before = vectorised.declare("before", vectorised.neutral)
        with k.loop("at", whole, fold.first, vectorised.width) as at:
            vectorised.visit(at)
            vectorised.prefix()
            vectorised.combine(before)
            vectorised.k.assign_all(before, vectorised.last_in_all())
        with k.branch(fold.first < whole):
            vectorised.k.assign_all(fold.running, vectorised.last())
        k.assign(fold.start, whole)

    return folds.folded(fold, context, make)
