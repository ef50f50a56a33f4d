"""Tangents through branches and loops, which carry them beside the values.

let y = if c then {a} else {b}     →   let (y, y') = if c then {a, a'} else {b, b'}
loop (p = x) for i < n do {f p}    →   loop (p = x, p' = x') .. do {f p, f' p p'}
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.core import Body, Stm
from minifut.ir.host_bodies import map_bodies
from minifut.passes.differentiate.forward.sweep import Tangents
from minifut.passes.differentiate.rules import Rewrite
from minifut.rewrite.rule import rule


@rule(paper="Griewank and Walther 2008, section 3.1")
def jvp_branch(statement: Stm, sweep: Tangents) -> Rewrite:
    r"""Each branch gives the tangents of its results, too.

    before:
        given (c: bool, x: f64)
        let mul: f64 = if c then {mul_f64(x, x)} else {3.0f64}
    after:
        let (mul: f64, mul_tan: f64) = if c then {
          let mul_1: f64 = mul_f64(x, x)
          let mul_2: f64 = mul_f64(x, x_seed)
          let add: f64 = add_f64(mul_2, mul_2)
          return mul_1, add
        } else {3.0f64, 0.0f64}
        return mul, mul_tan
    """
    flags = sweep.activity.of([p.name for p in statement.pattern])
    build = sweep.builder(statement)

    def change(body: Body) -> Body:
        return sweep.body(build, body, flags)

    exp = map_bodies(statement.exp, change)
    tangents = sweep.parameters(statement.pattern, flags)
    build.bind((*statement.pattern, *tangents), exp)
    return tuple(build.statements)


@rule(paper="Griewank and Walther 2008, section 3.1")
def jvp_loop(statement: Stm, sweep: Tangents) -> Rewrite:
    r"""The loop carries the tangents of its active parameters.

    before:
        given (n: i64, x: f64)
        let x_1: f64 = loop (x_2: f64 = x) for _i: i64 < n do {mul_f64(x_2, x)}
    after:
        let (x_1: f64, x_tan: f64) = loop (x_2: f64 = x,
            x_tan_1: f64 = x_seed) for _i: i64 < n do {
          let mul: f64 = mul_f64(x_2, x)
          let mul_1: f64 = mul_f64(x, x_tan_1)
          let mul_2: f64 = mul_f64(x_2, x_seed)
          let add: f64 = add_f64(mul_1, mul_2)
          return mul, add
        }
        return x_1, x_tan
    """
    exp = statement.exp_of(core.Loop)
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
