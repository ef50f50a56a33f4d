"""The one table of scalar operators.

Checker, constant folder, interpreter and C printer all read it: an operator's name,
operand and result types, its meaning in NumPy, its spelling in OpenCL C and its
algebraic identities stand here and nowhere else.
"""

from __future__ import annotations

from minifut.ir.node import value
from minifut.ir.types import ScalarType


@value
class Operator:
    """`name` with its types, e.g. add (i32, i32) -> i32; printed `add_i32`."""

    name: str
    operands: tuple[ScalarType, ...]
    result: ScalarType
