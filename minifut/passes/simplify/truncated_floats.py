"""Floats that become integers and floats again are truncated as floats.

f32.i64 (i64.f32 x)                  →  trunc x      if x is finite, within the limits
x - f32.i64 (i64.f32 (floor x))      →  x - floor x

So do programs find a cell of a grid with the place within it. CPUs convert vectors to
integers of 64 bits and back by several instructions for each quarter or half of them:
bilinear reads along rays took 1.3 to 1.5 times as long.

A conversion from a float gives the nearest integer beyond the limits, and 0 for what is
not finite; the integer 0 has no sign, so that neither has the float.
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.builder import Builder, constant
from minifut.ir.core import Atom, ScalarOp, Stm
from minifut.ir.scalars import convert, operator
from minifut.ir.types import BOOL, F32, F64, I64, ScalarType
from minifut.rewrite.context import StatementContext, with_expression
from minifut.rewrite.rule import Declined, Outcome, rule

BACK = {convert(I64, type_): type_ for type_ in (F32, F64)}
WHOLE = ("floor", "ceil", "trunc", "round")
EXTREMES = {operator(name, I64): name for name in ("min", "max")}
BEYOND = 2.0**63
REFUSED = Declined("the integer does not come from a float of this type")


@rule(ScalarOp)
def truncate_as_float(statement: Stm, context: StatementContext) -> Outcome:
    """A float of an integer that is a float truncated, or the smaller or greater of
    that and another integer: what is greater stays so.

    before:
        given (y: f32)
        let w: f32 = floor_f32(y)
        let i: i64 = convert_f32_i64(w)
        let x: f32 = convert_i64_f32(i)
        return i, x
    after:
        let w: f32 = floor_f32(y)
        let i: i64 = convert_f32_i64(w)
        let size: f32 = abs_f32(w)
        let finite: bool = lt_f32(size, f32.inf)
        let low: f32 = max_f32(w, -9.223372e18f32)
        let high: f32 = min_f32(low, 9.223372e18f32)
        let factor: f32 = convert_bool_f32(finite)
        let whole: f32 = mad_f32(high, factor, 0.0f32)
        let x: f32 = whole
        return i, x
    before:
        given (y: f64, n: i64)
        let i: i64 = convert_f64_i64(y)
        let j: i64 = min_i64(n, i)
        let x: f64 = convert_i64_f64(j)
        return j, x
    after:
        let i: i64 = convert_f64_i64(y)
        let j: i64 = min_i64(n, i)
        let m: f64 = convert_i64_f64(n)
        let w: f64 = trunc_f64(y)
        let size: f64 = abs_f64(w)
        let finite: bool = lt_f64(size, f64.inf)
        let low: f64 = max_f64(w, -9.223372036854775808e18f64)
        let high: f64 = min_f64(low, 9.223372036854775808e18f64)
        let factor: f64 = convert_bool_f64(finite)
        let z: f64 = mad_f64(high, factor, 0.0f64)
        let x: f64 = min_f64(m, z)
        return j, x
    declines: the integer does not come from a float of this type
        like before, with
        convert_f64_i64(y) => convert_f32_i64(1.5f32)
    """
    exp = statement.exp_of(ScalarOp)
    type_ = BACK.get(exp.operator)
    if type_ is None:
        return None
    build = context.builder(statement)
    (whole,) = exp.operands
    made = context.definition(whole)
    if isinstance(made, ScalarOp) and made.operator in EXTREMES:
        floats = [_truncated(each, type_, context) for each in made.operands]
        if floats == [None, None]:
            return REFUSED
        both = tuple(
            build.let(ScalarOp(exp.operator, (each,)), "x")
            if float_ is None
            else _within_limits(build, *float_)
            for each, float_ in zip(made.operands, floats, strict=True)
        )
        name = EXTREMES[made.operator]
        return with_expression(statement, ScalarOp(operator(name, type_), both), build)
    found = _truncated(whole, type_, context)
    if found is None:
        return REFUSED
    return with_expression(statement, core.Copy(_within_limits(build, *found)), build)


def _truncated(
    whole: Atom, type_: ScalarType, context: StatementContext
) -> tuple[Atom, bool] | None:
    """The float of that type that an integer is truncated from, and whether it has no
    fraction."""
    made = context.definition(whole)
    if not isinstance(made, ScalarOp) or made.operator != convert(type_, I64):
        return None
    (number,) = made.operands
    rounded = context.definition(number)
    is_whole = isinstance(rounded, ScalarOp) and rounded.operator.name in WHOLE
    return number, is_whole


def _within_limits(build: Builder, number: Atom, is_whole: bool) -> Atom:
    """The float that a float is as an integer."""
    type_ = build.scalar_type(number)
    if not is_whole:
        number = build.op("trunc", number)
    size = build.op("abs", number)
    is_finite = build.op("lt", size, constant(float("inf"), type_))
    low = build.op("max", number, constant(-BEYOND, type_))
    high = build.op("min", low, constant(BEYOND, type_))
    factor = build.let(ScalarOp(convert(BOOL, type_), (is_finite,)), "factor")
    # no branch, by which loops would be split; the sum with 0 has no sign of -0
    return build.op("mad", high, factor, constant(0.0, type_), base="whole")
