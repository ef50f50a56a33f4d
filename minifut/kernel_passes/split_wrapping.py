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
each has one residue and a quotient that is affine (`PositionIndices`):

    for (j = 0; j < n; j++)                  for (k = 0; k < n / 2; k++) {
        y[j] = j % 2 ? x[j / 2] : 0     →        y[2 * k] = 0
                                                 y[2 * k + 1] = x[k]
                                             }

So it does with j * 2 / 3, whose period is 3. Loops inside of few rounds are written
out: the places that they read depend on the residue.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minifut.ir.node import replace
from minifut.ir.search import contains, nodes_of
from minifut.ir.traverse import map_children, rename_to
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_ir.powers import shift_or_mask
from minifut.kernel_passes.context import CodeContext, KernelOutcome, rewritten
from minifut.kernel_passes.editor import KernelEditor, has_loops, loops_of
from minifut.kernel_passes.position_ranges import (
    MASKS,
    QUOTIENTS,
    RESIDUES,
    PositionIndices,
    PositionRange,
    clamped,
    divisor,
    emit_ranges,
    used,
)
from minifut.kernel_passes.split_loop import is_independent
from minifut.kernel_passes.vectorise.calls import calls_functions
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
    straight = search.straightened()
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


MOST_STATEMENTS = 2400
"""of all copies of a body for residues"""
LARGEST_PERIOD, LARGEST_STRIDED = 4, 8
"""points that a round does of those distinguished by a divisor; of those whose index is
a multiple of the position, so that quotients are no vectors either"""
MOST_ROUNDS = 8
"""of a loop that is written out"""


def period_of_points(loop: kc.For) -> int:
    """The small divisor by which points do something else; 1 if there is none, or if a
    round is not to do several points."""
    if loop.expensive:
        if calls_functions(loop.body) or not all(map(_is_short, loops_of([loop.body]))):
            return 1
    elif not loop.parallel:
        return 1
    if contains(loop.body, kc.DeclareArray):
        return 1
    search = PositionIndices(loop)
    found = set()
    branches = contains(loop.body, kc.Branch)
    for node in nodes_of(kc.Operation, loop.body):
        if (name := node.operator.name) in (*QUOTIENTS, *RESIDUES):
            period = _period_of(node, search)
            if loop.expensive and period == 0:
                return 1
            if period > 1 and (branches or name in QUOTIENTS):
                found.add(period)
    period = math.lcm(*found)
    fits = period * _statements(loop.body.statements) <= MOST_STATEMENTS
    return period if period <= LARGEST_STRIDED and fits else 1


def _period_of(node: kc.Operation, search: PositionIndices) -> int:
    """With how many points a quotient or residue is affine, 1 if it always is; 0 if it
    is divided in each point, which lanes do better."""
    name, (left, right) = node.operator.name, node.operands
    by = divisor(name, right)
    search.looked_into = 0
    index = search.index(left) if by else None
    if index is not None and index.low == index.high:
        period = by // math.gcd(by, index.factor)
        if period <= _largest(index.factor):
            return period
    return int(name in MASKS or shift_or_mask(node.operator, right) is not None)


def _statements(statements: Iterable[kc.Statement]) -> int:
    """How many there are if short loops are written out."""
    total = 0
    for statement in statements:
        inside = sum(_statements(block.statements) for block in kc.blocks_of(statement))
        if isinstance(statement, kc.For) and _is_short(statement):
            inside *= statement.rounds or 0
        total += 1 + inside
    return total


def _largest(factor: int) -> int:
    return LARGEST_PERIOD if factor == 1 else LARGEST_STRIDED


def _is_short(loop: kc.For | kc.While) -> bool:
    """Whether a loop is written out."""
    return (
        isinstance(loop, kc.For)
        and loop.counts_by_ones
        and loop.rounds is not None
        and loop.rounds <= MOST_ROUNDS
        and isinstance(loop.start, kc.Literal)
    )


def _written_out(node: Any, k: CodeBuilder) -> Any:
    """Code without loops of few rounds."""
    node = map_children(node, lambda child: _written_out(child, k))
    if not (isinstance(node, kc.For) and _is_short(node)):
        return node
    assert isinstance(node.start, kc.Literal)
    first, rounds = int(node.start.value), node.rounds or 0
    copies = []
    for number in range(first, first + rounds):
        names = k.fresh_names((node,))
        counter = replace(node.variable, name=names[node.variable.name])
        value = kc.Declare(counter, kc.Literal(number, counter.type))
        copies.append(kc.Block((value, *rename_to(node.body, names).statements)))
    return kc.Block(tuple(copies))


def in_periods(loop: kc.For, period: int, k: CodeBuilder) -> kc.For:
    """The loop whose rounds do that many points each."""
    round_ = k.variable("k", kc.LONG)
    body = _written_out(loop.body, k) if has_loops(loop.body) else loop.body
    copies = []
    for residue in range(period):
        names = k.fresh_names((replace(loop, body=body),))
        first = round_ * period
        at = kc.Variable(names[loop.variable.name], kc.LONG)
        place = kc.Declare(at, first + residue if residue else first)
        copy = rename_to(body, names)
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
        parallel=loop.parallel or is_independent(tuple(copies)),
        expensive=False,
    )


BOUNDING = ("<", "<=", ">", ">=")
TRUE = kc.Literal(True, kc.TRUTH)


class PositionEnds(PositionIndices):
    """Replaces comparisons of indices with what is the same for all points by true, and
    collects where they hold: from `first` on and within `limits`."""

    def holding(self, node: Any) -> Any:
        """The node with such comparisons replaced."""
        match node:
            case kc.Branch(condition, then, _) if self.holding(condition) == TRUE:
                return map_children(then, self.holding)
            case kc.Operation() | kc.Binary():
                sign, *pair = kc.infix(node) or ("",)
                if sign in BOUNDING and all(side.type == kc.LONG for side in pair):
                    left, right = pair
                    mirrored = kc.MIRRORED[sign]
                    if self.bounded(sign, left, right):
                        return TRUE
                    if self.bounded(mirrored, right, left):
                        return TRUE
        return map_children(node, self.holding)

    def bounded(self, sign: str, index: kc.Expression, bound: kc.Expression) -> bool:
        """Whether an index that grows is compared, and from where on or up to where the
        comparison holds."""
        self.looked_into = 0
        found, limit = self.index(index), self.uniform(bound)
        if found is None or found.factor == 0 or limit is None:
            return False
        if sign in ("<", "<="):
            most = clamped(limit) - 1 if sign == "<" else limit
            self.limit(found, most, False)
            return True
        if not isinstance(limit, kc.Literal):
            return False
        least = int(limit.value) + (sign == ">")
        self.first = max(self.first, -((found.low - least) // found.factor))
        return True
