"""Quotients of integers in lanes: no processor divides vectors of them, but of floats.

    quot(a, b), 32 bits     trunc((double)a / (double)b)
    quot(a, b), 64 bits     the same where all operands are below 2^51
    div(a, b)               the same, less one where it was rounded up
    div(i + lane, n)        i / n, one more from the lane with the next multiple of n on
    div(i + lane * 2, 3)    i / 3 + (i % 3 + lane * 2) / 3, of small numbers

Exact: with up to 16 bits in f32, up to 32 in f64, a quotient that is not whole is
farther from the next whole number than the error of the division. A lane that divides
by zero gets 0, as one point would.
"""

from __future__ import annotations

from minifut.ir.scalars import Operator
from minifut.ir.types import F32, F64, I32, I64, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.vectors import VectorOperations

EXACT_BITS = 51
"""A quotient of numbers of so many bits that is not whole is farther from the next
whole number than the error of dividing doubles."""
SMALL_BITS = 16
"""The same of floats of 32 bits."""
QUOTIENTS = ("quot", "div")
RESTS = ("rem", "mod")


def by_floats(
    lanes: VectorOperations,
    operator: Operator,
    left: kc.Expression,
    right: kc.Expression,
) -> kc.Expression | None:
    """A quotient or remainder of vectors of at most 32 bits, None if it is something
    else. The operands are mentioned more than once."""
    name, type_ = operator.name, operator.type
    if name not in (*QUOTIENTS, *RESTS) or not type_.is_integer or type_.bits > 32:
        return None
    zero = lanes.broadcast(kc.Literal(0, kc.VectorType(type_)))
    result = _result(lanes, operator, left, right)
    return lanes.choose(lanes.compare("!=", right, zero), result, zero)


def by_doubles(
    lanes: VectorOperations,
    operator: Operator,
    left: kc.Expression,
    right: kc.Expression,
) -> kc.Expression | None:
    """A quotient or remainder of vectors of 64 bits; lane by lane if one of the
    operands is far from zero."""
    name, type_ = operator.name, operator.type
    if name not in (*QUOTIENTS, *RESTS) or not type_.is_integer or type_.bits != 64:
        return None

    def binary(symbol: str, a: kc.Expression, b: kc.Expression) -> kc.Expression:
        return kc.Binary(symbol, a, b, left.type)

    def size(number: kc.Expression) -> kc.Expression:
        if type_.kind == "uint":
            return number
        return binary("^", number, binary(">>", number, places(63)))

    def places(number: int) -> kc.Expression:
        return lanes.broadcast(kc.Literal(number, kc.VectorType(type_)))

    above = binary(">>", binary("|", size(left), size(right)), places(EXACT_BITS))
    far = lanes.compare("!=", above, places(0))
    quotient = _result(lanes, operator, left, right)
    by_zero = lanes.compare("==", right, places(0))
    near = lanes.choose(by_zero, places(0), quotient)
    one_by_one = lanes.in_each(operator, (left, right))
    return kc.Select(kc.Call("any", (far,), kc.TRUTH), one_by_one, near, left.type)


def by_steps(
    lanes: VectorOperations,
    operator: Operator,
    first: kc.Expression,
    divisor: kc.Expression,
) -> kc.Expression:
    """A quotient or remainder of consecutive i64, the first lane's is `first`, by the
    same number: one scalar division. Lane by lane if one of both is negative."""
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
    usual = kc.all_of((first >= 0, divisor > 0))
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
    usual = kc.all_of((first >= 0, first < 2**62))
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


def _result(
    lanes: VectorOperations,
    operator: Operator,
    left: kc.Expression,
    right: kc.Expression,
) -> kc.Expression:
    """The quotient or remainder where it is not by zero."""
    name, type_ = operator.name, operator.type
    quotient = _truncated(lanes, type_, left, right)
    if name == "quot" or (name == "div" and type_.kind == "uint"):
        return quotient
    product = kc.Binary("*", quotient, right, left.type)
    rest: kc.Expression = kc.Binary("-", left, product, left.type)
    if name == "rem" or type_.kind == "uint":
        return rest
    zero = lanes.broadcast(kc.Literal(0, kc.VectorType(type_)))
    signs = kc.Binary("^", left, right, left.type)
    crossed = lanes.both(
        lanes.compare("!=", rest, zero), lanes.compare("<", signs, zero)
    )
    if name == "div":
        one = lanes.broadcast(kc.Literal(1, kc.VectorType(type_)))
        return lanes.choose(crossed, kc.Binary("-", quotient, one, left.type), quotient)
    return lanes.choose(crossed, kc.Binary("+", rest, right, left.type), rest)


def _truncated(
    lanes: VectorOperations,
    type_: ScalarType,
    left: kc.Expression,
    right: kc.Expression,
) -> kc.Expression:
    """The quotient without what is behind the point. It may need one bit more than its
    operands have: the least integer divided by -1 is itself."""
    wide, whole = (F64, I64) if type_.bits >= 32 else (F32, I32)
    float_type = kc.VectorType(wide, lanes.width)
    above, below = kc.Cast(left, float_type), kc.Cast(right, float_type)
    exact = kc.Binary("/", above, below, float_type)
    return kc.Cast(kc.Cast(exact, kc.VectorType(whole, lanes.width)), left.type)
