"""Split loops over points where branches in rounds inside depend on their position.

    for (i = 0; i < n; i++)                        low = max(0 * d, (m - 1) * d)
        for (k = 0; k < m; k++)                    for (i = low; i < n; i++)
            if (i - k * d >= 0)             →          for (k = 0; k < m; k++)
                s += xs[i - k * d] * w[k];                 s += xs[i - k * d] * w[k];
                                                   for (the others) as before

So convolutions and filters whose lengths, strides or dilations are known only when the
kernel runs read neighbours without masks but at the borders. A bound of the position is
affine in the numbers of rounds: the conditions of the first and last rounds imply all
others. What of a condition is the same for all points stays a condition.

The kernel tests that the summands and factors of bounds are so small that nothing wraps
around; where they are not, no points are in the range.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from itertools import product
from typing import Any

from minifut.ir.node import immutable, mutable, replace
from minifut.ir.search import contains, nodes_of
from minifut.ir.traverse import map_children
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.context import CodeContext, KernelOutcome
from minifut.kernel_passes.position_conditions import PositionConditions
from minifut.kernel_passes.position_ranges import (
    FAR_OFFSET,
    PositionRange,
    emit_ranges,
    long_literal,
)
from minifut.kernel_passes.position_splits import weight
from minifut.names import Name
from minifut.rewrite.rule import Declined, rule

MOST_ROUNDS = 3
"""loops inside of each other, whose first and last rounds are combined"""


@rule(kc.For, paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_by_rounds(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Give the points for which branches go one way in all rounds a loop of their own.

    before:
        given (const float *xs, const float *ws, float *ys, long n, long m)
        for (long i = 0; i < n; i++) {
            float s = 0.0f;
            for (long k = 0; k < m; k++) {
                if (i - k >= 0) {
                    s = s + xs[i - k] * ws[k];
                }
            }
            ys[i] = s;
        }
    after:
        long low = (((-281474976710656L) <= (m - 1L)) && ((m - 1L) <=
        281474976710656L)) ? min((long)(max((long)(max((long)(0L), (long)(0L))),
        (long)(max((long)(min((long)(m - 1L), (long)(281474976710656L))),
        (long)((-281474976710656L)))))), n) : n;
        long high = min((long)(max(low, n)), n);
        for (long side = 0L; side < 2L; side++) {
            for (long i = (side == 0L) ? 0L : high; i < ((side == 0L) ? low : n);
            i++) {
                float s = 0.0f;
                for (long k = 0L; k < m; k++) {
                    if ((i - k) >= 0L) {
                        s = s + (xs[i - k] * ws[k]);
                    }
                }
                ys[i] = s;
            }
        }
        for (long i = low; i < high; i++) {
            float s = 0.0f;
            for (long k = 0L; k < m; k++) {
                {
                    s = s + (xs[i - k] * ws[k]);
                }
            }
            ys[i] = s;
        }
    declines: no branch in rounds depends on the position alone
        like before, with
        i - k >= 0 => xs[i] >= 0.0f
    """
    if not loop.counts_by_ones or not contains(loop.body, kc.For):
        return None
    search = _Rounds(PositionConditions(loop))
    inside = tuple(map(search.within, loop.body.statements))
    if not search.where.lows and not search.where.highs:
        return Declined("no branch in rounds depends on the position alone")
    assumed = [*search.assumed, *search.conditions.assumptions]
    where = replace(search.where, uniform=assumed)
    with context.k.nested() as made:
        emit_ranges(context.k, where, replace(loop, body=kc.Block(inside)), loop)
    return tuple(made)


@immutable
class _Part:
    """A condition that is to have this truth value."""

    condition: kc.Expression
    truth: bool


@mutable
class _Rounds:
    """Rewrites the statements of points for a range, `where` all rounds take the same
    branches; `ends` are the first and last numbers of the rounds around, `assumed` is
    what must hold for bounds to be affine in them."""

    conditions: PositionConditions
    where: PositionRange = field(default_factory=PositionRange)
    ends: dict[Name, tuple[kc.Expression, kc.Expression]] = field(default_factory=dict)
    assumed: dict[kc.Expression, None] = field(default_factory=dict)

    def within(self, node: Any) -> Any:
        """The node without branches on positions in rounds."""
        match node:
            case kc.For():
                return self.loop(node)
            case kc.While() | kc.Expression():
                return node
            case kc.Branch() if self.ends:
                taken = self.taken(node)
                return map_children(node, self.within) if taken is None else taken
        return map_children(node, self.within)

    def loop(self, loop: kc.For) -> kc.For:
        """A loop of rounds, whose first and last number are those of all points."""
        uniform = self.conditions.indices.uniform
        start, bound = uniform(loop.start), uniform(loop.bound)
        known = start is not None and bound is not None and loop.counts_by_ones
        if not known or loop.variable.type != kc.LONG or len(self.ends) == MOST_ROUNDS:
            return loop
        assert start is not None and bound is not None
        self.ends[loop.variable.name] = start, bound - 1
        changed = replace(loop, body=map_children(loop.body, self.within))
        del self.ends[loop.variable.name]
        return changed

    def taken(self, branch: kc.Branch) -> kc.Statement | None:
        """The side of a branch that is taken in the range, the heavier one if it can
        be; None if none is."""
        sides = branch.then, branch.otherwise or kc.Block(())
        first = weight(sides[0].statements) >= weight(sides[1].statements)
        for truth in (first, not first):
            taken, other = sides if truth else sides[::-1]
            parts = [*self.parts(_Part(branch.condition, truth))]
            free = [p for p in parts if not self.is_of_position(p.condition)]
            decided = [p for p in parts if p not in free]
            if not decided or not self.decide(decided):
                continue
            own = map_children(taken, self.within)
            if not free:
                return own
            left = [
                p.condition if p.truth else kc.Call("!", (p.condition,), kc.TRUTH)
                for p in free
            ]
            return kc.Branch(kc.all_of(left), own, other)
        return None

    def parts(self, part: _Part) -> Iterator[_Part]:
        """What must hold together for a condition to have a truth value."""
        condition = self.conditions.indices.defined(part.condition)
        truth, operands = part.truth, list[kc.Expression]()
        match condition:
            case kc.Binary("&&" | "||" | "&" | "|" as symbol, left, right, kc.TRUTH):
                if (symbol in ("&&", "&")) == truth:
                    operands = [left, right]
            case kc.Operation(operator, both, _) if operator.name in ("and", "or"):
                if (operator.name == "and") == truth:
                    operands = [*both]
            case kc.Operation(operator, (operand,), _) if operator.name == "not":
                truth, operands = not truth, [operand]
        if not operands:
            yield _Part(condition, truth)
        for operand in operands:
            yield from self.parts(_Part(operand, truth))

    def is_of_position(self, condition: kc.Expression) -> bool:
        """Whether a condition depends on the position."""
        expanded = self.conditions.indices.expanded(condition)
        at = self.conditions.loop.variable.name
        return any(node.name == at for node in nodes_of(kc.Variable, expanded))

    def decide(self, parts: list[_Part]) -> bool:
        """Add to the range where the parts hold in all rounds, if that is known."""
        lows, highs = list(self.where.lows), list(self.where.highs)
        assumed = dict(self.assumed)
        for part in parts:
            expanded = self.conditions.indices.expanded(part.condition)
            sides = kc.infix(expanded)
            self.conditions.indices.looked_into = 0
            if sides is None or not all(self.is_affine(s, assumed) for s in sides[1:]):
                return False
            used = {v.name for v in nodes_of(kc.Variable, expanded)}
            ends = {name: pair for name, pair in self.ends.items() if name in used}
            for corner in product(*ends.values()):
                at = dict(zip(ends, corner, strict=True))
                found = self.conditions.ranges(_substituted(expanded, at), part.truth)
                if found is None or len(found) != 1:
                    return False
                (one,) = found
                if one.uniform or one.single:
                    return False
                lows += [low for low in one.lows if low not in lows]
                highs += [high for high in one.highs if high not in highs]
        self.where = replace(self.where, lows=lows, highs=highs)
        self.assumed = assumed
        return True

    def is_affine(self, exp: kc.Expression, assumed: dict[kc.Expression, None]) -> bool:
        """Whether an index is affine in the numbers of rounds and the position."""
        if exp.type != kc.LONG:
            return False
        if self.conditions.indices.uniform(exp) is not None:
            return True
        match exp:
            case kc.Variable(name, _):
                return name in self.ends or name == self.conditions.loop.variable.name
        found = kc.infix(exp)
        if found is None or found[0] not in ("+", "-", "*"):
            return False
        sign, *sides = found
        if sign != "*":
            return all(self.is_affine(side, assumed) for side in sides)
        for factor, other in (sides, sides[::-1]):
            known = self.conditions.indices.uniform(factor)
            if known is not None and self.is_sum(other, assumed):
                assumed |= dict.fromkeys(_is_small(known))
                return True
        return False

    def is_sum(self, exp: kc.Expression, assumed: dict[kc.Expression, None]) -> bool:
        """Whether what is multiplied is a small sum of numbers of rounds and others."""
        known = self.conditions.indices.uniform(exp)
        if known is not None:
            assumed |= dict.fromkeys(_is_small(known))
            return True
        if isinstance(exp, kc.Variable) and exp.name in self.ends:
            for end in self.ends[exp.name]:
                assumed |= dict.fromkeys(_is_small(end))
            return True
        found = kc.infix(exp)
        if found is None or found[0] not in ("+", "-") or exp.type != kc.LONG:
            return False
        return all(self.is_sum(side, assumed) for side in found[1:])


def _is_small(number: kc.Expression) -> Iterator[kc.Expression]:
    """The conditions that products with it do not wrap around."""
    if isinstance(number, kc.Literal) and abs(int(number.value)) <= FAR_OFFSET:
        return
    yield kc.Binary("<=", long_literal(-FAR_OFFSET), number, kc.TRUTH)
    yield kc.Binary("<=", number, long_literal(FAR_OFFSET), kc.TRUTH)


def _substituted(node: Any, values: dict[Name, kc.Expression]) -> Any:
    """An expression with others in the places of variables."""
    if isinstance(node, kc.Variable):
        return values.get(node.name, node)
    return map_children(node, lambda child: _substituted(child, values))
