"""Where a condition on the position of a loop holds, as a union of ranges.

    i >= 1 && i < n - 1 && u     [1, n - 1) if u
    i < a || i >= b              (.., a) and [b, ..)
    i / 2 < n                    (.., 2 n)
    (i ^ s) >= n                 within [n & -2 s, ..), for a power of two s

A condition is a formula of parts that are the same for all points and of comparisons
that change once, where an index that grows with the loop passes a bound. Its
disjunctive normal form is a union of `PositionRange`s. Partners in sorting networks and
butterflies, i ^ s and i | s, are in the block of 2 s points that i is in.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product

from minifut.ir.node import immutable, replace
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.position_ranges import (
    FAR,
    LARGEST_FACTOR,
    UNSIGNED,
    PositionIndices,
    PositionRange,
    clamped,
    long_literal,
)
from minifut.kernel_passes.vectorise.varying import find_varying, varies
from minifut.names import Name

MOST_RANGES = 8
MOST_SUMMANDS = 6
"""that are added to a position"""
PARTNERED = ("|", "^")
PositionRanges = tuple[PositionRange, ...]


@immutable
class _Shifted:
    """An index: the variable of the loop or its negation, a number, and terms that are
    the same for all points, added or subtracted."""

    number: int
    rises: bool = True
    terms: tuple[tuple[bool, kc.Expression], ...] = ()

    def negated(self) -> _Shifted:
        terms = tuple((not added, term) for added, term in self.terms)
        return _Shifted(-self.number, not self.rises, terms)

    def plus(self, added: bool, term: kc.Expression) -> _Shifted:
        return replace(self, terms=(*self.terms, (added, term)))


class PositionConditions:
    """The conditions of a loop's body. `superset`: ranges may contain more points than
    those where a condition holds; they are `exact` if they do not. `assumed`: what must
    hold for the ranges to be right, such as that summands of indices which are only
    known when the kernel runs are so small that sums with positions do not wrap
    around."""

    def __init__(self, loop: kc.For, *, superset: bool = False) -> None:
        self.loop = loop
        self.superset = superset
        self.indices = PositionIndices(loop)
        self.exact = True
        self.assumed: list[kc.Expression] = []

    @cached_property
    def varying(self) -> frozenset[Name]:
        """What differs between points."""
        return find_varying(self.loop.body, [self.loop.variable.name])

    @property
    def assumptions(self) -> list[kc.Expression]:
        """What is assumed, each once."""
        return list(dict.fromkeys(self.assumed))

    def ranges(self, condition: kc.Expression, truth: bool) -> PositionRanges | None:
        """Where a condition has this truth value; None if that is not known."""
        self.indices.looked_into = 0
        before = list(self.assumed)
        found = self._ranges(condition, truth)
        if found is None:
            self.assumed = before
        return found

    def _ranges(self, condition: kc.Expression, truth: bool) -> PositionRanges | None:
        parts: tuple[kc.Expression, ...] = ()
        match condition:
            case kc.Variable(name, _) if made := self.indices.definition(name):
                return self._ranges(made, truth)
            case kc.Binary("&&" | "||" | "&" | "|" as symbol, left, right, kc.TRUTH):
                conjunction = (symbol in ("&&", "&")) == truth
                parts = left, right
            case kc.Operation(operator, operands, _) if operator.name in ("and", "or"):
                conjunction = (operator.name == "and") == truth
                parts = operands
            case kc.Operation(operator, (operand,), _) if operator.name == "not":
                return self._ranges(operand, not truth)
            case kc.Call("!", (operand,), _):
                return self._ranges(operand, not truth)
        if parts:
            found = [self._ranges(part, truth) for part in parts]
            known = [ranges for ranges in found if ranges is not None]
            if len(known) < len(found):
                if not (known and conjunction and self.superset):
                    return None
                self.exact = False
            return intersection(known) if conjunction else union(known)
        if not varies(condition, self.varying):
            uniform = self.indices.uniform(condition)
            if uniform is None:
                return None
            if not truth:
                uniform = kc.Call("!", (uniform,), kc.TRUTH)
            return (PositionRange(uniform=[uniform]),)
        return self._compared(condition, truth)

    def _compared(self, condition: kc.Expression, truth: bool) -> PositionRanges | None:
        """A comparison of two indices, of which one grows with the loop."""
        found = kc.infix(condition)
        if found is None or found[0] not in kc.OPPOSITE:
            return None
        name, left, right = found
        if left.type == right.type == UNSIGNED:
            return self._below(left, right, name, truth)
        if self.superset and not truth and (ends := self._outside(left, right, name)):
            return ends
        name = name if truth else kc.OPPOSITE[name]
        if name == "!=":  # two ranges, and nothing to gain
            return None
        if name in (">", ">="):
            left, right, name = right, left, kc.MIRRORED[name]
        if (unscaled := self._multiplied(left, right, name)) is not None:
            return self._compared(unscaled, True)
        shifts = [self._shifted(side) for side in (left, right)]
        if (shifts[0] is None) == (shifts[1] is None):
            return None
        grows = 0 if shifts[0] is not None else 1
        limit = self.indices.uniform((left, right)[1 - grows])
        shift = shifts[grows]
        if limit is None or shift is None or len(shift.terms) > MOST_SUMMANDS:
            return None
        # c - i < l is c - l < i
        below = (grows == 0) == shift.rises
        more = shift.number * (-1 if shift.rises else 1)
        if name != "==":
            more += int((name == "<=") == below)
        self.assumed += [is_near(term) for _, term in shift.terms]
        if more or shift.terms or not shift.rises or name == "==":
            limit = clamped(limit, len(shift.terms))
        bound: kc.Expression = limit if shift.rises else long_literal(0) - limit
        for added, term in shift.terms:
            add = added != shift.rises
            bound = bound + clamped(term) if add else bound - clamped(term)
        bound = bound + more if more else bound
        if name == "==":
            return (PositionRange([bound], [bound + 1], single=True),)
        return (PositionRange([], [bound]) if below else PositionRange([bound]),)

    def _multiplied(
        self, left: kc.Expression, right: kc.Expression, name: str
    ) -> kc.Expression | None:
        """A comparison with a quotient, i / c < l, without it: i < c * l."""
        sides = left, right
        for number, quotient in enumerate(map(self._quotient, sides)):
            if name == "==" or quotient is None:
                continue
            limit = self.indices.uniform(sides[1 - number])
            if limit is None:
                continue
            index, divisor = quotient
            more = int((name == "<=") == (number == 0))
            bound = (clamped(limit, MOST_SUMMANDS) + more) * divisor
            pair = (index, bound) if number == 0 else (bound, index)
            return kc.Binary("<=" if number else "<", *pair, kc.TRUTH)
        return None

    def _quotient(self, exp: kc.Expression) -> tuple[kc.Expression, int] | None:
        """What is divided, and by which small number, rounding down."""
        match self.indices.defined(exp):
            case kc.Operation(operator, (index, kc.Literal(int(by), _)), kc.LONG):
                known = operator.name == "div" and 1 < by <= LARGEST_FACTOR
                return (index, by) if known else None
        return None

    def _below(
        self, left: kc.Expression, right: kc.Expression, name: str, truth: bool
    ) -> PositionRanges | None:
        """Where an unsigned number is not below another one, both made of signed ones:
        it is negative as a signed number, or not below that one."""
        numbers = [self.indices.signed(side) for side in (left, right)]
        index, limit = numbers
        if truth or not self.superset or name != "<" or not index or not limit:
            return None
        if partners := self._partners(index, limit):
            return partners
        sides = [
            self._compared(kc.Binary("<", index, long_literal(0), kc.TRUTH), True),
            self._compared(kc.Binary("<", index, limit, kc.TRUTH), False),
        ]
        known = [ranges for ranges in sides if ranges is not None]
        return union(known) if len(known) == len(sides) else None

    def _outside(
        self, left: kc.Expression, right: kc.Expression, name: str
    ) -> PositionRanges | None:
        """Where the partner of a position is not below a limit, or not from 0 on."""
        if name == "<":
            return self._partners(self.indices.defined(left), right)
        if name == "<=" and isinstance(left, kc.Literal) and int(left.value) == 0:
            return self._partners(self.indices.defined(right), long_literal(FAR))
        return None

    def _partners(
        self, index: kc.Expression, limit: kc.Expression
    ) -> PositionRanges | None:
        """Where the partner i ^ s or i | s of a position, with a power of two s, is not
        below a limit: at most where its block of 2 s points is not."""
        found = kc.infix(index)
        if found is None or found[0] not in PARTNERED:
            return None
        _, left, right = found
        if self.indices.offset(left) != 0:
            left, right = right, left
        bit, end = self.indices.uniform(right), self.indices.uniform(limit)
        if self.indices.offset(left) != 0 or bit is None or end is None:
            return None
        self.exact = False
        self.assumed.append((bit & (bit - 1)).equals(0) & (bit > 0) & (bit <= FAR))
        whole = end & (long_literal(0) - (bit + bit))
        return (PositionRange([], [long_literal(0)]), PositionRange([whole]))

    def _shifted(self, exp: kc.Expression) -> _Shifted | None:
        """An index that grows with the loop; None of others."""
        offset = self.indices.offset(exp)
        return self._with_terms(exp) if offset is None else _Shifted(offset)

    def _with_terms(self, exp: kc.Expression) -> _Shifted | None:
        """The same of a sum or difference that has summands of the same value for all
        points."""
        match exp:
            case kc.Variable(own, kc.LONG) if made := self.indices.definition(own):
                return self._shifted(made)
            case kc.Cast(operand, kc.LONG) if operand.type == kc.LONG:
                return self._shifted(operand)
        found = kc.infix(exp) if exp.type == kc.LONG else None
        if found is None or found[0] not in ("+", "-"):
            return None
        sign, left, right = found
        adds = sign == "+"
        if (index := self._shifted(left)) is not None:
            term = self.indices.uniform(right)
            return None if term is None else index.plus(adds, term)
        term, index = self.indices.uniform(left), self._shifted(right)
        if index is None or term is None:
            return None
        return (index if adds else index.negated()).plus(True, term)


def is_near(term: kc.Expression) -> kc.Expression:
    """Whether a summand is so small that no sum with a position wraps around."""
    above = kc.Binary("<=", long_literal(-FAR), term, kc.TRUTH)
    below = kc.Binary("<=", term, long_literal(FAR), kc.TRUTH)
    return kc.all_of((above, below))


def union(sets: list[PositionRanges]) -> PositionRanges | None:
    joined = tuple(part for ranges in sets for part in ranges)
    return joined if len(joined) <= MOST_RANGES else None


def intersection(sets: list[PositionRanges]) -> PositionRanges | None:
    return union(
        [
            (
                PositionRange(
                    [low for part in parts for low in part.lows],
                    [high for part in parts for high in part.highs],
                    [test for part in parts for test in part.uniform],
                    any(part.single for part in parts),
                ),
            )
            for parts in product(*sets)
        ]
    )
