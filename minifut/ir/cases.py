r"""Proofs by cases that code chooses between two operands, by what it compares.

    \(a, i) (b, j) -> if b > a then (b, j) else (a, i)
        a < b: the right operand          a = b or a > b: the left one

The code is evaluated for each outcome of comparing components of the operands: of a
value is known of which operands it is which component, or the truth that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from minifut.ir.scalars import COMPARE, known_truth

LEFT, RIGHT = 0, 1
BOTH = frozenset((LEFT, RIGHT))
EXTREMES = ("min", "max")

OperandComponent: TypeAlias = tuple[int, frozenset[int]]
"""its number, and the operands that have this value of it"""
KnownOutcome: TypeAlias = bool | OperandComponent | None
Outcomes: TypeAlias = Mapping[int, int | None]
"""of compared components: -1, 0 or 1 if that of the left operand is less, equal or
greater, None if one of them is a NaN"""


def component(number: int, side: int, outcomes: Outcomes) -> OperandComponent:
    """A component of one of the operands."""
    same = outcomes.get(number) == 0
    return number, BOTH if same else frozenset((side,))


def computed(
    name: str, values: Sequence[KnownOutcome], outcomes: Outcomes
) -> KnownOutcome:
    """What the operator of that name gives."""
    match values:
        case ((number, left), (other, right)) if number == other:
            if name not in COMPARE and name not in EXTREMES:
                return None
            outcome: int | None = 0
            if left != right:
                outcome = outcomes[number]
            if outcome is None:
                return name == "ne" if name in COMPARE else None
            outcome = outcome if left == {LEFT} else -outcome
            if name in COMPARE:
                return COMPARE[name](outcome, 0)
            first = outcome >= 0 if name == "max" else outcome <= 0
            return number, left if first else right
    return known_truth(name, values)


def chosen(results: Iterable[KnownOutcome]) -> frozenset[int]:
    """The operands that all results, by number of component, are those of."""
    sides = BOTH
    for number, result in enumerate(results):
        if not isinstance(result, tuple) or result[0] != number:
            return frozenset()
        sides &= result[1]
    return sides
