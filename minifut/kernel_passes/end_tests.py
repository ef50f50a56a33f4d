"""Tests of indices at the ends of a range of points.

    for (i = a; i < b; i++)                  every = 1
        fine &= (i + c) < n           →      for (i in {a, b - 1}) every &= (i + c) < n
                                             if (!every) the loop as it was

An index that grows by one with the points is within an array for all of them if it is
for the first and the last one. Partners in sorting networks and butterflies, i ^ s and
i | s for a power of two s, are at most i | (2 s - 1), which does not fall when i grows.
So what is tested implies the conditions of all points, and need not follow from them:
where a test fails, that of each point decides.

Source: Gupta, "Optimizing array bound checks using flow analysis" (1993).
"""

from __future__ import annotations

from minifut.ir.node import replace
from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import CodeContext
from minifut.kernel_passes.index_ranges import as_size
from minifut.kernel_passes.position_ranges import FAR, UNSIGNED, PositionIndices
from minifut.rewrite.rule import Declined, rule

ONE = kc.Literal(1, kc.LONG)
PAIRED = ("or", "xor")
NAMES = {"<": "lt", "&": "and", "|": "or", "^": "xor"}


@rule(paper="Gupta, Optimizing array bound checks using flow analysis (1993)")
def test_ends_of_range(
    loop: kc.Statement, context: CodeContext
) -> tuple[kc.Statement, ...] | Declined | None:
    """Test the conditions of all points at the first and the last one; in a loop over
    all of them only if that fails.

    before:
        given (long n, long s, long start, long end)
        int fine = 1;
        for (long i = start; i < end; i++) {
            long xor = i ^ s;
            ulong x = (ulong)xor;
            ulong x_1 = (ulong)n;
            bool below = x < x_1;
            fine = fine & ((int)below);
        }
    after:
        int every = 1;
        for (long i = start; i < end; i += max((long)((end - 1L) - start), (long)(1L)))
        {
            every = every & ((int)((((((s & (s - 1L)) == 0L) & (s > 0L)) & (s <=
            281474976710656L)) & (i >= 0L)) & ((n >= 0L) & (((ulong)(i | ((s + s) -
            1L))) < ((ulong)n)))));
        }
        if (every == 0) {
            for (long i = start; i < end; i++) {
                long xor = i ^ s;
                ulong x = ((ulong)xor);
                ulong x_1 = ((ulong)n);
                bool below = x < x_1;
                fine = fine & ((int)below);
            }
        }
    declines: conditions of points do not follow from those of the ends
        given (const long *xs, long n, long start, long end)
        int fine = 1;
        for (long i = start; i < end; i++) {
            ulong x = (ulong)xs[i];
            ulong x_1 = (ulong)n;
            bool below = x < x_1;
            fine = fine & ((int)below);
        }
    """
    if not isinstance(loop, kc.For) or not loop.counts_by_ones:
        return None
    holds = tested_condition(loop.body.statements[-1])
    if holds is None:
        return None
    implied = _EndConditions(loop).implying(holds)
    if implied is None:
        return Declined("conditions of points do not follow from those of the ends")
    k = context.k
    every = k.variable("every", kc.INT)
    both = kc.Binary("&", every, kc.Cast(implied, kc.INT), kc.INT)
    # two rounds, one of a single point, none of no points
    step = kc.Call("max", (loop.bound - 1 - loop.start, ONE), kc.LONG)
    body = kc.Block((kc.Assign(every, both),))
    twice = replace(loop, step=step, body=body, parallel=False, points=False)
    failed = kc.Binary("==", every, kc.Literal(0, kc.INT), kc.TRUTH)
    return (
        kc.Declare(every, kc.Literal(1, kc.INT)),
        twice,
        kc.Branch(failed, kc.Block((loop,))),
    )


class _EndConditions(PositionIndices):
    """Conditions on the position that hold for all points of a range if they do for its
    ends."""

    def implying(self, exp: kc.Expression) -> kc.Expression | None:
        """Such a condition from which the given one follows; None if none is known."""
        exp = self.defined(exp)
        if (same := self.uniform(exp)) is not None:
            return same
        name, left, right = _parts(exp)
        if name == "lt" and left.type == UNSIGNED:
            return self.below(left, right)
        if name not in ("and", "or"):
            return None
        first, second = self.implying(left), self.implying(right)
        if name == "and":
            if first is None or second is None:
                return None
            return kc.Binary("&", first, second, kc.TRUTH)
        # ranges of positions side by side are no range
        if first is None or second is None:
            return second if first is None else first
        if self.uniform(first) is None and self.uniform(second) is None:
            return first
        return kc.Binary("|", first, second, kc.TRUTH)

    def below(self, left: kc.Expression, right: kc.Expression) -> kc.Expression | None:
        """Of an index that is compared with a size, both without their signs. As the
        size is not negative, more indices are outside of it than points in a range."""
        index, size = self.signed(left), self.signed(right)
        size = None if size is None else self.uniform(size)
        if index is None or size is None:
            return None
        found = self.greatest(index)
        if found is None:
            return None
        most, condition = found
        inside: kc.Expression
        inside = kc.Binary("<", _unsigned(most), _unsigned(size), kc.TRUTH)
        for limit in (size >= 0, condition):
            inside = inside if limit is None else limit & inside
        return inside

    def greatest(
        self, index: kc.Expression
    ) -> tuple[kc.Expression, kc.Expression | None] | None:
        """A number that grows with the position and is at least the index, and when
        that is so."""
        position = kc.Variable(self.index_name, kc.LONG)
        name, left, right = _parts(index)
        if name in PAIRED:
            if self.offset(left) != 0:
                left, right = right, left
            bit = self.uniform(right)
            if self.offset(left) != 0 or bit is None:
                return None
            power = (bit & (bit - 1)).equals(0) & (bit > 0) & (bit <= FAR)
            return position | (bit + bit - 1), power & (position >= 0)
        whole = as_size(index, self.made)
        if whole is None:
            return None
        beside = whole - Size.of(self.index_name)
        return None if beside.names() & self.local else (kc.SizeValue(whole), None)


def _parts(
    exp: kc.Expression,
) -> tuple[str, kc.Expression, kc.Expression]:
    """An operator and its two operands; no operator if there are not two."""
    match exp:
        case kc.Operation(operator, (left, right), _):
            return operator.name, left, right
        case kc.Binary(symbol, left, right, _):
            return NAMES.get(symbol, symbol), left, right
    return "", exp, exp


def tested_condition(statement: kc.Statement) -> kc.Expression | None:
    """What a statement tests that collects the conditions of points in a variable."""
    match statement:
        case kc.Assign(
            kc.Variable(flag, kc.INT),
            kc.Binary("&", kc.Variable(same, _), kc.Cast(holds, _), _)
            | kc.Operation(_, (kc.Variable(same, _), kc.Cast(holds, _)), _),
        ) if flag == same and holds.type == kc.TRUTH:
            return holds
    return None


def _unsigned(exp: kc.Expression) -> kc.Expression:
    return kc.Cast(exp, UNSIGNED)
