"""Loops that update arrays: the return sweep undoes the updates.

    loop (a = x) for i < n do (.. a ..; a with [i] = v)
  →
    y, os = loop (a = x, ..) for i < n do
      (o = a[i]; .. a ..; a with [i] = v, os with [i] = o)
    loop (b = y, ..) for j < n do (i = n - 1 - j; a = b with [i] = os[i]; .. a ..)

A tape of what is overwritten takes as many bytes as the updates write; one of the
arrays themselves, n times the array. The places have the same shape in all rounds, and
are known from the number of the round.
"""

from __future__ import annotations

from dataclasses import dataclass

from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Copy, ForLoop, Index, Loop, Param, Stm, Update
from minifut.ir.node import replace
from minifut.ir.traverse import free_names
from minifut.ir.typing import type_of
from minifut.names import Name
from minifut.passes.differentiate.context import Context
from minifut.passes.flatten.exploitable import is_invariant_scalar, is_regular


@dataclass(frozen=True, slots=True)
class Overwriting:
    """A loop whose body reads what its updates overwrite (`old`). `after`: the arrays
    that these change, by the number of the parameter, as they are after a round;
    `undo` computes them as they were before it."""

    loop: Loop
    old: frozenset[Name]
    after: dict[int, Param]
    undo: tuple[Stm, ...]


def overwriting(context: Context, build: Builder, exp: Loop) -> Overwriting:
    """The arrays that every round changes by updates alone."""
    assert isinstance(exp.form, ForLoop)
    varying = {parameter.name for parameter in exp.parameters}
    undo = build.nested()
    for statement in exp.body.statements:
        if is_invariant_scalar(varying, statement):
            undo.append(statement)
        else:
            varying.update(p.name for p in statement.pattern)
    bound = {*varying, exp.form.index, *[s.pattern[0].name for s in undo.statements]}
    reads: dict[Update, Stm] = {}
    after: dict[int, Param] = {}
    before: list[Atom] = []
    for n, parameter in enumerate(exp.parameters):
        start, updates = _updates(exp, exp.body.result[n])
        old = [
            Param(build.names.fresh("old"), type_of(read, build.scope)[0])
            for read in (Index(update.array, update.slice) for update in updates)
        ]
        places = {name for u in updates for at in u.slice for name in free_names(at)}
        known = places.isdisjoint(varying) and is_regular(bound, (parameter, *old))
        if not updates or start != parameter.name or not known:
            continue
        (after[n],) = build.parameters((parameter.type,), "after")
        array = after[n].name
        for update, part in zip(updates, old, strict=True):
            build.scope[part.name] = part.type
            reads[update] = Stm((part,), Index(update.array, update.slice))
            array = undo.let(replace(update, array=array, value=part.name), array.base)
        before.append(array)
    statements: list[Stm] = []
    for statement in exp.body.statements:
        if isinstance(statement.exp, Update) and statement.exp in reads:
            statements.append(reads[statement.exp])
        statements.append(statement)
    loop = replace(exp, body=replace(exp.body, statements=tuple(statements)))
    undone = context.copy(undo.finish(*before))
    copies = [
        Stm((exp.parameters[n],), Copy(atom))
        for n, atom in zip(after, undone.result, strict=True)
    ]
    names = frozenset(read.pattern[0].name for read in reads.values())
    return Overwriting(loop, names, after, (*undone.statements, *copies))


def _updates(exp: Loop, atom: Atom) -> tuple[Atom, list[Update]]:
    """The updates that make a result of the body, the last one first, and of what."""
    made = {p.name: s.exp for s in exp.body.statements for p in s.pattern}
    updates: list[Update] = []
    while isinstance(atom, Name) and isinstance(update := made.get(atom), Update):
        updates.append(update)
        atom = update.array
    return atom, updates
