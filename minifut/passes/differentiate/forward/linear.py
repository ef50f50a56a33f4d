"""Tangents of what moves values without computing: the same on tangents."""

from __future__ import annotations

from typing import Any

from minifut.ir import core
from minifut.ir.core import Atom, Stm
from minifut.ir.node import replace
from minifut.passes.differentiate.activity import LINEAR
from minifut.passes.differentiate.forward.sweep import Tangents
from minifut.passes.differentiate.rules import Rewrite
from minifut.rewrite.rule import rule


@rule(paper="Griewank and Walther 2008, section 3.1")
def jvp_linear(statement: Stm, sweep: Tangents) -> Rewrite:
    r"""Indexing, updates, rearrangements, copies: the tangent of the result comes from
    the tangents of the operands as the result from the operands.

    before:
        given (n: i64, xs: [n]f64)
        let last: i64 = size(n - 1)
        let xs_1: [n]f64 = xs[last :+ n by -1i64]
    after:
        let last: i64 = size(n - 1)
        let xs_1: [n]f64 = xs[last :+ n by -1i64]
        let xs_tan: [n]f64 = xs_seed[last :+ n by -1i64]
        return xs_1, xs_tan
    """
    exp: Any = statement.exp
    (result,) = statement.pattern
    build = sweep.builder(statement)
    build.append(statement)
    changes: dict[str, Atom | tuple[Atom, ...]] = {}
    for field in LINEAR[type(exp)]:
        held = getattr(exp, field)
        if isinstance(held, tuple):
            changes[field] = tuple(sweep.or_zero(build, atom) for atom in held)
        else:
            changes[field] = sweep.or_zero(build, held)
    if isinstance(exp, core.Trace):
        exp = core.Copy(exp.atom)
    tangent = replace(exp, **changes)
    name = build.let(tangent, f"{result.name.base}_tan", result.type)
    sweep.values[result.name] = name
    return tuple(build.statements)


@rule(paper="Griewank and Walther 2008, section 3.1")
def jvp_iota(statement: Stm, sweep: Tangents) -> Rewrite:
    r"""An iota is linear in its start and its stride.

    before:
        given (x: i64, dx: i64)
        let (y: [3]i64, dy: [3]i64) = jvp(\(a: i64) -> ([3]i64) {
          return iota i64 (3, a, 1i64)
        }, (x), (dx), [])
        return y, dy
    after:
        let b: [3]i64 = iota i64 (3, x, 1i64)
        let iota_tan: [3]i64 = iota i64 (3, dx, 0i64)
        return b, iota_tan
    """
    exp = statement.exp_of(core.Iota)
    (result,) = statement.pattern
    build = sweep.builder(statement)
    build.append(statement)
    start = sweep.or_zero(build, exp.start)
    stride = sweep.or_zero(build, exp.stride)
    tangent = core.Iota(exp.length, start, stride, exp.element)
    sweep.values[result.name] = build.let(tangent, "iota_tan", result.type)
    return tuple(build.statements)
