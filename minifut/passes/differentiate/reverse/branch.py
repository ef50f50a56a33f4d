"""Adjoints through branches: the same branch is taken on the way back."""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Param, Stm
from minifut.ir.host_bodies import map_bodies
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


@rule(paper="SC 2022")
def vjp_branch(statement: Stm, sweep: ReverseSweep) -> Reversed:
    r"""Each branch gives the adjoints of all that some branch contributes to.

    before:
        given (c: bool, x: f64)
        let mul: f64 = if c then {mul_f64(x, x)} else {3.0f64}
    after:
        let mul: f64 = if c then {mul_f64(x, x)} else {3.0f64}
        let x_adj: f64 = if c then {
          let add: f64 = add_f64(mul_seed, mul_seed)
          return mul_f64(x, add)
        } else {0.0f64}
        return mul, x_adj
    """
    exp = statement.exp
    assert isinstance(exp, core.If | core.Match)
    bodies = exp.branches

    def back(build: Builder, adjoints: Adjoints) -> None:
        results = adjoints.of_pattern(statement.pattern)
        if not any(results):
            return
        names = sweep.mentioned(*bodies)
        made = []
        for body in bodies:
            inner, own = build.nested(), adjoints.child()
            sweep.again(inner, sweep.copy(body), own, results)
            made.append((inner, own))
        touched = {n for _, own in made for n in adjoints.changed(own, names)}
        changed = [name for name in names if name in touched]
        if not changed:
            return
        branches = iter(
            [
                inner.finish(*[own.or_zero(inner, name) for name in changed])
                for inner, own in made
            ]
        )
        pattern = tuple(
            Param(build.names.fresh(f"{name.base}_adj"), adjoints.type(build, name))
            for name in changed
        )
        build.bind(pattern, map_bodies(exp, lambda _: next(branches)))
        for name, parameter in zip(changed, pattern, strict=True):
            adjoints.values[name] = parameter.name

    return Reversed((statement,), back)
