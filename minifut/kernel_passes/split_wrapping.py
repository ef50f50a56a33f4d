"""Split loops over points where an index wraps around.

    for (j = 0; j < n; j++)              for (j = low; j < high; j++)
        y[j] = x[(j + 1) & mask]    →        y[j] = x[j + 1]
                                         for (the others) y[j] = x[(j + 1) & mask]

A mask, a remainder, or 32 bits for an index keep what is within their range. Where the
variable of the loop is the only thing in an index that changes, but for the counters of
loops inside with known bounds, that is one range of positions, found when the kernel
runs. In it the index is affine, so that vectors are loaded in the place of elements.

A mask keeps a range only if it is a power of two less one, which the kernel tests.

A small divisor wraps too often for that. There a round does as many points, of which
each has one residue and a quotient that is affine:

    for (j = 0; j < n; j++)                  for (k = 0; k < n / 2; k++) {
        y[j] = j % 2 ? x[j / 2] : 0     →        y[2 * k] = 0
                                                 y[2 * k + 1] = x[k]
                                             }

Source: Griebl, Feautrier, Lengauer, "Index set splitting" (2000).
"""

from __future__ import annotations

import math

from minifut.ir.node import replace
from minifut.ir.traverse import rename_to, walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.context import CodeContext, rewritten
from minifut.kernel_passes.editor import KernelEditor
from minifut.kernel_passes.position_ranges import (
    LARGEST_PERIOD,
    QUOTIENTS,
    PositionIndices,
    PositionRange,
    clamped,
    divisor,
    emit_ranges,
    used,
)
from minifut.rewrite.rule import Declined, rule

MOST_STATEMENTS = 600
"""of a body of which there are copies for residues"""


def split_wrapping_loops(k: KernelEditor) -> None:
    """Apply the rule to the outermost loops over points of a kernel."""
    context = CodeContext(k)

    def change(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        return rewritten(split_wrapping, loop, context) if loop.points else None

    k.change_loops(change)


@rule(paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_wrapping(
    loop: kc.Statement, context: CodeContext
) -> tuple[kc.Statement, ...] | Declined | None:
    """Give the positions whose indices do not wrap around a loop of their own.

    before:
        given (const float *xs, float *ys, long n, int mask)
        for (long i = 0; i < n; i++) {
            long at = (i + 1) & (long)mask;
            ys[i] = xs[at];
        }
    after:
        long low = ((((long)mask) >= 0L) && ((((long)mask) & (((long)mask) + 1L)) ==
        0L)) ? min((long)(0L), n) : n;
        long high = min((long)(max(low, (long)(((long)mask)))), n);
        for (long side = 0L; side < 2L; side++) {
            for (long i = (side == 0L) ? 0L : high; i < ((side == 0L) ? low : n); i++) {
                long at = (i + 1L) & ((long)mask);
                ys[i] = xs[at];
            }
        }
        for (long i = low; i < high; i++) {
            long at = i + 1L;
            ys[i] = xs[at];
        }
    before:
        given (const float *xs, float *ys, long n)
        PARALLEL
        for (long i = 0; i < n; i++) {
            long at = quot_i64(i + 1, 2);
            ys[i] = xs[at];
        }
    after:
        long low = min((long)(0L), (long)(n / 2L));
        long high = min((long)(max(low, (long)(n / 2L))), (long)(n / 2L));
        long before = max((long)(0L), (long)(low * 2L));
        long behind = max((long)(0L), (long)(high * 2L));
        for (long side = 0L; side < 2L; side++) {
            PARALLEL
            for (long i = (side == 0L) ? 0L : behind; i < ((side == 0L) ? before : n);
            i++) {
                long at = quot_i64((i + 1L), 2L);
                ys[i] = xs[at];
            }
        }
        PARALLEL
        for (long k = low; k < high; k++) {
            {
                long i_1 = k * 2L;
                long at_1 = k;
                ys[i_1] = xs[at_1];
            }
            {
                long i_2 = (k * 2L) + 1L;
                long at_2 = k + 1L;
                ys[i_2] = xs[at_2];
            }
        }
    declines: no index wraps around
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            ys[i] = xs[i + 1];
        }
    """
    if not isinstance(loop, kc.For) or not loop.counts_by_ones:
        return None
    period = _period(loop) if loop.parallel and not loop.expensive else 1
    inner = loop if period == 1 else _by_periods(loop, period, context.k)
    search = PositionIndices(inner)
    straight = tuple(search.within(s) for s in inner.body.statements)
    if not search.limits and period == 1:
        return Declined("no index wraps around")
    where = straight_range(search)
    inner = replace(inner, body=kc.Block(used(straight)))
    outer = replace(loop, points=False, expensive=False)
    with context.k.nested() as made:
        emit_ranges(context.k, where, inner, outer, period)
    return tuple(made)


def straight_range(search: PositionIndices) -> PositionRange:
    """Where none of the indices that were found wraps around."""
    limits = [(*key[1:], *most) for key, most in search.limits.items()]
    return PositionRange(
        [kc.Literal(search.first, kc.LONG)] if search.first > 0 else [],
        # factor * i + high <= greatest
        [
            (clamped(most) + (factor - high)) // factor
            for _, factor, most, high in limits
        ],
        [_is_mask(most) for by_mask, _, most, _ in limits if by_mask],
    )


def _period(loop: kc.For) -> int:
    """The small divisor by which points do something else; 1 if there is none."""
    nodes = [node for s in loop.body.statements for node in walk(s)]
    if sum(isinstance(node, kc.Statement) for node in nodes) > MOST_STATEMENTS:
        return 1
    if any(isinstance(node, kc.DeclareArray) for node in nodes):
        return 1
    search = PositionIndices(loop)
    found = set()
    branches = any(isinstance(node, kc.Branch) for node in nodes)
    for node in nodes:
        if not isinstance(node, kc.Operation) or len(node.operands) != 2:
            continue
        by = divisor(node.operator.name, node.operands[1])
        if by and (branches or node.operator.name in QUOTIENTS):
            search.looked_into = 0
            index = search.index(node.operands[0])
            if index is not None and index.factor % by and index.low == index.high:
                found.add(by)
    period = math.lcm(*found)
    return period if period <= LARGEST_PERIOD else 1


def _by_periods(loop: kc.For, period: int, k: CodeBuilder) -> kc.For:
    """The loop whose rounds do that many points each."""
    round_ = k.variable("k", kc.LONG)
    copies = []
    for residue in range(period):
        names = k.fresh_names((loop,))
        first = round_ * period
        at = kc.Variable(names[loop.variable.name], kc.LONG)
        place = kc.Declare(at, first + residue if residue else first)
        copy = rename_to(loop.body, names)
        copies.append(kc.Block((place, *copy.statements)))
    start = loop.start
    if not (isinstance(start, kc.Literal) and int(start.value) == 0):
        start = (start + (period - 1)) // period
    return replace(
        loop,
        variable=round_,
        start=start,
        bound=loop.bound // period,
        body=kc.Block(tuple(copies)),
    )


def _is_mask(greatest: kc.Expression) -> kc.Expression:
    """Whether a number is a power of two less one."""
    mask = clamped(greatest)
    common = kc.Binary("&", mask, mask + 1, kc.LONG)
    return kc.all_of((mask >= 0, common.equals(0)))
