"""Adjoints through loops: the rounds in reverse, with the parameters of each.

    y = loop (p = x) for i < n do f p i
  →
    y, ps = loop (p = x, ps = scratch) for i < n do {f p i, ps with [i] = p}
    x' = loop (p' = y') for j < n do (let i = n - 1 - j; p = ps[i] in the adjoint of f)

The parameters of all rounds are kept on a tape. Where their sizes change from round to
round no tape can hold them, and they are computed again from the start for each round.
The adjoints of what the body mentions are carried beside those of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Constant, ForLoop, Loop, Param, Stm, WhileLoop
from minifut.ir.node import replace
from minifut.ir.scope import scope_of
from minifut.ir.traverse import atom_size, rename, size_names, substitute
from minifut.ir.types import F64, I64, ArrayType, array_of, element_of
from minifut.names import Name
from minifut.passes.differentiate.context import without_checks
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule

Read = Callable[[Builder, Atom], list[Name]]
"""emits the parameters at the start of a round, whose number is an i64"""


@rule()
def vjp_while(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    """The rounds are counted first; then it is a loop of that many rounds."""
    exp = statement.exp
    assert isinstance(exp, Loop)
    if not isinstance(exp.form, WhileLoop):
        return None
    build = sweep.builder(statement)
    counting: Loop = sweep.context.copy(without_checks(exp))
    (count,) = build.parameters((I64,), "count")
    inner = build.nested()
    inner.extend(counting.body.statements)
    following = inner.add(count.name, i64(1))
    loop = Loop(
        (*counting.parameters, count),
        (*counting.initial, i64(0)),
        counting.form,
        inner.finish(*counting.body.result, following),
    )
    pattern = _pattern_of(build, loop.parameters)
    build.bind(pattern, loop)
    form = ForLoop(build.names.fresh("i"), pattern[-1].name, I64)
    sweep.context.scope[form.index] = I64
    counted = replace(statement, exp=replace(exp, form=form))
    made = sweep.through(build, (counted,))
    return Reversed((*build.statements, *made.forward), made.back)


@rule()
def vjp_stripmine(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    """A loop marked `#[stripmine(k)]` becomes a nest of k + 1 loops with about the same
    number of rounds each: only those of one loop at each level are on a tape."""
    exp = statement.exp
    assert isinstance(exp, Loop)
    depth = _strips(statement)
    if not depth or not isinstance(exp.form, ForLoop):
        return None
    build = sweep.builder(statement)
    index, type_ = exp.form.index, exp.form.type
    rounds = _length(build, exp.form)
    outer = _root(build, rounds, depth + 1)
    one = build.sub(outer, i64(1))
    strip = build.op("quot", build.add(rounds, one), outer)
    at, place = build.names.fresh("strip"), build.names.fresh("place")
    build.scope.update({at: I64, place: I64})
    with build.body() as inner:
        start = inner.mul(at, strip)
        left = inner.op("min", strip, inner.sub(rounds, start))
        with inner.body() as innermost:
            whole = innermost.convert(innermost.add(start, place), type_)
            copied = rename(exp.body, build.names, {index: whole})
            innermost.extend(copied.statements)
            body = innermost.finish(*copied.result)
        few = rename(
            Loop(exp.parameters, (), ForLoop(place, left, I64), body), build.names
        )
        build.scope.update(scope_of(few))
        own = tuple(Param(build.names.like(p.name), p.type) for p in exp.parameters)
        mapping = {p.name: o.name for p, o in zip(exp.parameters, own, strict=True)}
        own = substitute(own, mapping)
        build.scope.update(scope_of(*own))
        few = replace(few, initial=tuple(p.name for p in own))
        results = _pattern_of(build, few.parameters)
        deeper = (f"stripmine({depth - 1})",) if depth > 1 else ()
        inner.append(Stm(results, few, deeper, statement.location))
        outer_body = inner.finish(*[p.name for p in results])
    nest = Loop(own, exp.initial, ForLoop(at, outer, I64), outer_body)
    attributes = tuple(a for a in statement.attributes if not a.startswith("stripmine"))
    made = Stm(statement.pattern, nest, attributes, statement.location)
    return sweep.through(build, (*build.statements, made))


@rule(paper="SC 2022, section 4.2")
def vjp_loop(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    """The parameters of each round go on a tape."""
    exp = statement.exp
    assert isinstance(exp, Loop) and isinstance(exp.form, ForLoop)
    own = {parameter.name for parameter in exp.parameters}
    if any(size_names(parameter.type) & own for parameter in exp.parameters):
        return None
    build = sweep.builder(statement)
    count = _length(build, exp.form)
    rounds = (atom_size(count),)
    types = [array_of(parameter.type, rounds) for parameter in exp.parameters]
    tapes = build.parameters(types, "tape")
    scratch = [
        build.let(core.Scratch(element_of(t), t.shape), "scratch")
        for t in types
        if isinstance(t, ArrayType)
    ]
    with build.body() as inner:
        at = inner.convert(exp.form.index, I64)
        kept = [
            inner.update(tape.name, (at,), parameter.name)
            for tape, parameter in zip(tapes, exp.parameters, strict=True)
        ]
        inner.extend(exp.body.statements)
        body = inner.finish(*exp.body.result, *kept)
    loop = Loop((*exp.parameters, *tapes), (*exp.initial, *scratch), exp.form, body)
    results = tuple(Param(build.names.like(t.name), t.type) for t in tapes)
    build.bind((*statement.pattern, *results), loop)

    def read(inner: Builder, at: Atom) -> list[Name]:
        pairs = zip(results, exp.parameters, strict=True)
        return [inner.index(t.name, at, base=p.name.base) for t, p in pairs]

    back = _Return(statement, exp, sweep, count, read)
    return Reversed(tuple(build.statements), back)


@rule()
def vjp_loop_of_varying_sizes(statement: Stm, sweep: ReverseSweep) -> Reversed:
    """Sizes that change: the parameters of a round are computed from the start."""
    exp = statement.exp
    assert isinstance(exp, Loop) and isinstance(exp.form, ForLoop)
    form = exp.form
    build = sweep.builder(statement)
    count = _length(build, form)
    build.append(statement)

    def read(inner: Builder, at: Atom) -> list[Name]:
        until = inner.convert(at, form.type)
        again: Loop = sweep.context.copy(without_checks(exp))
        assert isinstance(again.form, ForLoop)
        shorter = replace(again, form=replace(again.form, bound=until))
        pattern = _pattern_of(inner, shorter.parameters)
        inner.bind(pattern, shorter)
        return [parameter.name for parameter in pattern]

    back = _Return(statement, exp, sweep, count, read)
    return Reversed(tuple(build.statements), back)


class _Return:
    """The return sweep of a counted loop."""

    def __init__(
        self, statement: Stm, exp: Loop, sweep: ReverseSweep, count: Atom, read: Read
    ) -> None:
        self.statement, self.exp, self.sweep = statement, exp, sweep
        self.count, self.read = count, read
        assert isinstance(exp.form, ForLoop)
        self.form = exp.form
        own = {parameter.name for parameter in exp.parameters}
        sizes = {n for p in exp.parameters for n in size_names(p.type)} & own
        self.sizes = [n for n, p in enumerate(exp.parameters) if p.name in sizes]
        flags = sweep.activity.of([p.name for p in exp.parameters])
        self.active = [
            n for n, flag in enumerate(flags) if flag and n not in self.sizes
        ]

    def __call__(self, build: Builder, adjoints: Adjoints) -> None:
        exp, pattern = self.exp, self.statement.pattern
        if not any(adjoints.of_pattern(pattern)):
            return
        bound = {p.name for p in exp.parameters} | {self.form.index}
        names = [n for n in self.sweep.mentioned(exp.body) if n not in bound]
        sizes = build.parameters([I64] * len(self.sizes), "size")
        renamed: dict[Name, Atom] = {
            exp.parameters[n].name: size.name
            for n, size in zip(self.sizes, sizes, strict=True)
        }
        own = build.parameters(
            [substitute(exp.parameters[n].type, renamed) for n in self.active], "adj"
        )
        outer = build.parameters([build.type(name) for name in names], "adj")
        place = build.names.fresh("j")
        build.scope[place] = I64
        inner = adjoints.child()
        carried = {n: p.name for n, p in zip(names, outer, strict=True)}
        inner.values.update(carried)
        round_ = build.nested()
        reads = self.round(round_, place, inner, [p.name for p in own])
        result: list[Atom] = [reads[n] for n in self.sizes]
        result += [inner.or_zero(round_, reads[n]) for n in self.active]
        changed = [n for n in names if inner.values[n] != carried[n]]
        result += [inner.or_zero(round_, name) for name in changed]
        initial: list[Atom] = [pattern[n].name for n in self.sizes]
        initial += [adjoints.or_zero(build, pattern[n].name) for n in self.active]
        initial += [adjoints.or_zero(build, name) for name in changed]
        kept = [p for n, p in zip(names, outer, strict=True) if n in changed]
        loop = Loop(
            (*sizes, *own, *kept),
            tuple(initial),
            ForLoop(place, self.count, I64),
            round_.finish(*result),
        )
        made = [p.name for p in _bind(build, loop)][len(sizes) :]
        adjoints.values.update(zip(changed, made[len(own) :], strict=True))
        for n, adjoint in zip(self.active, made, strict=False):
            adjoints.add(build, exp.initial[n], adjoint)

    def round(
        self, build: Builder, place: Name, adjoints: Adjoints, results: list[Name]
    ) -> list[Name]:
        """One round backwards; the names of the parameters in it."""
        exp, activity = self.exp, self.sweep.activity
        last = build.sub(self.count, i64(1))
        at = build.sub(last, place)
        reads = self.read(build, at)
        for n in self.active:
            activity.names.add(reads[n])
        mapping: dict[Name, Atom] = {self.form.index: build.convert(at, self.form.type)}
        mapping |= zip((p.name for p in exp.parameters), reads, strict=True)
        body = rename(without_checks(exp.body), build.names, mapping)
        build.scope.update(scope_of(body))
        given: list[Atom | None] = [None] * len(reads)
        for n, result in zip(self.active, results, strict=True):
            given[n] = result
        self.sweep.again(build, body, adjoints, given)
        return reads


# --- pieces ----------------------------------------------------------------------


def _bind(build: Builder, loop: Loop) -> tuple[Param, ...]:
    pattern = _pattern_of(build, loop.parameters)
    build.bind(pattern, loop)
    return pattern


def _pattern_of(build: Builder, parameters: Iterable[Param]) -> tuple[Param, ...]:
    """Fresh results for the parameters of a loop, whose sizes may be among them."""
    parameters = tuple(parameters)
    mapping: dict[Name, Atom] = {p.name: build.names.like(p.name) for p in parameters}
    made = []
    for parameter in parameters:
        name = mapping[parameter.name]
        assert isinstance(name, Name)
        made.append(Param(name, substitute(parameter.type, mapping)))
    return tuple(made)


def _length(build: Builder, form: ForLoop) -> Atom:
    """The number of rounds, as an i64 that is not negative."""
    if isinstance(form.bound, Constant):
        return i64(max(0, int(form.bound.value)))
    return build.op("max", build.convert(form.bound, I64), i64(0), base="rounds")


def _root(build: Builder, number: Atom, degree: int) -> Atom:
    """A root of a number of rounds, rounded up, at least 1."""
    real = build.convert(number, F64)
    power = build.op("pow", real, Constant(1.0 / degree, F64))
    return build.op("max", build.convert(build.op("ceil", power), I64), i64(1))


def _strips(statement: Stm) -> int:
    """The number in `stripmine(k)`; 0 if the statement is not marked."""
    for attribute in statement.attributes:
        if attribute.startswith("stripmine(") and attribute[10:-1].isdigit():
            return int(attribute[10:-1])
    return 0
