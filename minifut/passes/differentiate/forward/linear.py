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


@rule()
def jvp_linear(statement: Stm, sweep: Tangents) -> Rewrite:
    """Indexing, updates, rearrangements, copies: the tangent of the result comes from
    the tangents of the operands as the result from the operands."""
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


@rule()
def jvp_iota(statement: Stm, sweep: Tangents) -> Rewrite:
    """An iota is linear in its start and its stride."""
    exp = statement.exp
    assert isinstance(exp, core.Iota)
    (result,) = statement.pattern
    build = sweep.builder(statement)
    build.append(statement)
    start = sweep.or_zero(build, exp.start)
    stride = sweep.or_zero(build, exp.stride)
    tangent = core.Iota(exp.length, start, stride, exp.element)
    sweep.values[result.name] = build.let(tangent, "iota_tan", result.type)
    return tuple(build.statements)
