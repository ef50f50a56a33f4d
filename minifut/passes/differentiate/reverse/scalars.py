"""Adjoints of scalar operators: partial derivatives times the adjoint of the result."""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Stm
from minifut.ir.scalar_derivatives import partials
from minifut.passes.differentiate.arithmetic import times
from minifut.passes.differentiate.context import refuse
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


@rule()
def vjp_scalar(statement: Stm, sweep: ReverseSweep) -> Reversed:
    """The chain rule, with the column of derivatives in `ir.scalar_derivatives`."""
    exp = statement.exp
    assert isinstance(exp, core.ScalarOp)
    (result,) = statement.pattern
    formulas = partials(exp.operator)
    if formulas is None:
        raise refuse(
            statement.location,
            f"{exp.operator.name} has no derivative that is known",
        )
    letters: dict[str, Atom] = dict(zip("xyz", exp.operands, strict=False))
    letters["r"] = result.name

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if adjoint is None:
            return
        for operand, formula in zip(exp.operands, formulas, strict=True):
            if operand in sweep.activity:
                part = times(build, formula, letters, adjoint)
                if part is not None:
                    part = build.convert(part, build.scalar_type(operand))
                adjoints.add(build, operand, part)

    return Reversed((statement,), back)
