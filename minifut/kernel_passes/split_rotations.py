"""Split loops over points where an index that is rotated starts again at zero.

    for (j = 0; j < m; j++)              r = c mod m; high = m - r
        y[j] = x[(j + c) mod m]     →    for (j = 0; j < high; j++) y[j] = x[j + r]
                                         for (j = high; j < m; j++) y[j] = x[j + r - m]

The distance c is a number that is known only when the program runs, of any sign; one
that is known before is a border of a few positions (`passes.split`). A remainder at
each point is a division of 64 bits, beside which nothing is vectorised.

The kernel tests that the positions are within the divisor and the distance is so small
that no sum overflows. Where they are not, all points are left to the loop as it was.

Source: Griebl, Feautrier, Lengauer, "Index set splitting" (2000).
"""

from __future__ import annotations

from typing import Any

from minifut.ir.alpha import alpha_equal
from minifut.ir.node import replace
from minifut.ir.search import nodes_of
from minifut.ir.traverse import map_children, used_names
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import CodeContext, KernelOutcome, rewritten
from minifut.kernel_passes.editor import change_loops
from minifut.kernel_passes.position_ranges import (
    FAR,
    PositionIndices,
    extreme,
    long_literal,
    used,
)
from minifut.kernel_passes.split_loop import split_by_branches
from minifut.rewrite.rule import Declined, rule


def split_by_positions(
    loop: kc.For, context: CodeContext
) -> tuple[kc.Statement, ...] | None:
    """The loop without rotated indices and branches on the position; None if there are
    none."""
    pieces = rewritten(split_rotation, loop, context)
    if pieces is None:
        return split_by_branches(loop, context)
    return change_loops(pieces, lambda piece: split_by_branches(piece, context))


@rule(kc.For, paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_rotation(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Give the points before and behind that which reads the first element a loop each.

    before:
        given (const float *xs, float *ys, long n, long c)
        for (long i = 0; i < n; i++) {
            long at = mod_i64(i + c, n);
            ys[i] = xs[at];
        }
    after:
        long shift = mod_i64(c, n);
        long rotated = ((((0L >= 0L) && (n <= n)) && (c <= 281474976710656L)) && (c >=
        (-281474976710656L))) ? 0L : n;
        long again = max(rotated, (long)(min((long)(n - shift), n)));
        for (long i = 0L; i < rotated; i++) {
            long at = mod_i64((i + c), n);
            ys[i] = xs[at];
        }
        for (long i = rotated; i < again; i++) {
            long at = i + shift;
            ys[i] = xs[at];
        }
        for (long i = again; i < n; i++) {
            long at = (i + shift) - n;
            ys[i] = xs[at];
        }
    declines: no index is rotated, or several differently
        like before, with
        mod_i64(i + c, n) => mod_i64(i * c, n)
    """
    if not loop.counts_by_ones:
        return None
    search = _Rotations(loop)
    if len(search.found) != 1:
        return Declined("no index is rotated, or several differently")
    (remainder,) = search.found
    k, start, stop = context.k, loop.start, loop.bound
    distance, divisor = remainder.operands
    with k.nested() as made:
        shift = k.declare("shift", remainder)
        within = kc.all_of(
            (
                start >= 0,
                kc.Binary("<=", stop, divisor, kc.TRUTH),
                kc.Binary("<=", distance, long_literal(FAR), kc.TRUTH),
                distance >= -FAR,
            )
        )
        first = k.declare("rotated", kc.Select(within, start, stop, kc.LONG))
        turn = extreme("min", [divisor - shift, stop])
        again = k.declare("again", extreme("max", [first, turn]))
        straight = loop.variable + shift
        k.emit(replace(loop, bound=first))
        for begin, end, index in (
            (first, again, straight),
            (again, stop, straight - divisor),
        ):
            body = tuple(search.with_index(s, index) for s in loop.body.statements)
            k.emit(replace(loop, start=begin, bound=end, body=kc.Block(used(body))))
    return tuple(made)


class _Rotations(PositionIndices):
    """The rotated indices `(j + distance) mod divisor` in the body of a loop over j:
    `found` has each `distance mod divisor` once, in names from outside of the loop."""

    def __init__(self, loop: kc.For) -> None:
        super().__init__(loop)
        self.found: list[kc.Operation] = []
        for node in nodes_of(kc.Operation, loop.body):
            rotation = self.rotation(node)
            if rotation is not None and not any(
                alpha_equal(rotation, other) for other in self.found
            ):
                self.found.append(rotation)

    def rotation(self, exp: kc.Operation) -> kc.Operation | None:
        """What a remainder is of, if that is the variable and a distance."""
        if exp.operator.name != "mod" or exp.type != kc.LONG:
            return None
        number, by = exp.operands
        distance = self.distance(number)
        divisor = None if distance is None else self.uniform(by)
        if distance is None or divisor is None:
            return None
        return replace(exp, operands=(distance, divisor))

    def distance(self, exp: kc.Expression) -> kc.Expression | None:
        """What an index is more than the variable, if that is the same for all."""
        match kc.infix(self.defined(exp)):
            case "+", kc.Variable(name), other if name == self.index_name:
                sign = 1
            case "+", other, kc.Variable(name) if name == self.index_name:
                sign = 1
            case "-", kc.Variable(name), other if name == self.index_name:
                sign = -1
            case _:
                return None
        rest = self.uniform(other)
        if rest is None or not used_names(rest):
            return None
        return rest if sign == 1 else kc.Literal(0, kc.LONG) - rest

    def with_index(self, node: Any, index: kc.Expression) -> Any:
        """The node with another expression for rotated indices."""
        if isinstance(node, kc.Operation) and self.rotation(node) is not None:
            return index
        return map_children(node, lambda child: self.with_index(child, index))
