"""Limits of what is converted from floating-point numbers to integers.

    i64.f64 (f64.max 0 (x - 0.5))                          at least 0
    i64.f64 (f64.max 0 (f64.min (f64.i64 (n - 1)) x))      at most max(0, n - 1)

What is not finite is converted to 0, so no number that is never negative gives less. An
integer as a float is itself if it is not too large, and a minimum or maximum is never
without a number if an operand is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.analysis.facts import proof
from minifut.analysis.facts.forms import type_range
from minifut.ir.builder import i64
from minifut.ir.core import Atom, Constant, Copy, ScalarOp
from minifut.ir.node import immutable, replace
from minifut.ir.types import I64

if TYPE_CHECKING:
    from minifut.analysis.facts.known import Facts

DEEPEST = 12
"""definitions within definitions that are examined"""
ALWAYS = frozenset({"abs", "exp", "sqrt"})
WITH_ALL = frozenset(
    {"add", "mul", "min", "floor", "ceil", "round", "trunc", "convert"}
)
"""operators of which no result is negative if no operand is"""

ROUNDING = frozenset({"floor", "ceil", "round", "trunc"})
EXACT = {32: 1 << 24, 64: 1 << 53}
"""integers up to which floats of so many bits have all"""


@immutable
class Ceiling:
    """An integer that bounds a float from above, if it is at most `exact`; the float is
    no less than it either if it `is_reached`."""

    number: Atom
    exact: int
    is_reached: bool


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


def ceilings_of(facts: Facts, exp: object) -> tuple[Ceiling, ...]:
    """Integers the greatest of which a number is at most that was converted from a
    float; none if that may be negative, or nothing is known."""
    if not isinstance(exp, ScalarOp) or exp.operator.name != "convert":
        return ()
    (operand,), (source,) = exp.operands, exp.operator.operands
    result = exp.operator.result
    if source.is_integer and result.is_integer and source.bits < result.bits:
        return ceilings_of(facts, facts.definition(operand))
    if not source.is_float or not result.is_integer:
        return ()
    most = type_range(result)[1]
    found = _ceilings(facts, operand)
    if not found or not never_negative(facts, operand):
        return ()
    return tuple(replace(each, exact=min(each.exact, most)) for each in found)


def _ceilings(facts: Facts, atom: Atom, depth: int = 0) -> tuple[Ceiling, ...]:
    """Integers the greatest of which a float is at most, which then is a number."""
    if isinstance(atom, Constant):
        value = float(atom.value)
        if not value.is_integer() or abs(value) > EXACT[64]:
            return ()
        return (Ceiling(i64(int(value)), abs(int(value)), True),)
    exp = facts.definition(atom)
    if isinstance(exp, Copy):
        return _ceilings(facts, exp.atom, depth)
    if not isinstance(exp, ScalarOp) or depth > DEEPEST:
        return ()
    operator, operands = exp.operator, exp.operands
    if not operator.result.is_float:
        return ()
    if operator.name == "convert":
        exact = EXACT.get(operator.result.bits, 0)
        is_count = exact and operator.operands[0] == I64
        return (Ceiling(operands[0], exact, True),) if is_count else ()
    if operator.name in ROUNDING:
        return _ceilings(facts, operands[0], depth + 1)
    if operator.name not in ("min", "max"):
        return ()
    known = [_ceilings(facts, operand, depth + 1) for operand in operands]
    if operator.name == "max":
        return tuple(each for found in known for each in found) if all(known) else ()
    least: tuple[Ceiling, ...] = next(filter(None, known), ())
    return tuple(replace(each, is_reached=False) for each in least)
