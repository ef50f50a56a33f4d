"""Quotients in lanes of positions by the same number: one scalar division a vector.

    div(i + lane, n)        i / n, one more from the lane with the next multiple of n on
    div(i + lane * 2, 3)    i / 3 + (i % 3 + lane * 2) / 3, of small numbers

Quotients of other vectors are functions (`ir/scalar_quotients.py`).
"""

from __future__ import annotations

from minifut.ir.scalars import Operator
from minifut.ir.types import F32, I32, I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.vectors import VectorOperations

SMALL_BITS = 16
"""Floats of 32 bits give the quotients of numbers of so many bits exactly: one that is
not whole is farther from the next whole number than the error of the division."""
FARTHEST = 2**62
"""positions before it are followed by those of all lanes"""
QUOTIENTS = ("quot", "div")
RESTS = ("rem", "mod")


def by_steps(
    lanes: VectorOperations,
    operator: Operator,
    first: kc.Expression,
    divisor: kc.Expression,
) -> kc.Expression:
    """A quotient or remainder of consecutive i64, the first lane's is `first`, by the
    same number: one scalar division. Lane by lane if one of both is negative, or the
    first is so large that another lane's may wrap around."""
    whole, width = first // divisor, lanes.width
    ramp = lanes.ramp(first - whole * divisor)
    by = lanes.broadcast(divisor)
    # At least as many as lanes: at most one multiple of the divisor is in between.
    passed = lanes.compare(">=", ramp, by)
    # Fewer: the remainders are small numbers.
    single, whole_type = kc.VectorType(F32, width), kc.VectorType(I64, width)
    many = kc.Cast(
        kc.Binary("/", kc.Cast(ramp, single), kc.Cast(by, single), single), whole_type
    )
    few = divisor < width
    if operator.name in QUOTIENTS:
        step = lanes.choose(passed, kc.Literal(1, kc.LONG), kc.Literal(0, kc.LONG))
        result = lanes.broadcast(whole) + kc.Select(few, many, step, whole_type)
    else:
        less = lanes.choose(passed, by, kc.Literal(0, kc.LONG))
        result = ramp - kc.Select(few, many * by, less, whole_type)
    usual = kc.all_of((first >= 0, first < FARTHEST, divisor > 0))
    return _or_each(lanes, operator, (first, 1, divisor), usual, result)


def by_constant(
    lanes: VectorOperations,
    operator: Operator,
    first: kc.Expression,
    step: int,
    divisor: int,
) -> kc.Expression | None:
    """A quotient or remainder by a constant of i64 that grow by a constant from lane to
    lane, both small: one scalar division. Lane by lane from a negative one on."""
    if not (step > 0 and divisor > 0 and step * lanes.width + divisor < 2**SMALL_BITS):
        return None
    by = kc.Literal(divisor, kc.LONG)
    whole = first // by
    numbers = lanes.each(lambda n: kc.Literal(n * step, kc.INT), I32)
    ramp = lanes.broadcast(kc.Cast(first - whole * by, kc.INT)) + numbers
    single, wide = kc.VectorType(F32, lanes.width), kc.VectorType(I64, lanes.width)
    below = lanes.broadcast(kc.Literal(float(divisor), kc.VectorType(F32)))
    quotient = kc.Cast(kc.Binary("/", kc.Cast(ramp, single), below, single), ramp.type)
    if operator.name in QUOTIENTS:
        result = lanes.broadcast(whole) + kc.Cast(quotient, wide)
    else:
        multiple = quotient * lanes.broadcast(kc.Literal(divisor, kc.INT))
        result = kc.Cast(ramp - multiple, wide)
    usual = kc.all_of((first >= 0, first < FARTHEST))
    return _or_each(lanes, operator, (first, step, by), usual, result)


def _or_each(
    lanes: VectorOperations,
    operator: Operator,
    operands: tuple[kc.Expression, int, kc.Expression],
    usual: kc.Expression,
    result: kc.Expression,
) -> kc.Expression:
    """The result where it is the usual case, else lane by lane: of what is first and
    grows by a step from lane to lane, and a divisor."""
    first, step, divisor = operands
    one_by_one = lanes.each(
        lambda n: kc.Operation(operator, (first + n * step, divisor), kc.LONG), I64
    )
    return kc.Select(usual, result, one_by_one, result.type)
