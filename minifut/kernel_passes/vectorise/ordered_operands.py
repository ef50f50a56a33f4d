"""Comparisons of positions, in lanes that combine points in order.

    right = (x, i)
    (a, p) op (b, q) = a > b || (a == b && p < q) ? (a, p) : (b, q)
  →
    a > b || a == b ? (a, p) : (b, q)

Where the operator gives one of its operands, and a component of each point is its own
position, an accumulator has the position of a point that the same lane combined before,
which is less than the one that comes. The comparison is decided, and takes half of the
operator's time. It does not hold of neutral elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from minifut.ir.node import replace
from minifut.ir.scalars import INFIX
from minifut.ir.traverse import map_children
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.operators import PointCode
from minifut.names import Name

LEFT, RIGHT = frozenset({0}), frozenset({1})
Sides: TypeAlias = frozenset[int]
"""the operands, 0 or 1, whose component a value may be"""

HOLDS = {"<": True, "<=": True, "==": False, ">": False, ">=": False, "!=": True}
"""comparisons of a position with a later one"""


def decided_by_order(code: PointCode) -> tuple[kc.Statement, ...] | None:
    """The operator where the left operand is of earlier points than the right one, if
    that decides a comparison; it has no branches, and `code.index` counts up."""
    found: tuple[kc.Statement, ...] | None = None
    for number in _positions(code):
        order = _Order(code.left[number].name, code.right[number].name)
        made = order.statements(code.operator if found is None else found)
        if order.decided and order.sides_of(code.right[number]) is not None:
            found = made
    return found


def _positions(code: PointCode) -> list[int]:
    """The components that are the position of a point."""
    same = {code.index.name}
    for statement in code.body:
        if isinstance(statement, kc.Store):
            continue
        found = _assignment(statement)
        if found is None:
            return []
        place, exp = found
        if isinstance(exp, kc.Variable) and exp.name in same:
            same.add(place.name)
        else:
            same.discard(place.name)
    return [n for n, place in enumerate(code.right) if place.name in same]


def _assignment(
    statement: kc.Statement,
) -> tuple[kc.Variable, kc.Expression | None] | None:
    """The variable that is declared or assigned, and the value that it gets."""
    if isinstance(statement, kc.Declare) and isinstance(
        statement.variable, kc.Variable
    ):
        return statement.variable, statement.init
    if isinstance(statement, kc.Assign) and isinstance(statement.target, kc.Variable):
        return statement.target, statement.exp
    return None


class _Order:
    """What is known of the components `left` < `right` in an operator."""

    def __init__(self, left: Name, right: Name) -> None:
        self.known: dict[Name, Sides] = {left: LEFT, right: RIGHT}
        self.decided = False

    def statements(
        self, statements: Sequence[kc.Statement]
    ) -> tuple[kc.Statement, ...] | None:
        """The statements with what is decided; None if some are no assignments."""
        made: list[kc.Statement] = []
        for statement in statements:
            found = _assignment(statement)
            if found is None:
                return None
            place, exp = found
            value = None if exp is None else self._decide(exp)
            part = "init" if isinstance(statement, kc.Declare) else "exp"
            made.append(replace(statement, **{part: value}))
            sides = None if value is None else self.sides_of(value)
            if sides is None:
                self.known.pop(place.name, None)
            else:
                self.known[place.name] = sides
        return tuple(made)

    def sides_of(self, exp: kc.Expression) -> Sides | None:
        """The operands of which a value is the component, if it is that of one."""
        match exp:
            case kc.Variable(name, _):
                return self.known.get(name)
            case kc.Select(_, then, otherwise, _):
                sides = self.sides_of(then), self.sides_of(otherwise)
                if sides[0] is not None and sides[1] is not None:
                    return sides[0] | sides[1]
        return None

    def _decide(self, node: Any) -> Any:
        node = map_children(node, self._decide)
        match node:
            case kc.Operation(operator, (left, right), type_):
                sides = self.sides_of(left), self.sides_of(right)
                name = INFIX.get(operator.name, "")
                if sides == (RIGHT, LEFT):
                    name = kc.MIRRORED.get(name, "")
                elif sides != (LEFT, RIGHT):
                    name = ""
                if name in HOLDS:
                    self.decided = True
                    return kc.Literal(int(HOLDS[name]), type_)
        return node
