"""Common-subexpression elimination.

    let a = x + y   ...   let b = x + y    →    b is a

For scalar operators, sizes, reads and views, and for checks of the same condition. What
makes a new array is left alone: two arrays may be updated differently in place.
"""

from __future__ import annotations

from typing import Any

from minifut.ir import core
from minifut.ir.scalar_table import TABLE
from minifut.names import Name

COMMUTATIVE = {row.name for row in TABLE if row.laws.commutative}


def key_of(exp: core.Exp) -> Any:
    """Equal keys mean equal values; None for what is not shared."""
    match exp:
        case core.ScalarOp(operator, operands):
            name = operator.name
            if name in COMMUTATIVE and _place(operands[1]) < _place(operands[0]):
                operands = operands[::-1]
            # texts are hashed more quickly than operators, which they determine
            return (name, operator.operands[0].name, operator.result.name, operands)
        case core.SizeExp(size):
            return (core.SizeExp, size)
        case core.Index(array, slice_):
            places = tuple(
                (s.start, s.length, s.stride) if isinstance(s, core.DimSlice) else s
                for s in slice_
            )
            return (core.Index, array, places)
        case core.Rearrange(permutation, array):
            return (core.Rearrange, permutation, array)
        case core.Reshape(shape, array):
            return (core.Reshape, shape, array)
        case core.Assert(condition, _, _):
            return (core.Assert, condition)
    return None


def _place(atom: core.Atom) -> tuple[int, str]:
    """The position of an operand among those whose order does not matter."""
    return (atom.tag, atom.base) if isinstance(atom, Name) else (-1, str(atom.value))
