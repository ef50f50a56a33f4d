"""Tangents of scalar operators: partial derivatives times tangents, summed."""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.builder import constant
from minifut.ir.core import Atom, Stm
from minifut.passes.differentiate import arithmetic, context, rules
from minifut.passes.differentiate.forward.sweep import Tangents
from minifut.rewrite.rule import rule


@rule(paper="Griewank and Walther 2008, section 3.1")
def jvp_scalar(statement: Stm, sweep: Tangents) -> rules.Rewrite:
    r"""The chain rule, with the column of derivatives in `ir.scalar_table`.

    before:
        given (x: f64)
        let sin: f64 = sin_f64(x)
        let c: f64 = mul_f64(sin, x)
    after:
        let sin: f64 = sin_f64(x)
        let cos: f64 = cos_f64(x)
        let mul: f64 = mul_f64(cos, x_seed)
        let mul_1: f64 = mul_f64(sin, x)
        let mul_2: f64 = mul_f64(x, mul)
        let mul_3: f64 = mul_f64(sin, x_seed)
        let add: f64 = add_f64(mul_2, mul_3)
        return mul_1, add
    """
    exp = statement.exp_of(core.ScalarOp)
    (result,) = statement.pattern
    build = sweep.builder(statement)
    build.append(statement)
    formulas = context.known_partials(statement)
    letters: dict[str, Atom] = dict(zip("xyz", exp.operands, strict=False))
    letters["r"] = result.name
    total: Atom | None = None
    for operand, formula in zip(exp.operands, formulas, strict=True):
        tangent = sweep.of(operand)
        if tangent is None:
            continue
        tangent = arithmetic.moved(build, tangent, exp.operator, exp.operator.result)
        part = arithmetic.times(build, formula, letters, tangent)
        if part is not None:
            total = part if total is None else arithmetic.plus(build, total, part)
    sweep.values[result.name] = total or constant(0, exp.operator.result)
    return tuple(build.statements)
