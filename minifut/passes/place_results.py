"""Pass: an update by the result of a branch is done within the branch.

Versions of a kernel are branches of the host. The kernel of each can write where its
result is to be (`analysis.destinations`) only if the update that says so is beside it,
and is all that uses the result. So what else uses it reads the updated array.
"""

from __future__ import annotations

from collections.abc import Iterable

from minifut.analysis.aliases import NONE, Roots, find_aliases
from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Body, Param, Program, Stm
from minifut.ir.host_bodies import map_bodies
from minifut.ir.kernels import SegMap, SegRed
from minifut.ir.node import replace
from minifut.ir.scope import Scope, scope_of
from minifut.ir.search import contains
from minifut.ir.traverse import free_names, size_names
from minifut.ir.types import ArrayType
from minifut.names import Name, NameSource
from minifut.passes.simplify.dead_code import has_effects
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.trace import Derivation, Trace


@rule(core.Update)
def update_in_branches(statement: Stm, context: StatementContext) -> Outcome:
    """An update by one result of a branch, which nothing else uses.

    before:
        given (n: i64, c: bool, a: [n]i32, b: [n]i32, d: [2 * n]i32)
        let x: [n]i32 = if c then {a} else {b}
        let e: [2 * n]i32 = d with [0i64 :+ n by 1i64] = x
        return e
    after:
        let e: [2 * n]i32 = if c then {
          let f: [2 * n]i32 = d with [0i64 :+ n by 1i64] = a
          return f
        } else {
          let g: [2 * n]i32 = d with [0i64 :+ n by 1i64] = b
          return g
        }
        return e
    declines: the result is needed elsewhere
        like before, with
        return e => return e, x
    declines: the result is the array that is updated
        given (n: i64, c: bool, a: [n]i32, b: [n]i32)
        let x: [n]i32 = if c then {a} else {b}
        let last: i64 = size(n - 1)
        let e: [n]i32 = x with [last :+ n by -1i64] = x
        return e
    """
    exp = statement.exp
    if not isinstance(exp, core.Update) or not isinstance(exp.value, Name):
        return None
    producer = context.definitions.get(exp.value)
    if producer is None or not isinstance(producer.exp, core.If):
        return None
    if exp.value in context.needed:
        return Declined("the result is needed elsewhere")
    names = [bound.name for bound in producer.pattern]
    if exp.array == exp.value:
        return Declined("the result is the array that is updated")
    used = free_names(exp) - {exp.value}
    if used.union(*(size_names(p.type) for p in producer.pattern)) & set(names):
        return Declined("the result has a size that the branch computes")
    position = names.index(exp.value)
    build = context.builder(producer)
    branches = [
        _with_update(build, body, position, exp)
        for body in (producer.exp.then, producer.exp.otherwise)
    ]
    (bound,) = statement.pattern
    pattern = (*producer.pattern[:position], bound, *producer.pattern[position + 1 :])
    return (
        replace(
            producer, pattern=pattern, exp=core.If(producer.exp.condition, *branches)
        ),
    )


def _with_update(build: Builder, body: Body, position: int, exp: core.Update) -> Body:
    inner = build.nested()
    inner.extend(body.statements)
    updated = inner.let(replace(exp, value=body.result[position]), exp.array.base)
    result = (*body.result[:position], updated, *body.result[position + 1 :])
    return inner.finish(*result)


@rule(core.Update)
def read_from_updated_array(statement: Stm, context: StatementContext) -> Outcome:
    """What an update writes is read from the updated array.

    before:
        given (n: i64, xs: [n]f32, d: [4][n]f32)
        let x: [n]f32 = segmap grid (j < n) -> (f32) {
          let y: f32 = xs[j]
          return returns mul_f32(y, y)
        }
        let e: [4][n]f32 = d with [2i64] = x
        return e, x
    after:
        like before, with
        let x: => let x_1:
        [2i64] = x => [2i64] = x_1 let x: [n]f32 = e[2i64]
    declines: nothing else uses the result
        like before of read_from_updated_array, with
        return e, x
        => return e
    """
    exp = statement.exp_of(core.Update)
    value = exp.value
    producer = context.definitions.get(value) if isinstance(value, Name) else None
    if producer is None or not isinstance(producer.exp, (core.If, SegMap, SegRed)):
        return None
    if value not in context.needed:
        return Declined("nothing else uses the result")
    assert isinstance(value, Name)
    type_, made = context.scope[value], context.names.like(value)
    context.scope[made] = type_
    pattern = tuple(
        replace(p, name=made) if p.name == value else p for p in producer.pattern
    )
    update = replace(statement, exp=replace(exp, value=made))
    row = core.Index(statement.pattern[0].name, exp.slice)
    read = Stm((Param(value, type_),), row, (), statement.location)
    return replace(producer, pattern=pattern), update, read


def _computing(names: set[Name], statements: tuple[Stm, ...]) -> tuple[Stm, ...]:
    """The statements that compute scalars of these names."""
    found: list[Stm] = []
    names = set(names)
    for statement in reversed(statements):
        if isinstance(
            statement.exp, (core.ScalarOp, core.SizeExp)
        ) and not names.isdisjoint(p.name for p in statement.pattern):
            found.insert(0, statement)
            names |= free_names(statement)
    return tuple(found)


def place_results(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Update arrays within the versions whose results they take."""
    roots: dict[Name, Roots] = {}
    for function in program.functions:
        if contains(function, core.Update):
            roots |= find_aliases(function).roots
    placing = _Placing(names, scope_of(program), trace or Trace(), roots)
    made: Program = map_bodies(program, placing.body)
    return made


class _Placing:
    """`roots`: the allocations that arrays may be in, see `analysis.aliases`."""

    def __init__(
        self, names: NameSource, scope: Scope, trace: Trace, roots: dict[Name, Roots]
    ) -> None:
        self.names = names
        self.scope = scope
        self.trace = trace
        self.roots = roots

    def body(self, body: Body) -> Body:
        at = 0
        while at < len(body.statements):
            producer = self.producer(body.statements, at)
            made = None
            if producer is not None:
                made = self.read_later(body, producer, at)
                made = made or self.joined(body, producer, at)
            if made is None:
                at += 1
            else:
                body, at = replace(body, statements=made), producer or 0
        done = [replace(s, exp=map_bodies(s.exp, self.body)) for s in body.statements]
        return replace(body, statements=tuple(done))

    def producer(self, statements: tuple[Stm, ...], at: int) -> int | None:
        """The position of the statement that makes the array that an update writes."""
        exp = statements[at].exp
        if not isinstance(exp, core.Update) or not isinstance(exp.value, Name):
            return None
        if not isinstance(self.scope.get(exp.value), ArrayType):
            return None
        before = enumerate(statements[:at])
        found = (k for k, s in before if any(p.name == exp.value for p in s.pattern))
        return next(found, None)

    def read_later(self, body: Body, producer: int, at: int) -> tuple[Stm, ...] | None:
        """The statements with the update behind the producer, where the others can use
        what it writes."""
        statements, update = body.statements, body.statements[at]
        exp, updated = update.exp_of(core.Update), update.pattern[0].name
        between = statements[producer + 1 : at]
        places = _computing(free_names(update), between)
        between = tuple(s for s in between if s not in places)
        after = statements[at + 1 :]
        bound = {p.name for s in (statements[producer], *between) for p in s.pattern}
        free = free_names(update).union(*map(free_names, places)) - {exp.value}
        if free & bound or exp.value in body.result:
            return None
        if any(has_effects(s.exp) for s in between):
            return None
        used = [free_names(statement) for statement in (*between, *after)]
        used.append({atom for atom in body.result if isinstance(atom, Name)})
        old, new = self.roots.get(exp.array, NONE), self.roots.get(updated, NONE)
        if not (old and old <= new):
            return None
        if any(self.sharing(names, old, updated) for names in used):
            return None
        value = self.roots.get(exp.value, NONE) if isinstance(exp.value, Name) else NONE
        last = max(
            (n for n, names in enumerate(used) if self.sharing(names, value)),
            default=-1,
        )
        own = frozenset({updated})
        if any(self.sharing(names, own) for names in used[: last + 1]):
            return None
        outcome = read_from_updated_array(update, self.context(body, producer, at))
        if not isinstance(outcome, tuple):
            return None
        made, _, row = outcome
        self.roots[row.pattern[0].name] = new
        for parameter in made.pattern:
            self.roots.setdefault(parameter.name, frozenset({parameter.name}))
        return (*statements[:producer], *places, *outcome, *between, *after)

    def sharing(
        self, names: Iterable[Name], roots: Roots, derived: Name | None = None
    ) -> bool:
        """Whether a name shares memory with some of which the roots are given, and is
        not derived from a name."""
        found = [self.roots.get(name, NONE) for name in names]
        return any(own & roots and derived not in own for own in found)

    def joined(self, body: Body, producer: int, at: int) -> tuple[Stm, ...] | None:
        """The statements with the update within the branch that makes its value."""
        statements = body.statements
        if not isinstance(statements[producer].exp, core.If):
            return None
        bound = {p.name for p in statements[producer].pattern}
        between = statements[producer + 1 : at]
        if any(has_effects(s.exp) or free_names(s) & bound for s in between):
            return None
        outcome = update_in_branches(statements[at], self.context(body, producer, at))
        if not isinstance(outcome, tuple):
            return None
        self.scope.update(scope_of(*outcome))
        before = (*statements[:producer], *between)
        return (*before, *outcome, *statements[at + 1 :])

    def context(self, body: Body, producer: int, at: int) -> StatementContext:
        """The place of an update, with what other statements use."""
        statements = body.statements
        others = (*statements[:at], *statements[at + 1 :])
        needed = {name for s in others for name in free_names(s)}
        needed |= {atom for atom in body.result if isinstance(atom, Name)}
        bound = [parameter.name for parameter in statements[producer].pattern]
        return StatementContext(
            self.names,
            self.scope,
            dict.fromkeys(bound, statements[producer]),
            needed=frozenset(needed),
            derivation=Derivation(self.trace),
        )
