"""Loops that update arrays: the return sweep undoes the updates.

    loop (a = x) for i < n do (.. a ..; a with [i] = v)
  →
    y, os = loop (a = x, ..) for i < n do
      (o = a[i]; .. a ..; a with [i] = v, os with [i] = o)
    loop (b = y, ..) for j < n do (i = n - 1 - j; a = b with [i] = os[i]; .. a ..)

A tape of what is overwritten takes as many bytes as the updates write; one of the
arrays themselves, n times the array. Updates may be in branches, which give what they
overwrite, and in counted loops, which keep it in arrays of their own, if these have
fewer dimensions than what they update, or few elements:

    if c then (.. a with [i] = v) else a
  →
    if c then (o = a[i]; .. (a with [i] = v, o)) else (a, 0)

    loop (b = a) for k < m do b with [k] = v
  →
    loop (b = a, p = scratch) for k < m do (o = b[k]; (b with [k] = v, p with [k] = o))

Conditions and places that depend on data are kept as well. What is kept has the same
shape in all rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from minifut.ir import core
from minifut.ir.builder import Builder, constant, i64
from minifut.ir.core import Atom, Body, Constant, Param, Stm
from minifut.ir.node import immutable, replace
from minifut.ir.traverse import atom_size, bound_names, free_names, substitute
from minifut.ir.types import BOOL, I64, ArrayType, ScalarType, Type, array_of, shape_of
from minifut.ir.typing import type_of
from minifut.names import Name
from minifut.passes.differentiate.activity import PASSIVE
from minifut.passes.differentiate.context import Context
from minifut.passes.flatten.exploitable import is_invariant_scalar, is_regular

FEW = 16
"""elements that an inner loop may keep for any array"""

Undo = Callable[[Builder, Name], Name]
"""emits the array as it was before, from the array after"""


@immutable
class Overwriting:
    """A loop whose body reads what its updates overwrite (`old`). `after`: the arrays
    that these change, by the number of the parameter, as they are after a round;
    `undo` computes them as they were before it."""

    loop: core.Loop
    old: frozenset[Name]
    after: dict[int, Param]
    undo: tuple[Stm, ...]


def overwriting(context: Context, build: Builder, exp: core.Loop) -> Overwriting:
    """The arrays that every round changes by updates alone."""
    assert isinstance(exp.form, core.ForLoop)
    updates = _Updates(build, frozenset(bound_names(exp)))
    varying = frozenset(parameter.name for parameter in exp.parameters)
    after: dict[int, Param] = {}
    old: set[Name] = set()
    undo: list[Stm] = []
    body = exp.body
    for n, parameter in enumerate(exp.parameters):
        if not is_regular(updates.bound, (parameter,)):
            continue
        chain = updates.chain(body, n, varying)
        if chain is None or chain.start != parameter.name or not chain.kept:
            continue
        body = chain.body
        old |= {kept.name for kept in chain.kept}
        (after[n],) = build.parameters((parameter.type,), "after")
        inner = build.nested()
        before = chain.undo(inner, after[n].name)
        undone = context.copy(inner.finish(before))
        undo += [*undone.statements, Stm((parameter,), core.Copy(undone.result[0]))]
    return Overwriting(replace(exp, body=body), frozenset(old), after, tuple(undo))


@immutable
class _Chain:
    """The updates that make a result of a body of the array `start`. The body reads
    what they overwrite; `kept` is what undoing them takes, bound in the body."""

    start: Atom
    body: Body
    kept: tuple[Param, ...]
    undo: Undo


@immutable
class _Link:
    """One statement of them, which changes the array `start`, with others before and
    after it."""

    start: Atom
    statements: tuple[Stm, ...]
    kept: tuple[Param, ...]
    undo: Undo


class _Updates:
    """Finds updates in the body of a loop, which binds the names `bound`."""

    def __init__(self, build: Builder, bound: frozenset[Name]) -> None:
        self.build = build
        self.bound = bound

    def chain(self, body: Body, number: int, varying: frozenset[Name]) -> _Chain | None:
        """The chain of a result of a body; `varying` are names around it that are not
        known from the numbers of rounds."""
        known: list[Stm] = []
        for statement in body.statements:
            if is_invariant_scalar(varying, statement):
                known.append(statement)
            else:
                varying |= {p.name for p in statement.pattern}
        made = {
            p.name: (s, n) for s in body.statements for n, p in enumerate(s.pattern)
        }
        links: dict[int, _Link] = {}
        atom = body.result[number]
        while isinstance(atom, Name) and atom in made:
            statement, n = made[atom]
            link = self.link(statement, n, varying)
            if link is None:
                return None
            links[id(statement)] = link
            atom = link.start
        statements: list[Stm] = []
        for statement in body.statements:
            new = links.get(id(statement))
            statements += [statement] if new is None else new.statements

        def undo(build: Builder, array: Name) -> Name:
            build.extend(known)
            for link in links.values():
                array = link.undo(build, array)
            return array

        kept = tuple(p for link in links.values() for p in link.kept)
        return _Chain(atom, Body(tuple(statements), body.result), kept, undo)

    def link(
        self, statement: Stm, number: int, varying: frozenset[Name]
    ) -> _Link | None:
        """What a statement changes, if it makes a result by updates."""
        match statement.exp:
            case core.Update():
                return self.update(statement, statement.exp, varying)
            case core.If():
                return self.branch(statement, statement.exp, number, varying)
            case core.Loop(_, _, core.ForLoop()):
                return self.loop(statement, statement.exp, number, varying)
        return None

    def update(
        self, statement: Stm, exp: core.Update, varying: frozenset[Name]
    ) -> _Link | None:
        """What is overwritten is read, and the place is known or kept."""
        read = core.Index(exp.array, exp.slice)
        old = self.parameter("old", type_of(read, self.build.scope)[0])
        names = {name for part in exp.slice for name in free_names(part)} & varying
        if not is_regular(self.bound, (old,)):
            return None
        places = {name: self.parameter("place", I64) for name in names}
        copies = [Stm((p,), core.Copy(name)) for name, p in places.items()]
        renamed: dict[Name, Atom] = {name: p.name for name, p in places.items()}
        slice_ = substitute(exp.slice, renamed)

        def undo(build: Builder, array: Name) -> Name:
            return build.let(core.Update(array, slice_, old.name), array.base)

        reads = Stm((old,), read, (PASSIVE,), statement.location)
        kept = (old, *places.values())
        return _Link(exp.array, (*copies, reads, statement), kept, undo)

    def branch(
        self, statement: Stm, exp: core.If, number: int, varying: frozenset[Name]
    ) -> _Link | None:
        """Both branches give what either overwrites."""
        then = self.chain(exp.then, number, varying)
        other = self.chain(exp.otherwise, number, varying)
        if then is None or other is None or then.start != other.start:
            return None
        sides = (self.giving(then, (), other.kept), self.giving(other, then.kept, ()))
        given, copies, kept = self.kept_arrays((*then.kept, *other.kept))
        condition = exp.condition
        if condition in varying:
            flag = self.parameter("taken", BOOL)
            copies.append(Stm((flag,), core.Copy(condition)))
            kept = (*kept, flag)
            condition = flag.name
        pairs = zip((*then.kept, *other.kept), kept, strict=False)
        own = {inner.name: outer.name for inner, outer in pairs}
        type_ = statement.pattern[number].type

        def undo(build: Builder, array: Name) -> Name:
            bodies = []
            for chain in (then, other):
                inner = build.nested()
                for p in chain.kept:
                    inner.bind((p,), core.Copy(own[p.name]))
                bodies.append(inner.finish(chain.undo(inner, array)))
            return build.let(core.If(condition, *bodies), array.base, type_)

        new = replace(statement, pattern=(*statement.pattern, *given))
        new = replace(new, exp=core.If(exp.condition, *sides))
        return _Link(then.start, (new, *copies), kept, undo)

    def giving(
        self, chain: _Chain, before: Iterable[Param], after: Iterable[Param]
    ) -> Body:
        """The body of a branch, which gives what it keeps, and anything for what the
        other one keeps."""
        inner = self.build.nested()
        inner.extend(chain.body.statements)
        kept = [p.name for p in chain.kept]
        result = [_anything(inner, p) for p in before]
        result += [*kept, *[_anything(inner, p) for p in after]]
        return inner.finish(*chain.body.result, *result)

    def loop(
        self, statement: Stm, exp: core.Loop, number: int, varying: frozenset[Name]
    ) -> _Link | None:
        """What all rounds overwrite is in arrays."""
        form, array = exp.form, exp.parameters[number]
        assert isinstance(form, core.ForLoop)
        own = varying | {p.name for p in exp.parameters}
        chain = self.chain(exp.body, number, own)
        if chain is None or chain.start != array.name or form.bound in self.bound:
            return None
        if not all(_is_small(form.bound, p, array) for p in chain.kept):
            return None
        count = length_of(self.build, form)
        shape = (atom_size(count),)
        tapes = [self.parameter("tape", array_of(p.type, shape)) for p in chain.kept]
        given, copies, kept = self.kept_arrays(tapes)
        before = self.build.nested()
        initial = [_anything(before, tape) for tape in tapes]
        inner = self.build.nested()
        inner.extend(chain.body.statements)
        at = inner.convert(form.index, I64)
        filled = [
            inner.update(tape.name, (at,), p.name)
            for tape, p in zip(tapes, chain.kept, strict=True)
        ]

        def undo(build: Builder, after: Name) -> Name:
            parameter = self.parameter("after", array.type)
            place = self.parameter("j", I64).name
            round_ = build.nested()
            last = round_.sub(count, i64(1))
            back = round_.sub(last, place)
            index = Param(form.index, form.type)
            round_.bind((index,), core.Copy(round_.convert(back, form.type)))
            for p, tape in zip(chain.kept, kept, strict=True):
                round_.bind((p,), core.Index(tape.name, (back,)))
            body = round_.finish(chain.undo(round_, parameter.name))
            undone = core.Loop(
                (parameter,), (after,), core.ForLoop(place, count, I64), body
            )
            return build.let(undone, after.base, array.type)

        new = replace(statement, pattern=(*statement.pattern, *given))
        new = replace(
            new,
            exp=core.Loop(
                (*exp.parameters, *tapes),
                (*exp.initial, *initial),
                form,
                inner.finish(*chain.body.result, *filled),
            ),
        )
        statements = (*before.statements, new, *copies)
        return _Link(exp.initial[number], statements, kept, undo)

    # --- names ---

    def parameter(self, base: str, type_: Type) -> Param:
        (made,) = self.build.parameters((type_,), base)
        return made

    def kept_arrays(
        self, kept: Iterable[Param]
    ) -> tuple[tuple[Param, ...], list[Stm], tuple[Param, ...]]:
        """More results of a statement for what is kept within it, copies of them, and
        what these bind."""
        types = [p.type for p in kept]
        given = self.build.parameters(types, "given")
        copies = self.build.parameters(types, "old")
        pairs = zip(copies, given, strict=True)
        return given, [Stm((c,), core.Copy(g.name)) for c, g in pairs], copies


def length_of(build: Builder, form: core.ForLoop) -> Atom:
    """The number of rounds, as an i64 that is not negative."""
    if isinstance(form.bound, Constant):
        return i64(max(0, int(form.bound.value)))
    return build.op("max", build.convert(form.bound, I64), i64(0), base="rounds")


def _anything(build: Builder, parameter: Param) -> Atom:
    """A value of this type that nothing reads."""
    type_ = parameter.type
    if isinstance(type_, ScalarType):
        return constant(0, type_)
    assert isinstance(type_, ArrayType)
    return build.let(core.Scratch(type_.element, type_.shape), "scratch")


def _is_small(bound: Atom, kept: Param, array: Param) -> bool:
    """Whether what all rounds of a loop keep is small beside the array."""
    if len(shape_of(kept.type)) + 1 < len(shape_of(array.type)):
        return True
    few = isinstance(bound, Constant) and int(bound.value) <= FEW
    return few and not shape_of(kept.type)
