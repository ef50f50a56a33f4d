"""The type that an expression has unless it says otherwise.

    a + b       that of a         a < b       bool; for vectors a mask, i32 in each lane
    add_f32(..) that of the operator, in as many lanes as its operands have
    xs[i]       an element        f(a, ..)    that of a; i64 of get_global_id(..)

Printed kernel code names a type only where it is another one.
"""

from __future__ import annotations

from minifut.ir.types import BOOL, F32, F64, I32, I64, U32, U64, ScalarType
from minifut.kernel_ir import nodes as kc

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
LOGIC = frozenset({"&&", "||"})
STREAMABLE = (F32, F64, I32, I64, U32, U64)
"""elements that are stored around the caches in whole vectors"""


def natural_type(exp: kc.Expression) -> kc.VectorType | None:
    """The type that follows from the parts; None where it does not."""
    match exp:
        case kc.Binary(symbol, left):
            if symbol in LOGIC:
                return kc.TRUTH
            return truth(left.type.lanes) if symbol in COMPARISONS else left.type
        case kc.Operation(operator, operands):
            lanes = max(operand.type.lanes for operand in operands)
            return truth_or(operator.result, lanes)
        case kc.Call(function, operands):
            return kc.LONG if function.startswith("get_") else operands[0].type
        case kc.Select(_, then):
            return then.type
        case kc.Load(memory):
            return kc.VectorType(memory.element)
        case kc.SizeValue():
            return kc.LONG
        case kc.Component(vector):
            return kc.VectorType(vector.type.scalar)
    return None


def truth(lanes: int) -> kc.VectorType:
    """The type of a truth value in that many lanes."""
    return kc.TRUTH if lanes == 1 else kc.VectorType(I32, lanes)


def truth_or(scalar: ScalarType, lanes: int) -> kc.VectorType:
    """A scalar in that many lanes, where truth values are masks."""
    return truth(lanes) if scalar == BOOL else kc.VectorType(scalar, lanes)
