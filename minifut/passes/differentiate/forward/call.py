"""Tangents of calls: a call of the function that computes tangents, too.

let y = apply f(x)     →     let (y, y') = apply f'(x, x')
"""

from __future__ import annotations

from minifut.ir import core, derivatives
from minifut.ir.core import Function, Stm
from minifut.ir.scope import add_parameters
from minifut.names import Name
from minifut.passes.differentiate.activity import Flags
from minifut.passes.differentiate.context import Context
from minifut.passes.differentiate.forward.sweep import Tangents
from minifut.passes.differentiate.rules import Rewrite
from minifut.rewrite.rule import rule


@rule(paper="Griewank and Walther 2008, section 3.1")
def jvp_call(statement: Stm, sweep: Tangents) -> Rewrite:
    """One function for each choice of active arguments; it may be recursive."""
    exp = statement.exp_of(core.Apply)
    context = sweep.context
    arguments = sweep.activity.of(exp.arguments)
    flags = sweep.activity.of([p.name for p in statement.pattern])
    name = context.derivative(
        ("jvp", exp.function, arguments),
        exp.function,
        lambda name: _function(context, exp.function, name, arguments, flags),
    )
    build = sweep.builder(statement)
    given = sweep.results(build, exp.arguments, arguments)
    results = sweep.parameters(statement.pattern, flags)
    call = core.Apply(name, (*exp.arguments, *given))
    build.bind((*statement.pattern, *results), call)
    return tuple(build.statements)


def _function(
    context: Context, original: Name, name: Name, arguments: Flags, flags: Flags
) -> Function:
    """The function that also gives tangents of its results."""
    function = context.copy(context.functions[original])
    sweep = Tangents(context, context.activity())
    tangents = sweep.parameters(function.parameters, arguments)
    body = sweep.body(context.builder(), function.body, flags)
    results = sweep.parameters(function.results, flags)
    add_parameters(context.scope, function.results)
    return Function(
        name, (*function.parameters, *tangents), (*function.results, *results), body
    )


@rule(paper="Hascoet and Pascual, TOMS 2013")
def jvp_custom(statement: Stm, sweep: Tangents) -> Rewrite:
    r"""An adjoint of its own says nothing of tangents, which the function has.

    before:
        given (x: f64)
        let result: f64 = custom_vjp(\(x_1: f64) -> (f64) {exp_f64(x_1)}, \(exp: f64,
            exp_1: f64) -> (f64) {mul_f64(5.0f64, exp_1)}, (x))
    after:
        let exp: f64 = exp_f64(x)
        let mul: f64 = mul_f64(exp, x_seed)
        return exp, mul
    """
    exp = statement.exp_of(derivatives.CustomVjp)
    build = sweep.builder(statement)
    inner = build.nested()
    body = inner.bound(exp.function, exp.arguments)
    sweep.statements(build, (*inner.statements, *body.statements))
    for parameter, atom in zip(statement.pattern, body.result, strict=True):
        build.bind((parameter,), core.Copy(atom))
        tangent = sweep.of(atom)
        if tangent is not None:
            sweep.values[parameter.name] = tangent
    return tuple(build.statements)
