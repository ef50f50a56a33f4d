"""Split loops over points where a branch depends on their position.

    for (j = 0; j < m; j++)                  low = max(0, 1); high = min(m, m - 1)
        if (j >= 1 && j < m - 1 && u)   →    for (j = low; j < high; j++) A
            A                                for (the others) B
        else B

The condition is a conjunction of what is the same for all points (u) and of comparisons
that change once, where an index that grows with the loop passes a bound. So it holds in
one range of positions; the branch is in neither loop, and the one of the range is
vectorised. With A as the interior and B as the border of a stencil (`passes.split`)
this is index set splitting inside of one kernel: no position is computed by divisions,
and borders are written while the rows beside them are in the cache.

Of blocks, `split_block` tests once where they are.
"""

from __future__ import annotations

from minifut.ir.node import replace
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import CodeContext, KernelOutcome, rewritten
from minifut.kernel_passes.editor import change_loops
from minifut.kernel_passes.position_ranges import emit_ranges, used
from minifut.kernel_passes.position_splits import SplitFinder, weight
from minifut.kernel_passes.split_rounds import split_by_rounds
from minifut.rewrite.rule import Declined, rule

MOST_SPLITS = 3


def split_by_branches(
    loop: kc.For, context: CodeContext, splits: int = MOST_SPLITS
) -> tuple[kc.Statement, ...] | None:
    """The loop without its branches on the position, one after the other, then those in
    rounds inside; None if there are none."""
    made = rewritten(split_loop, loop, context) if splits else None
    if made is None:
        return rewritten(split_by_rounds, loop, context)

    def again(piece: kc.For) -> tuple[kc.Statement, ...] | None:
        if piece is loop or not piece.points:
            return None
        return split_by_branches(piece, context, splits - 1)

    return change_loops(made, again)


@rule(kc.For, paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_loop(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Give each side of a branch on the position a loop of its own.

    before:
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            if (i >= 1 && i < n - 1) {
                ys[i] = xs[i - 1] + xs[i + 1];
            } else {
                ys[i] = xs[i] * 2.0f;
            }
        }
    after:
        long low = min((long)(max((long)(0L), (long)(1L))), n);
        long high = min((long)(max(low, (long)(n - 1L))), n);
        for (long side = 0L; side < 2L; side++) {
            for (long i = (side == 0L) ? 0L : high; i < ((side == 0L) ? low : n); i++) {
                ys[i] = xs[i] * 2.0f;
            }
        }
        PARALLEL
        for (long i = low; i < high; i++) {
            ys[i] = xs[i - 1L] + xs[i + 1L];
        }
    before:
        given (const float *xs, float *ys, long n)
        long row = n - 3;
        for (long i = 0; i < n; i++) {
            if (row >= 1) {
                ys[i] = xs[i];
            } else {
                ys[i] = 0.0f;
            }
        }
    after:
        if (row >= 1L) {
            PARALLEL
            for (long i = 0L; i < n; i++) {
                ys[i] = xs[i];
            }
        } else {
            for (long i = 0L; i < n; i++) {
                ys[i] = 0.0f;
            }
        }
    before:
        given (const float *xs, float *ys, float *zs, long n, long m)
        for (long i = 0; i < n; i++) {
            float x = xs[i];
            if (i < m) {
                ys[i] = x;
            }
            if (i >= 2) {
                zs[i - 2] = x;
            }
        }
    after:
        long low = min((long)(max((long)(0L), (long)(2L))), n);
        long high = min((long)(max(low, m)), n);
        for (long side = 0L; side < 2L; side++) {
            for (long i = (side == 0L) ? 0L : high; i < ((side == 0L) ? low : n);
            i++) {
                float x = xs[i];
                if (i < m) {
                    ys[i] = x;
                }
                if (i >= 2L) {
                    zs[i - 2L] = x;
                }
            }
        }
        PARALLEL
        for (long i = low; i < high; i++) {
            float x = xs[i];
            ys[i] = x;
            zs[i - 2L] = x;
        }
    declines: no branch depends on the position alone
        like before, with
        i < m => x < 0.0f
        i >= 2 => x > 2.0f
    """
    if not loop.counts_by_ones:
        return None
    finder = SplitFinder(loop, context.k)
    found = finder.guards() or finder.branch()
    if found is None:
        return Declined("no branch depends on the position alone")
    where = found.where
    within, beside = used(found.inside(loop)), used(found.outside(loop))
    if any(isinstance(n, kc.Fail) for s in within for n in walk(s)):
        return Declined("what is done in the range can fail")
    inner = replace(
        loop, body=kc.Block(within), parallel=loop.parallel or is_independent(within)
    )
    outer = replace(loop, body=kc.Block(beside))
    if where.single:
        inner = replace(inner, parallel=False, points=False)
        outer = replace(outer, parallel=loop.parallel or is_independent(beside))
    elif weight(beside) > weight(within):  # there are few
        plain = loop.parallel and not (where.lows or where.highs)
        outer = replace(outer, parallel=plain, points=False, expensive=False)
    with context.k.nested() as made:
        if where.lows or where.highs:
            emit_ranges(context.k, where, inner, outer)
        else:
            whole, none = kc.Block((inner,)), kc.Block((outer,))
            context.k.emit(kc.Branch(kc.all_of(where.uniform), whole, none))
    assumptions = finder.conditions.assumptions
    if assumptions:
        split = kc.Block(tuple(made))
        return (kc.Branch(kc.all_of(assumptions), split, kc.Block((loop,))),)
    return tuple(made)


def is_independent(statements: tuple[kc.Statement, ...]) -> bool:
    """Whether points do not depend on each other through memory: scalar code that reads
    no memory that it writes."""
    nodes = [node for statement in statements for node in walk(statement)]
    read = kc.loaded_by(statements)
    stores = [n for n in nodes if isinstance(n, kc.Store)]
    if any(s.memory in read or s.memory.space == "private" for s in stores):
        return False
    simple = (kc.Declare, kc.Assign, kc.Store, kc.Branch, kc.Block, kc.Reassociate)
    return all(isinstance(n, simple) for n in nodes if isinstance(n, kc.Statement))
