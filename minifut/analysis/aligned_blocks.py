"""What a point's reads need in order to stay within its own aligned block.

Blocks of B points, a power of two, begin at multiples of B. Of a point t

    t ^ m,  t | m,  t & ~m,  t - (t & m)         are in its block if  0 <= m < B
    t + m where t & m is 0, t - m where not      if besides m is a power of two
    t - t % w + e with 0 <= e < w                if w divides B
    what is so of something in its block

where m and w are the same for all points. The numbers that blocks have to be compared
with are the result; the programs of butterfly networks compute them for each step.

Source: Hacker's Delight, 2-1 (Warren, 2012).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from minifut.analysis.facts import Facts
from minifut.analysis.facts.forms import (
    Fact,
    Form,
    combine,
    difference,
    number,
    product,
)
from minifut.ir.core import Atom, Constant, Copy, ScalarOp
from minifut.ir.node import immutable
from minifut.names import Name

DEEPEST = 4
"""operators one upon the other"""


@immutable
class Need:
    """What a block of B points needs: "below", that `number` is from 0 to B - 1,
    "power", that it is a power of two or 0, or "divides", that it divides B."""

    kind: str
    number: Atom


Needs: TypeAlias = frozenset[Need]


class AlignedBlocks:
    """What indices need, by the facts of a place, to be in the block of `point`; the
    names in `varying` differ between points."""

    def __init__(self, facts: Facts, point: Name, varying: set[Name]) -> None:
        self.facts = facts
        self.point = point
        self.varying = varying

    def needs(self, index: Atom, depth: int = 0) -> Needs | None:
        """What an index needs; None if it may be in another block."""
        if index == self.point:
            return frozenset()
        if depth > DEEPEST or index not in self.varying:
            return None
        found = self._of_bits(self.facts.definition(index), depth + 1)
        return self._of_window(index) if found is None else found

    def partner(self, exp: ScalarOp) -> tuple[Atom, Atom] | None:
        """The operands of an exclusive or that is the same by the branches around, if
        m is a power of two: as `t | m`, `t + m` and `t - m` are."""
        name = exp.operator.name
        if name not in ("or", "add", "sub") or len(exp.operands) != 2:
            return None
        left, right = exp.operands
        for one, mask in ((left, right), (right, left))[: 1 + (name != "sub")]:
            if mask in self.varying or self.needs(one) is None:
                continue
            if (name == "sub") in self._bits(one, mask):
                return one, mask
        return None

    def _of_bits(self, exp: object, depth: int) -> Needs | None:
        match exp:
            case Copy(atom):
                return self.needs(atom, depth)
            case ScalarOp(operator, (left, right)):
                pairs = [(left, right)]
                if operator.name in ("or", "xor", "and", "add"):
                    pairs.append((right, left))
                for one, other in pairs:
                    more = self._combined(operator.name, one, other)
                    rest = None if more is None else self.needs(one, depth)
                    if more is not None and rest is not None:
                        return more | rest
        return None

    def _combined(self, name: str, one: Atom, other: Atom) -> Needs | None:
        """What `one`, which is in the block, needs so that it still is there when it is
        combined with the other."""
        if name in ("or", "xor"):
            return self._below(other)
        exp = self.facts.definition(other)
        match name, exp:
            case "and", ScalarOp(operator, (mask,)) if operator.name == "not":
                return self._below(mask)
            case "sub", ScalarOp(operator, masked) if operator.name == "and":
                if one in masked:
                    return self._below(masked[masked[0] == one])
        if name in ("add", "sub") and (name == "sub") in self._bits(one, other):
            below = self._below(other)
            return None if below is None else below | {Need("power", other)}
        return None

    def _below(self, mask: Atom) -> Needs | None:
        return None if mask in self.varying else frozenset((Need("below", mask),))

    def _bits(self, one: Atom, mask: Atom) -> Iterator[bool]:
        """Whether a number has the bit, where branches tell."""
        for condition, truth in self.facts.truths.items():
            match self.facts.definition(condition):
                case ScalarOp(operator, (tested, Constant(0))) if operator.name in (
                    "eq",
                    "ne",
                ) and self._tests(tested, one, mask):
                    yield truth == (operator.name == "ne")
                case ScalarOp(operator, (tested, Constant(1))) if operator.name in (
                    "eq",
                    "ne",
                ) and self._tests(tested, one, mask, alone=True):
                    yield truth == (operator.name == "eq")

    def _tests(self, tested: Atom, one: Atom, mask: Atom, alone: bool = False) -> bool:
        """Whether a number is 0 exactly if `one`, not negative, lacks the bit of the
        mask; `alone`: it is 1 otherwise."""
        facts, exp = self.facts, self.facts.definition(tested)
        if not isinstance(exp, ScalarOp) or len(exp.operands) != 2:
            return False
        name, operands = exp.operator.name, exp.operands
        odd, even = (Constant(n, exp.operator.result) for n in (1, 2))
        if name == "and" and not alone and set(operands) == {one, mask}:
            return True
        if name == "and" and odd in operands:
            place = facts.definition(operands[operands[0] == odd])
        elif name in ("mod", "rem") and operands[1] == even:
            place = facts.definition(operands[0])
        else:
            return False
        match place:
            case ScalarOp(operator, (value, by)) if value == one:
                if operator.name in ("div", "quot"):
                    return by == mask
                power = facts.definition(mask)
                return operator.name == "shr" and (
                    isinstance(power, ScalarOp)
                    and power.operator.name == "shl"
                    and power.operands == (Constant(1, operator.result), by)
                )
        return False

    def _of_window(self, index: Atom) -> Needs | None:
        """By inequalities: it is in the same window of `width` points, where quotients
        or remainders of the point by the width occur."""
        facts, point = self.facts, self.facts.form(self.point)
        for width, rest in self._windows():
            last = difference(facts.form(width), number(1))
            with facts.inner():
                facts.learn(Fact(last, "the width divides blocks"))
                from_first = combine(facts.form(index), 1, difference(point, rest), -1)
                if facts.proves(from_first) is None:
                    continue
                if facts.proves(difference(last, from_first)) is not None:
                    return frozenset((Need("divides", width),))
        return None

    def _windows(self) -> Iterator[tuple[Atom, Form]]:
        for name, (exp, _) in list(self.facts.definitions.items()):
            match exp:
                case ScalarOp(operator, (value, width)) if (
                    value == self.point and width not in self.varying
                ):
                    if operator.name in ("mod", "rem"):
                        yield width, self.facts.form(name)
                    elif operator.name in ("div", "quot"):
                        whole = product(self.facts.form(name), self.facts.form(width))
                        yield width, difference(self.facts.form(self.point), whole)
