"""Adjoints of scalar operators: partial derivatives times the adjoint of the result."""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Stm
from minifut.passes.differentiate.arithmetic import moved, plus, times
from minifut.passes.differentiate.context import known_partials
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


@rule(paper="Griewank and Walther 2008, section 3.2")
def vjp_scalar(statement: Stm, sweep: ReverseSweep) -> Reversed:
    r"""The chain rule, with the column of derivatives in `ir.scalar_table`. Operands
    that are the same, as those of squares, are one with twice the adjoint.

    before:
        given (x: f64, y: f64)
        let exp: f64 = exp_f64(x)
        let c: f64 = mul_f64(exp, y)
    after:
        let exp: f64 = exp_f64(x)
        let mul: f64 = mul_f64(exp, y)
        let mul_1: f64 = mul_f64(y, c_seed)
        let mul_2: f64 = mul_f64(exp, c_seed)
        let mul_3: f64 = mul_f64(exp, mul_1)
        return mul, mul_3, mul_2
    """
    exp = statement.exp_of(core.ScalarOp)
    (result,) = statement.pattern
    formulas = known_partials(statement)
    letters: dict[str, Atom] = dict(zip("xyz", exp.operands, strict=False))
    letters["r"] = result.name

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if adjoint is None:
            return
        parts: dict[tuple[Atom, object], list[str]] = {}
        for operand, formula in zip(exp.operands, formulas, strict=True):
            key = operand, letters.get(formula, formula)
            parts.setdefault(key, []).append(formula)
        for (operand, _), (formula, *same) in parts.items():
            if operand in sweep.activity:
                factor = plus(build, adjoint, adjoint) if same else adjoint
                part = times(build, formula, letters, factor)
                if part is not None:
                    type_ = build.scalar_type(operand)
                    part = moved(build, part, exp.operator, type_)
                adjoints.add(build, operand, part)

    return Reversed((statement,), back)
