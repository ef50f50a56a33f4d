"""Adjoints of calls: a call of the function that computes the adjoints of arguments.

let y = apply f(x)     →     let x' = apply f'(x, y')
"""

from __future__ import annotations

from minifut.ir import core, derivatives
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Function, Param, Stm
from minifut.ir.node import flagged
from minifut.ir.scope import add_parameters
from minifut.ir.traverse import size_names
from minifut.names import Name
from minifut.passes.differentiate.activity import Flags
from minifut.passes.differentiate.context import without_checks
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


@rule(paper="Griewank and Walther 2008, chapter 12")
def vjp_call(statement: Stm, sweep: ReverseSweep) -> Reversed:
    """One function for each choice of active arguments and results that count; it may
    be recursive. It runs the original again."""
    exp = statement.exp_of(core.Apply)
    active = sweep.activity.of(exp.arguments)

    def back(build: Builder, adjoints: Adjoints) -> None:
        results = adjoints.of_pattern(statement.pattern)
        if not any(results):
            return
        present = tuple(result is not None for result in results)
        name = sweep.context.derivative(
            ("vjp", exp.function, active, present),
            exp.function,
            lambda name: _function(sweep, exp.function, name, active, present),
        )
        sizes = [statement.pattern[n].name for n in _sizes(statement.pattern)]
        given = [result for result in results if result is not None]
        wanted = flagged(exp.arguments, active)
        pattern = tuple(
            Param(build.names.fresh("adj"), type_) for type_ in build.types(wanted)
        )
        build.bind(pattern, core.Apply(name, (*exp.arguments, *sizes, *given)))
        for argument, parameter in zip(wanted, pattern, strict=True):
            adjoints.add(build, argument, parameter.name)

    return Reversed((statement,), back)


def _sizes(pattern: tuple[Param, ...]) -> list[int]:
    """The results that are sizes of others."""
    used = {name for parameter in pattern for name in size_names(parameter.type)}
    return [n for n, parameter in enumerate(pattern) if parameter.name in used]


def _function(
    outer: ReverseSweep, original: Name, name: Name, active: Flags, present: Flags
) -> Function:
    """The function from arguments and adjoints of results to those of arguments."""
    context = outer.context
    function: Function = context.copy(without_checks(context.functions[original]))
    sweep = ReverseSweep(context, context.activity())
    sweep.activity.mark(function.parameters, active)
    build = context.builder()
    sizes = [function.results[n] for n in _sizes(function.results)]
    given = flagged(function.results, present)
    seeds = build.parameters([result.type for result in given], "adj")
    add_parameters(context.scope, sizes)
    adjoints = sweep.adjoints()
    waiting = iter(seeds)
    results: list[Atom | None] = [
        next(waiting).name if flag else None for flag in present
    ]
    sweep.again(build, function.body, adjoints, results)
    wanted = flagged(function.parameters, active)
    atoms = [adjoints.or_zero(build, parameter.name) for parameter in wanted]
    own = build.parameters([parameter.type for parameter in wanted], "adj")
    kept = tuple(Param(p.name, p.type) for p in function.parameters)
    return Function(name, (*kept, *sizes, *seeds), own, build.finish(*atoms))


@rule(paper="Hascoet and Pascual, TOMS 2013")
def vjp_custom(statement: Stm, sweep: ReverseSweep) -> Reversed:
    r"""The function runs as it is; its own adjoint makes the return sweep.

    before:
        given (x: f64)
        let result: f64 = custom_vjp(\(x_1: f64) -> (f64) {exp_f64(x_1)}, \(exp: f64,
            exp_1: f64) -> (f64) {mul_f64(exp_1, exp)}, (x))
    after:
        let exp: f64 = exp_f64(x)
        let mul: f64 = mul_f64(result_seed, exp)
        return exp, mul
    """
    exp = statement.exp_of(derivatives.CustomVjp)
    build = sweep.builder(statement)
    made = build.apply(exp.function, exp.arguments)
    for parameter, atom in zip(statement.pattern, made, strict=True):
        build.bind((parameter,), core.Copy(atom))
    names = [parameter.name for parameter in statement.pattern]

    def back(build: Builder, adjoints: Adjoints) -> None:
        if not any(adjoints.of_pattern(statement.pattern)):
            return
        given = tuple(adjoints.or_zero(build, name) for name in names)
        own = build.apply(exp.adjoint, (*names, *given))
        for argument, atom in zip(exp.arguments, own, strict=True):
            adjoints.add(build, argument, atom)

    return Reversed(tuple(build.statements), back)
