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

In blocks of points with accumulators the branch is tested once for a block.

Source: Griebl, Feautrier, Lengauer, "Index set splitting" (2000).
"""

from __future__ import annotations

from collections.abc import Collection

from minifut.ir.node import replace
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.context import CodeContext, rewritten
from minifut.kernel_passes.editor import change_loops
from minifut.kernel_passes.hoist_loads import hoist_loads
from minifut.kernel_passes.position_ranges import all_of, emit_ranges, used
from minifut.kernel_passes.position_splits import SplitFinder, weight
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

MOST_SPLITS = 3


def split_by_branches(
    loop: kc.For, context: CodeContext, splits: int = MOST_SPLITS
) -> tuple[kc.Statement, ...] | None:
    """The loop without its branches on the position, one after the other; None if there
    are none."""
    made = rewritten(split_loop, loop, context) if splits else None
    if made is None:
        return None

    def again(piece: kc.For) -> tuple[kc.Statement, ...] | None:
        if piece is loop or not piece.points:
            return None
        return split_by_branches(piece, context, splits - 1)

    return change_loops(made, again)


@rule(paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_loop(
    loop: kc.Statement, context: CodeContext
) -> tuple[kc.Statement, ...] | Declined | None:
    """Give each side of a branch on the position a loop of its own.

    before:
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            float y;
            if (i >= 1 && i < n - 1) {
                y = xs[i - 1] + xs[i + 1];
            } else {
                float x = xs[i];
                y = x * 2.0f;
            }
            ys[i] = y;
        }
    after:
        long low = min((long)(max((long)(0L), (long)(1L))), n);
        long high = min((long)(max(low, (long)(n - 1L))), n);
        for (long side = 0L; side < 2L; side++) {
            for (long i = (side == 0L) ? 0L : high; i < ((side == 0L) ? low : n); i++) {
                float y;
                float x = xs[i];
                y = x * 2.0f;
                ys[i] = y;
            }
        }
        PARALLEL
        for (long i = low; i < high; i++) {
            float y;
            y = xs[i - 1L] + xs[i + 1L];
            ys[i] = y;
        }
    before:
        given (const float *xs, float *ys, long n)
        long row = n - 3;
        for (long i = 0; i < n; i++) {
            float y;
            if (row >= 1) {
                y = xs[i];
            } else {
                y = 0.0f;
            }
            ys[i] = y;
        }
    after:
        if (row >= 1L) {
            PARALLEL
            for (long i = 0L; i < n; i++) {
                float y;
                y = xs[i];
                ys[i] = y;
            }
        } else {
            for (long i = 0L; i < n; i++) {
                float y;
                y = 0.0f;
                ys[i] = y;
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
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            float y = xs[i];
            if (y < 0.0f) {
                y = 0.0f;
            }
            ys[i] = y;
        }
    """
    if not isinstance(loop, kc.For) or not loop.counts_by_ones:
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
        loop,
        body=kc.Block(within),
        parallel=loop.parallel or is_independent(within),
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
            context.k.emit(kc.Branch(all_of(where.uniform), whole, none))
    assumptions = finder.conditions.assumptions
    if assumptions:
        split = kc.Block(tuple(made))
        return (kc.Branch(all_of(assumptions), split, kc.Block((loop,))),)
    return tuple(made)


@rule(paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_block(
    loop: kc.Statement, context: CodeContext
) -> tuple[kc.Statement, ...] | Declined | None:
    """Test once for a block of points whether a branch on the position goes the same
    way for all of them: the block keeps its size, for which registers suffice.

    before:
        given (const float *xs, float *lane, long n, long at)
        for (long l = 0; l < 64; l++) {
            long i = at + l;
            float y;
            if (i >= 1 && i < n - 1) {
                y = xs[i - 1];
            } else {
                y = 0.0f;
            }
            float left = lane[l];
            lane[l] = left + y;
        }
    after:
        if ((1L <= at) && ((at + 64L) <= (n - 1L))) {
            for (long l = 0L; l < 64L; l++) {
                long i = at + l;
                float y;
                y = xs[i - 1L];
                float left = lane[l];
                lane[l] = left + y;
            }
        } else {
            for (long l = 0L; l < 64L; l++) {
                long i = at + l;
                float y;
                if ((i >= 1L) && (i < (n - 1L))) {
                    y = xs[i - 1L];
                } else {
                    y = 0.0f;
                }
                float left = lane[l];
                lane[l] = left + y;
            }
        }
    declines: no branch depends on the position alone
        given (const float *xs, float *lane, long n, long at)
        for (long l = 0; l < 64; l++) {
            long i = at + l;
            float y = xs[i];
            lane[l] = y;
        }
    """
    if not isinstance(loop, kc.For) or not loop.counts_by_ones:
        return None
    body = loop.body.statements
    first = body[0] if body else None
    if not isinstance(first, kc.Declare):
        return None
    position, base = first.variable, _base(first, loop)
    if base is None or not isinstance(position, kc.Variable):
        return None
    points = replace(loop, variable=position, body=kc.Block(body[1:]))
    local = (loop.variable.name,)
    found = decided_in_block(points, base, loop.bound, context.k, local)
    if found is None:
        return Declined("no branch depends on the position alone")
    whole, within = found
    inner = kc.Block((replace(loop, body=kc.Block((first, *within))),))
    return (kc.Branch(whole, inner, kc.Block((loop,))),)


def decided_in_block(
    points: kc.For,
    base: kc.Expression,
    count: kc.Operand,
    k: CodeBuilder,
    local: Collection[Name] = (),
) -> tuple[kc.Expression, tuple[kc.Statement, ...]] | None:
    """Whether a branch on the position goes the same way for `count` points from `base`
    on, and what they do then; None if no branch depends on it alone. Names in `local`
    are not known before the points."""
    finder = SplitFinder(points, k)
    finder.conditions.indices.local.update(local)
    found = finder.branch()
    if found is None:
        return None
    where = found.where
    where.uniform.extend(finder.conditions.assumptions)
    whole = [
        *where.uniform,
        *(low <= base for low in where.lows),
        *(base + count <= high for high in where.highs),
    ]
    return all_of(whole), used(found.inside(points))


def split_block_by_loads(
    loop: kc.For, context: CodeContext
) -> tuple[kc.Statement, ...] | None:
    """The same of a block with points, also by what is loaded for all of them."""
    *loads, block = rewritten(hoist_loads, loop, context) or (loop,)
    made = rewritten(split_block, block, context)
    return None if made is None else (*loads, *made)


def _base(declared: kc.Declare, block: kc.For) -> kc.Expression | None:
    """What is added to the variable of a block that counts from zero."""
    exp, start = declared.init, block.start
    if not isinstance(start, kc.Literal) or start.value != 0:
        return None
    if not isinstance(exp, kc.Binary) or exp.symbol != "+":
        return None
    return exp.left if exp.right == block.variable else None


def is_independent(statements: tuple[kc.Statement, ...]) -> bool:
    """Whether points do not depend on each other through memory: scalar code that reads
    no memory that it writes."""
    nodes = [node for statement in statements for node in walk(statement)]
    read = {n.memory for n in nodes if isinstance(n, kc.Load)}
    stores = [n for n in nodes if isinstance(n, kc.Store)]
    if any(s.memory in read or s.memory.space == "private" for s in stores):
        return False
    simple = (kc.Declare, kc.Assign, kc.Store, kc.Branch, kc.Block)
    return all(isinstance(n, simple) for n in nodes if isinstance(n, kc.Statement))
