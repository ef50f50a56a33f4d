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

So it does with j * 2 / 3, whose period is 3 (`point_periods`).
"""

from __future__ import annotations

from minifut.ir.node import replace
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.context import CodeContext, KernelOutcome, rewritten
from minifut.kernel_passes.editor import KernelEditor
from minifut.kernel_passes.point_periods import in_periods, period_of_points
from minifut.kernel_passes.position_ends import PositionEnds
from minifut.kernel_passes.position_ranges import (
    PositionIndices,
    PositionRange,
    clamped,
    emit_ranges,
    used,
)
from minifut.rewrite.rule import Declined, rule


def split_wrapping_loops(k: KernelEditor) -> None:
    """Give the points whose indices do not wrap around loops of their own."""
    context = CodeContext(k)

    def change(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        return rewritten(split_wrapping, loop, context) if loop.points else None

    k.change_loops(change)


@rule(kc.For, paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_wrapping(loop: kc.For, context: CodeContext) -> KernelOutcome:
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
        given (const float *xs, float *ys, long n, long m)
        PARALLEL
        for (long i = 0; i < n; i++) {
            long at = quot_i64(i + 1, 2);
            if (at < m) {
                ys[i] = xs[at];
            }
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
                if (at < m) {
                    ys[i] = xs[at];
                }
            }
        }
        long low_1 = min(low, high);
        long high_1 = min((long)(max(low_1,
        (long)(max((long)(min((long)(max((long)(min(m, (long)(281474976710656L))),
        (long)((-281474976710656L))) - 1L), (long)(281474976710656L))),
        (long)((-281474976710656L)))))), high);
        for (long side_1 = 0L; side_1 < 2L; side_1++) {
            PARALLEL
            for (long k = (side_1 == 0L) ? low : high_1; k < ((side_1 == 0L) ? low_1 :
            high); k++) {
                {
                    long i_1 = k * 2L;
                    long at_1 = k;
                    if (at_1 < m) {
                        ys[i_1] = xs[at_1];
                    }
                }
                {
                    long i_2 = (k * 2L) + 1L;
                    long at_2 = k + 1L;
                    if (at_2 < m) {
                        ys[i_2] = xs[at_2];
                    }
                }
            }
        }
        PARALLEL
        for (long k = low_1; k < high_1; k++) {
            {
                long i_1 = k * 2L;
                long at_1 = k;
                {
                    ys[i_1] = xs[at_1];
                }
            }
            {
                long i_2 = (k * 2L) + 1L;
                long at_2 = k + 1L;
                {
                    ys[i_2] = xs[at_2];
                }
            }
        }
    declines: no index wraps around
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            ys[i] = xs[i + 1];
        }
    """
    if not loop.counts_by_ones:
        return None
    period = period_of_points(loop)
    inner = loop if period == 1 else in_periods(loop, period, context.k)
    search = PositionIndices(inner)
    straight = tuple(search.within(s) for s in inner.body.statements)
    if not search.limits and period == 1:
        return Declined("no index wraps around")
    where = straight_range(search)
    inner = replace(inner, body=kc.Block(used(straight)))
    outer = replace(loop, points=False, expensive=False)
    with context.k.nested() as made:
        emit_ranges(context.k, where, inner, outer, period)
    if period > 1:
        *before, rounds = made
        assert isinstance(rounds, kc.For)
        return (*before, *_without_ends(rounds, context.k))
    return tuple(made)


def _without_ends(loop: kc.For, k: CodeBuilder) -> tuple[kc.Statement, ...]:
    """The loop split where comparisons of positions hold at all but its ends."""
    search = PositionEnds(loop)
    body = search.holding(loop.body)
    if body is loop.body:
        return (loop,)
    inner = replace(loop, body=kc.Block(used(body.statements)))
    with k.nested() as made:
        emit_ranges(k, straight_range(search), inner, loop)
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


def _is_mask(greatest: kc.Expression) -> kc.Expression:
    """Whether a number is a power of two less one."""
    mask = clamped(greatest)
    common = kc.Binary("&", mask, mask + 1, kc.LONG)
    return kc.all_of((mask >= 0, common.equals(0)))
