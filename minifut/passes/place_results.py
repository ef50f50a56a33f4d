"""Pass: an update by the result of a branch is done within the branch.

Versions of a kernel are branches of the host. The kernel of each can write where its
result is to be only if the update that says so is beside it.
"""

from __future__ import annotations

from minifut.ir.builder import Builder
from minifut.ir.core import Body, If, Program, Stm, Update
from minifut.ir.host_bodies import map_bodies
from minifut.ir.node import replace
from minifut.ir.scope import Scope, scope_of
from minifut.ir.traverse import free_names, size_names
from minifut.ir.types import ArrayType
from minifut.names import Name, NameSource
from minifut.passes.simplify.dead_code import has_effects
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.trace import Derivation, Trace


@rule(Update)
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
        given (n: i64, c: bool, a: [n]i32, b: [n]i32, d: [2 * n]i32)
        let x: [n]i32 = if c then {a} else {b}
        let e: [2 * n]i32 = d with [0i64 :+ n by 1i64] = x
        return e, x
    declines: the result is the array that is updated
        given (n: i64, c: bool, a: [n]i32, b: [n]i32)
        let x: [n]i32 = if c then {a} else {b}
        let last: i64 = size(n - 1)
        let e: [n]i32 = x with [last :+ n by -1i64] = x
        return e
    """
    exp = statement.exp
    if not isinstance(exp, Update) or not isinstance(exp.value, Name):
        return None
    producer = context.definitions.get(exp.value)
    if producer is None or not isinstance(producer.exp, If):
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
        replace(producer, pattern=pattern, exp=If(producer.exp.condition, *branches)),
    )


def _with_update(build: Builder, body: Body, position: int, exp: Update) -> Body:
    inner = build.nested()
    inner.extend(body.statements)
    updated = inner.let(replace(exp, value=body.result[position]), exp.array.base)
    result = (*body.result[:position], updated, *body.result[position + 1 :])
    return inner.finish(*result)


def place_results(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """The program with updates within the branches that they take results of."""
    placing = _Placing(names, scope_of(program), trace or Trace())
    made: Program = map_bodies(program, placing.body)
    return made


class _Placing:
    def __init__(self, names: NameSource, scope: Scope, trace: Trace) -> None:
        self.names = names
        self.scope = scope
        self.trace = trace

    def body(self, body: Body) -> Body:
        statements = list(body.statements)
        at = 0
        while at < len(statements):
            moved = self.joined(statements, at, body)
            if moved is None:
                at += 1
            else:
                producer, new = moved
                statements[at : at + 1] = new
                del statements[producer]
        done = tuple(replace(s, exp=map_bodies(s.exp, self.body)) for s in statements)
        return replace(body, statements=done)

    def joined(
        self, statements: list[Stm], at: int, body: Body
    ) -> tuple[int, tuple[Stm, ...]] | None:
        """The position of the branch of an update's value, and both as one
        statement."""
        exp = statements[at].exp
        if not isinstance(exp, Update) or not isinstance(exp.value, Name):
            return None
        if not isinstance(self.scope.get(exp.value), ArrayType):
            return None
        producer = next(
            (
                k
                for k in range(at)
                if any(p.name == exp.value for p in statements[k].pattern)
            ),
            None,
        )
        if producer is None or not isinstance(statements[producer].exp, If):
            return None
        bound = {p.name for p in statements[producer].pattern}
        between = statements[producer + 1 : at]
        if any(has_effects(s.exp) or free_names(s) & bound for s in between):
            return None
        others = (*statements[:at], *statements[at + 1 :])
        needed = frozenset(name for s in others for name in free_names(s)) | frozenset(
            a for a in body.result if isinstance(a, Name)
        )
        definitions = dict.fromkeys(bound, statements[producer])
        context = StatementContext(
            self.names,
            self.scope,
            definitions,
            needed=needed,
            derivation=Derivation(self.trace),
        )
        outcome = update_in_branches(statements[at], context)
        if not isinstance(outcome, tuple):
            return None
        self.scope.update(scope_of(*outcome))
        return producer, outcome
