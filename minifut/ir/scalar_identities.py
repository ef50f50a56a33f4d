"""Algebraic facts about scalar operators, as data for simplification.

    add_i32    neutral 0 on both sides, commutative
    sub_i32    right neutral 0, equal operands give 0
    and_bool   neutral true, absorbing false, idempotent

For floats only what holds for every value is listed, except that adding 0 counts as
neutral (it turns -0 into 0). So infinity is no neutral element of `min`: of it and NaN
that is infinity.
"""

from __future__ import annotations

from functools import cache

from minifut.ir.node import value
from minifut.ir.scalars import Operator
from minifut.ir.types import ScalarType

Number = int | float | bool


@value
class Identities:
    """What holds of a binary operator; None where there is no such element."""

    left_neutral: Number | None = None
    right_neutral: Number | None = None
    left_absorbing: Number | None = None
    right_absorbing: Number | None = None
    equal_operands: Number | None = None
    commutative: bool = False
    idempotent: bool = False


NOTHING = Identities()


def _both(
    neutral: Number,
    absorbing: Number | None = None,
    equal_operands: Number | None = None,
    idempotent: bool = False,
) -> Identities:
    """A commutative operator."""
    return Identities(
        neutral, neutral, absorbing, absorbing, equal_operands, True, idempotent
    )


def integer_range(type_: ScalarType) -> tuple[int, int]:
    """The least and greatest number of an integer type."""
    if type_.kind == "uint":
        return 0, 2**type_.bits - 1
    return -(2 ** (type_.bits - 1)), 2 ** (type_.bits - 1) - 1


@cache
def identities(operator: Operator) -> Identities:
    """What holds of an operator; `NOTHING` for most."""
    type_ = operator.type
    if type_.kind == "bool":
        return _LOGIC.get(operator.name, NOTHING)
    if type_.is_float:
        return _FLOATS.get(operator.name, NOTHING)
    least, greatest = integer_range(type_)
    match operator.name:
        case "min":
            return _both(greatest, least, idempotent=True)
        case "max":
            return _both(least, greatest, idempotent=True)
        case "and":
            return _both(-1 if type_.kind == "int" else greatest, 0, idempotent=True)
        case "or":
            ones = -1 if type_.kind == "int" else greatest
            return _both(0, ones, idempotent=True)
    return _INTEGERS.get(operator.name, NOTHING)


_REFLEXIVE = Identities(equal_operands=True)
_IRREFLEXIVE = Identities(equal_operands=False)
_COMPARED = {
    "le": _REFLEXIVE, "ge": _REFLEXIVE, "lt": _IRREFLEXIVE, "gt": _IRREFLEXIVE,
    "eq": Identities(commutative=True, equal_operands=True),
    "ne": Identities(commutative=True, equal_operands=False),
}  # fmt: skip

_INTEGERS = _COMPARED | {
    "add": _both(0),
    "mul": _both(1, 0),
    "xor": _both(0, equal_operands=0),
    "sub": Identities(right_neutral=0, equal_operands=0),
    "div": Identities(right_neutral=1, left_absorbing=0, right_absorbing=0),
    "quot": Identities(right_neutral=1, left_absorbing=0, right_absorbing=0),
    "mod": Identities(left_absorbing=0, right_absorbing=0, equal_operands=0),
    "rem": Identities(left_absorbing=0, right_absorbing=0, equal_operands=0),
    "pow": Identities(right_neutral=1),
    "shl": Identities(right_neutral=0, left_absorbing=0),
    "shr": Identities(right_neutral=0, left_absorbing=0),
}

_LOGIC = _COMPARED | {
    "and": _both(True, False, idempotent=True),
    "or": _both(False, True, idempotent=True),
    "xor": _both(False, equal_operands=False),
    "eq": _both(True, equal_operands=True),
    "ne": _both(False, equal_operands=False),
}

_FLOATS = {
    "add": _both(0.0),
    "mul": _both(1.0),
    "min": Identities(commutative=True, idempotent=True),
    "max": Identities(commutative=True, idempotent=True),
    "sub": Identities(right_neutral=0.0),
    "div": Identities(right_neutral=1.0),
    "pow": Identities(right_neutral=1.0),
    "eq": Identities(commutative=True),
    "ne": Identities(commutative=True),
    "hypot": Identities(commutative=True),
}
