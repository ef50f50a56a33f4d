r"""Operators that give one of their two operands, whole: the one whose keys win.

    \(a, i) (b, j) -> if a > b || (a == b && i < j) then (a, i) else (b, j)
        keys: the greatest a, then the least i
    \(a, i) (b, j) -> if b > a then (b, j) else (a, i)
        key: the greatest a; of equal ones the left operand

These are positions of extremes. Of elements with keys that are no NaN such an operator
finds the first in a total order, that of the keys and then of the elements' positions:
elements may be combined in any order if their positions are compared where keys are
equal. With a NaN it is no order, and not even associative.

It is proved by cases (`ir.cases`): the operator must give the operand that the keys
choose whether components of the operands are less, equal or greater.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations, product

from minifut.ir.cases import (
    EXTREMES,
    LEFT,
    RIGHT,
    KnownOutcome,
    Outcomes,
    chosen,
    component,
    computed,
)
from minifut.ir.core import Atom, Body, Constant, Copy, Exp, If, Lambda, ScalarOp
from minifut.ir.node import immutable
from minifut.ir.scalars import COMPARE
from minifut.ir.traverse import walk
from minifut.ir.types import BOOL, ScalarType
from minifut.names import Name

MOST_KEYS = 3


@immutable
class Key:
    """A component of the operands; `greatest`: the greater one wins."""

    component: int
    greatest: bool


@immutable
class KeyOrder:
    """Of two operands the one wins that a key decides, the first that differs; if all
    are equal the left one, if `keeps_left`."""

    keys: tuple[Key, ...]
    keeps_left: bool


def key_order_of(operator: Lambda) -> KeyOrder | None:
    """The keys of an operator that selects; None if it is none, or if it compares
    floats where other keys are equal."""
    types = operator.results
    compared = _compared(operator)
    if not 0 < len(compared) <= MOST_KEYS:
        return None
    winners: list[tuple[Outcomes, frozenset[int]]] = []
    for signs in product((-1, 0, 1), repeat=len(compared)):
        outcomes = dict(zip(compared, signs, strict=True))
        sides = _winners(operator, outcomes)
        if not sides:
            return None
        winners.append((outcomes, sides))
    for count in range(1, len(compared) + 1):
        for order in permutations(compared, count):
            if any(_is_float(types[component]) for component in order[1:]):
                continue
            for directions in product((True, False), repeat=count):
                keys = tuple(map(Key, order, directions))
                for keeps_left in (True, False):
                    found = KeyOrder(keys, keeps_left)
                    if all(_chosen(found, o) in sides for o, sides in winners):
                        return found
    return None


def _is_float(type_: object) -> bool:
    return isinstance(type_, ScalarType) and type_.is_float


def _chosen(selection: KeyOrder, outcomes: Outcomes) -> int:
    for key in selection.keys:
        if outcome := outcomes[key.component]:
            return LEFT if (outcome > 0) == key.greatest else RIGHT
    return LEFT if selection.keeps_left else RIGHT


def _parameters(operator: Lambda) -> dict[Name, tuple[int, int]]:
    """The component that each parameter is, and of which operand."""
    count = len(operator.results)
    return {p.name: (n % count, n // count) for n, p in enumerate(operator.parameters)}


def _compared(operator: Lambda) -> list[int]:
    """The components, numbers, that are compared with each other."""
    parameters = _parameters(operator)
    found: set[int] = set()
    for node in walk(operator.body):
        match node:
            case ScalarOp(table, (Name() as left, Name() as right)):
                if table.name not in COMPARE and table.name not in EXTREMES:
                    continue
                sides = parameters.get(left), parameters.get(right)
                numbers = {side[0] for side in sides if side is not None}
                if None not in sides and len(numbers) == 1 and table.type != BOOL:
                    found |= numbers
    return sorted(found)


def _winners(operator: Lambda, outcomes: Outcomes) -> frozenset[int]:
    """The operands that are the result for some outcomes of comparing."""
    known: dict[Atom, KnownOutcome] = {
        name: component(number, side, outcomes)
        for name, (number, side) in _parameters(operator).items()
    }
    return chosen(_results(operator.body, known, outcomes))


def _results(
    body: Body, known: dict[Atom, KnownOutcome], outcomes: Outcomes
) -> Sequence[KnownOutcome]:
    for statement in body.statements:
        values = _values(statement.exp, known, outcomes)
        if values is not None:
            names = (parameter.name for parameter in statement.pattern)
            known.update(zip(names, values, strict=True))
    return [_known(atom, known) for atom in body.result]


def _known(atom: Atom, known: Mapping[Atom, KnownOutcome]) -> KnownOutcome:
    if isinstance(atom, Constant):
        return bool(atom.value) if atom.type == BOOL else None
    return known.get(atom)


def _values(
    exp: Exp, known: dict[Atom, KnownOutcome], outcomes: Outcomes
) -> Sequence[KnownOutcome] | None:
    match exp:
        case Copy(atom):
            return [_known(atom, known)]
        case If(condition, then, otherwise):
            holds = _known(condition, known)
            if isinstance(holds, bool):
                return _results(then if holds else otherwise, known, outcomes)
        case ScalarOp(table, operands):
            values = [_known(atom, known) for atom in operands]
            return [computed(table.name, values, outcomes)]
    return None
