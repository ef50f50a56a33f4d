"""Operators on constants, and what the table of identities knows.

add_i32(2, 3)   →  5          mul_i32(x, 1)  →  x
eq_i32(x, x)    →  true       not_bool(not_bool(c))  →  c
"""

from __future__ import annotations

from minifut.ir.core import Atom, Constant, Copy, Exp, ScalarOp, SizeExp
from minifut.ir.scalar_identities import Identities, Number, identities
from minifut.ir.types import I64
from minifut.passes.simplify.site import Pattern, Site


def fold_constants(site: Site, pattern: Pattern, exp: ScalarOp) -> Exp | None:
    """An operator whose operands are all known."""
    constants = [a for a in exp.operands if isinstance(a, Constant)]
    if len(constants) != len(exp.operands):
        return None
    from minifut.ir.scalar_meaning import fold

    return Copy(fold(exp.operator, *constants))


def apply_identities(site: Site, pattern: Pattern, exp: ScalarOp) -> Exp | None:
    """An operator with a neutral or absorbing operand, or with equal operands."""
    if len(exp.operands) != 2:
        return None
    known = identities(exp.operator)
    left, right = exp.operands
    found = _one_sided(known, left, right)
    if found is not None:
        return Copy(found)
    result = exp.operator.result
    if isinstance(left, Constant) and _is(left, known.left_absorbing):
        return Copy(Constant(left.value, result))
    if isinstance(right, Constant) and _is(right, known.right_absorbing):
        return Copy(Constant(right.value, result))
    if left == right and known.idempotent:
        return Copy(left)
    if left == right and known.equal_operands is not None:
        return Copy(Constant(known.equal_operands, result))
    return None


def _one_sided(known: Identities, left: Atom, right: Atom) -> Atom | None:
    if isinstance(left, Constant) and _is(left, known.left_neutral):
        return right
    if isinstance(right, Constant) and _is(right, known.right_neutral):
        return left
    return None


def _is(constant: Constant, number: Number | None) -> bool:
    return number is not None and constant.value == number


def undo_twice(site: Site, pattern: Pattern, exp: ScalarOp) -> Exp | None:
    """A negation or complement of one; a conversion of a type to itself."""
    if len(exp.operands) != 1:
        return None
    operator, operand = exp.operator, exp.operands[0]
    if operator.name == "convert" and operator.operands[0] == operator.result:
        return Copy(operand)
    inner = site.definition(operand)
    if (
        isinstance(inner, ScalarOp)
        and operator.name in ("not", "neg")
        and inner.operator == operator
    ):
        return Copy(inner.operands[0])
    return None


def read_size(site: Site, pattern: Pattern, exp: SizeExp) -> Exp | None:
    """A size that is a name or a number."""
    number, name = exp.size.as_constant, exp.size.as_name
    if number is not None:
        return Copy(Constant(number, I64))
    return None if name is None else Copy(name)
