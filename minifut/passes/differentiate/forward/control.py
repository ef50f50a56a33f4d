"""Tangents through branches and loops, which carry them beside the values.

let y = if c then {a} else {b}     →   let (y, y') = if c then {a, a'} else {b, b'}
loop (p = x) for i < n do {f p}    →   loop (p = x, p' = x') .. do {f p, f' p p'}
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.core import Body, Case, Stm
from minifut.passes.differentiate.forward.sweep import Tangents
from minifut.passes.differentiate.rules import Rewrite
from minifut.rewrite.rule import rule


@rule()
def jvp_branch(statement: Stm, sweep: Tangents) -> Rewrite:
    """Each branch gives the tangents of its results, too."""
    flags = sweep.activity.of([p.name for p in statement.pattern])
    build = sweep.builder(statement)

    def change(body: Body) -> Body:
        return sweep.body(build, body, flags)

    match statement.exp:
        case core.If(condition, then, otherwise):
            exp: core.Exp = core.If(condition, change(then), change(otherwise))
        case core.Match(scrutinees, cases, default):
            made = tuple(Case(case.values, change(case.body)) for case in cases)
            exp = core.Match(scrutinees, made, change(default))
        case _:
            raise AssertionError(statement.exp)
    tangents = sweep.parameters(statement.pattern, flags)
    build.bind((*statement.pattern, *tangents), exp)
    return tuple(build.statements)


@rule()
def jvp_loop(statement: Stm, sweep: Tangents) -> Rewrite:
    """The loop carries the tangents of its active parameters."""
    exp = statement.exp
    assert isinstance(exp, core.Loop)
    flags = sweep.activity.of([p.name for p in exp.parameters])
    build = sweep.builder(statement)
    initial = sweep.results(build, exp.initial, flags)
    tangents = sweep.parameters(exp.parameters, flags)
    body = sweep.body(build, exp.body, flags)
    loop = core.Loop(
        (*exp.parameters, *tangents), (*exp.initial, *initial), exp.form, body
    )
    results = sweep.parameters(statement.pattern, flags)
    build.bind((*statement.pattern, *results), loop)
    return tuple(build.statements)
