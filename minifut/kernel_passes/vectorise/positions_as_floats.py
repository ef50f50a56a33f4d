"""Positions as floats in lanes, by way of integers of 32 bits where these suffice.

    f32.i64(at + lane)   →   (near(at) ? f32.i32((int)at + lane) : f32.i64(at + lane))

No processor before AVX-512 converts vectors of 64 bits. For an operand that grows by
the same small step from lane to lane, one test of the first lane does for all; both
conversions round the same number.
"""

from __future__ import annotations

from minifut.ir.scalars import Operator, convert
from minifut.ir.types import F32, F64, I32, I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.affine import Affine, number_of
from minifut.kernel_passes.vectorise.vectors import VectorOperations

NEAR = 1 << 30
"""the absolute value of positions to which all steps may be added"""
LARGEST_STEP = 1 << 20


def positions_as_floats(
    lanes: VectorOperations, operator: Operator, operand: Affine, far: kc.Expression
) -> kc.Expression | None:
    """The floats of positions, `far` of large ones; None of other conversions."""
    first, step = operand[0], number_of(operand[1])
    if operator.type != I64 or operator.result not in (F32, F64):
        return None
    if step is None or abs(step) > LARGEST_STEP:
        return None
    near = (first >= -NEAR) & (first <= NEAR)
    numbers = lanes.each(lambda n: kc.Literal(n * step, kc.INT), I32)
    position = lanes.broadcast(kc.Cast(first, kc.INT)) + numbers
    floats = kc.Operation(convert(I32, operator.result), (position,), far.type)
    return kc.Select(near, floats, far, far.type)
