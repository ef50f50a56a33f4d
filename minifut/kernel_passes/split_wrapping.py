"""Split loops over points where an index wraps around.

    for (j = 0; j < n; j++)              for (j = low; j < high; j++)
        y[j] = x[(j + 1) & mask]    →        y[j] = x[j + 1]
                                         for (the others) y[j] = x[(j + 1) & mask]

A mask, a remainder, or 32 bits for an index keep what is within their range. Where the
variable of the loop is the only thing in an index that changes, but for the counters of
loops inside with known bounds, that is one range of positions, found when the kernel
runs. In it the index is affine, so that vectors are loaded in the place of elements.

A mask keeps a range only if it is a power of two less one, which the kernel tests. A
small divisor, as in `j % 2`, wraps too often to be worth it.

Source: Griebl, Feautrier, Lengauer, "Index set splitting" (2000).
"""

from __future__ import annotations

from minifut.ir.node import replace
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import CodeContext
from minifut.kernel_passes.editor import KernelEditor
from minifut.kernel_passes.position_ranges import (
    PositionIndices,
    PositionRange,
    clamped,
    emit_ranges,
    used,
)
from minifut.rewrite.rule import Declined, rule


def split_wrapping_loops(k: KernelEditor) -> None:
    """Apply the rule to the outermost loops over points of a kernel."""

    def change(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        outcome = split_wrapping(loop, CodeContext(k)) if loop.points else None
        return outcome if isinstance(outcome, tuple) else None

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
    declines: no index wraps around
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            ys[i] = xs[i + 1];
        }
    """
    if not isinstance(loop, kc.For) or not loop.counts_by_ones:
        return None
    search = PositionIndices(loop)
    straight = tuple(search.within(s) for s in loop.body.statements)
    if not search.limits:
        return Declined("no index wraps around")
    limits = [(*key[1:], *most) for key, most in search.limits.items()]
    where = PositionRange(
        [kc.Literal(search.first, kc.LONG)] if search.first > 0 else [],
        # factor * i + high <= greatest
        [
            (clamped(most) + (factor - high)) // factor
            for _, factor, most, high in limits
        ],
        [_is_mask(most) for by_mask, _, most, _ in limits if by_mask],
    )
    inner = replace(loop, body=kc.Block(used(straight)))
    outer = replace(loop, points=False, expensive=False)
    with context.k.nested() as made:
        emit_ranges(context.k, where, inner, outer)
    return tuple(made)


def _is_mask(greatest: kc.Expression) -> kc.Expression:
    """Whether a number is a power of two less one."""
    mask = clamped(greatest)
    common = kc.Binary("&", mask, mask + 1, kc.LONG)
    return kc.Binary("&&", mask >= 0, common.equals(0), kc.TRUTH)
