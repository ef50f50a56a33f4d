"""Quotients and remainders by powers of two, which are shifts and masks.

    div(x, 8)   x >> 3        mod(x, 8)   x & 7

Rounding down, as a shift does, is not what compilers have for signed numbers, and they
do not find a shift in the tests for signs that it takes.
"""

from __future__ import annotations

from minifut.ir.scalars import Operator
from minifut.kernel_ir import nodes as kc


def shift_or_mask(
    operator: Operator, right: kc.Expression
) -> tuple[str, kc.Literal] | None:
    """The symbol and the number that give an operation by a power of two, if it rounds
    down; None of others."""
    match right:
        case kc.Literal(int(by), type_) if by > 0 and not by & (by - 1):
            rounds_down = (
                operator.name in ("div", "mod") or operator.type.kind == "uint"
            )
            if not operator.type.is_integer or not rounds_down:
                return None
            if operator.name in ("div", "quot"):
                return ">>", kc.Literal(by.bit_length() - 1, type_)
            if operator.name in ("mod", "rem"):
                return "&", kc.Literal(by - 1, type_)
    return None
