"""Which floating-point numbers cannot be negative: those that are not, count from 0 on
when they are converted to integers, since what is not finite is converted to 0.

    i64.f32 (f32.max 0 (x - 0.5))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.analysis.facts import proof
from minifut.ir.core import Atom, Constant, Copy, ScalarOp

if TYPE_CHECKING:
    from minifut.analysis.facts.known import Facts

DEEPEST = 12
"""definitions within definitions that are examined"""
ALWAYS = frozenset({"abs", "exp", "sqrt"})
WITH_ALL = frozenset(
    {"add", "mul", "min", "floor", "ceil", "round", "trunc", "convert"}
)
"""operators of which no result is negative if no operand is"""


def never_negative(facts: Facts, atom: Atom, depth: int = 0) -> bool:
    """Whether a number is at least 0 (of either sign), or no number, or infinite and
    positive; for an integer, whether it is at least 0."""
    if isinstance(atom, Constant):
        return bool(atom.value >= 0)
    exp = facts.definition(atom)
    if isinstance(exp, Copy):
        return never_negative(facts, exp.atom, depth)
    if not isinstance(exp, ScalarOp) or depth > DEEPEST:
        return False
    operator, operands = exp.operator, exp.operands
    if not operator.result.is_float:
        return False
    if operator.name == "convert" and operator.operands[0].is_integer:
        return proof.prove(facts, facts.form(operands[0])) is not None
    if operator.name == "div":
        return never_negative(facts, operands[0], depth + 1) and _is_count(
            facts, operands[1]
        )
    known = (never_negative(facts, operand, depth + 1) for operand in operands)
    if operator.name == "max":
        return any(known)
    return operator.name in ALWAYS or (operator.name in WITH_ALL and all(known))


def _is_count(facts: Facts, atom: Atom) -> bool:
    """Whether a divisor is a positive constant or a natural number, never -0: there
    is no negative infinity of it."""
    if isinstance(atom, Constant):
        return bool(atom.value > 0)
    exp = facts.definition(atom)
    if not isinstance(exp, ScalarOp) or exp.operator.name != "convert":
        return False
    return exp.operator.operands[0].is_integer and never_negative(facts, atom)
