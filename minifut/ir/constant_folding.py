"""Scalar operators on constants.

NumPy says what they give, but for arithmetic that is Python's: integers wrap, and sums,
products and quotients of floats of at most 24 bits are rounded once more without harm
(Figueroa, When is double rounding innocuous?, 1995). Positions and sizes are folded by
the thousand, and a program in which nothing else is known is compiled without NumPy.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from typing import Any

from minifut.ir.core import Constant
from minifut.ir.scalars import Operator

ARITHMETIC: dict[str, Callable[..., Any]] = {
    "convert": python.pos,
    "abs": abs,
    "neg": python.neg,
    "add": python.add,
    "sub": python.sub,
    "mul": python.mul,
    "and": python.and_,
    "or": python.or_,
    "eq": python.eq,
    "ne": python.ne,
    "lt": python.lt,
    "le": python.le,
    "gt": python.gt,
    "ge": python.ge,
}
EXACT = 2**53
"""up to which all integers are floats"""


def fold(operator: Operator, *operands: Constant) -> Constant:
    """The operator on constants."""
    result = operator.result
    values = [constant.value for constant in operands]
    function = _in_python(operator, values)
    if function is not None:
        return Constant(result.nearest(function(*values)), result)
    from minifut.ir.scalar_meaning import apply, dtype_of

    given = [dtype_of(c.type).type(c.value) for c in operands]
    return Constant(apply(operator, *given).item(), result)


def _in_python(operator: Operator, values: list[Any]) -> Callable[..., Any] | None:
    of, result = operator.operands[0], operator.result
    if operator.name == "div":
        return python.truediv if of.is_float and values[1] != 0 else None
    if operator.name == "convert" and of.is_float != result.is_float:
        # a float saturates, and a large integer would be rounded twice
        exact = not of.is_float and abs(values[0]) <= EXACT
        return python.pos if exact else None
    return ARITHMETIC.get(operator.name)
