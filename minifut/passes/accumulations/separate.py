r"""One `WithAcc` for each update, and maps for other results (`separate_updates`).

    with_acc(A B, \a b -> map(n, (a, b, xs), \.. x -> update a, update b, and give y))
    →  with_acc(A, .. update a)   with_acc(B, .. update b)   map(n, (xs), \x -> y)

Each piece is the whole with all other updates left out, without what it does not need
then. Conditions: the updates have operators (of values that overwrite each other the
order counts), and no piece does again what is more than scalar code, or has effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minifut.ir.accumulators import UpdateAcc, WithAcc, updates_accumulators
from minifut.ir.core import Apply, Assert, Atom, Body, Copy, Lambda, Loop, Stm, Trace
from minifut.ir.node import replace
from minifut.ir.search import nodes_of
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma
from minifut.ir.traverse import map_children, rename, walk
from minifut.ir.types import AccType
from minifut.names import Name
from minifut.passes.simplify.driver import simplify_body
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

SWEEPS = 4
WORK = (*SOAC_EXPRESSIONS, Loop, Apply, WithAcc, Assert, Trace)


@rule(WithAcc)
def separate_updates(statement: Stm, context: StatementContext) -> Outcome:
    r"""Give each update a `WithAcc` of its own.

    before:
        given (n: i64, k: i64, hs: [k]i32, is: [n]i64)
        let ys: [k]i32 = with_acc((acc([k], (hs), (0i32), add_i32)),
          \(a: acc a [k] (i32)) -> (acc a [k] (i32)) {
          return map(n, (a, is), \(b: acc a [k] (i32), i: i64) -> (acc a [k] (i32)) {
              let c: acc a [k] (i32) = update_acc(b, (i), (1i32))
              return update_acc(c, (0i64), (2i32))
            })
        })
    after:
        let xs: [k]i32 = with_acc((acc([k], (hs), (0i32), add_i32)),
          \(a: acc a [k] (i32)) -> (acc a [k] (i32)) {
          return map(n, (a, is), \(b: acc a [k] (i32), i: i64) -> (acc a [k] (i32)) {
              return update_acc(b, (i), (1i32))
            })
        })
        let rs: [k]i32 = with_acc((acc([k], (xs), (0i32), add_i32)),
          \(a_1: acc a_1 [k] (i32)) -> (acc a_1 [k] (i32)) {
          return map(n, (a_1), \(b_1: acc a_1 [k] (i32)) -> (acc a_1 [k] (i32)) {
              return update_acc(b_1, (0i64), (2i32))
            })
        })
        let ys: [k]i32 = rs
    declines: its updates overwrite each other
        like before, with
        let ys: [k]i32 = with_acc((acc([k], (hs), (0i32), add_i32)),
        => let ys: [k]i32 = with_acc((acc([k], (hs))),
    """
    exp = statement.exp_of(WithAcc)
    roots = {p.name: n for n, p in enumerate(exp.function.parameters)}
    updates = [
        update
        for update in nodes_of(UpdateAcc, exp.function)
        if _root(context, update) in roots
    ]
    others = len(exp.function.results) - len(exp.inputs)
    if len(updates) + bool(others) < 2 or not updates:
        return Declined("it does one update, or none")
    if any(exp.inputs[roots[_root(context, u)]].operator is None for u in updates):
        return Declined("its updates overwrite each other")
    build = context.builder(statement)
    current = [list(item.arrays) for item in exp.inputs]
    around = _around_updates(exp.function)
    work = 0
    for update in updates:
        number = roots[_root(context, update)]
        item = replace(exp.inputs[number], arrays=tuple(current[number]))
        function = _piece(context, exp, update, [number])
        work += _work(function, around)
        made = rename(WithAcc((item,), function), context.names)
        current[number] = list(build.let_many(made, [a.base for a in item.arrays]))
    rest = _piece(context, exp, None, range(len(roots), len(exp.function.results)))
    if work + _work(rest, around) > _work(exp.function, around):
        return Declined("the pieces would do again what is more than scalar code")
    results = build.inline(rest.body)
    arrays = [array for own in current for array in own]
    return (*build.statements, *_copies(statement, (*arrays, *results)))


def _root(context: StatementContext, update: UpdateAcc) -> Name:
    type_ = context.scope[update.accumulator]
    assert isinstance(type_, AccType)
    return type_.root


def _piece(
    context: StatementContext,
    exp: WithAcc,
    update: UpdateAcc | None,
    results: Sequence[int],
) -> Lambda:
    """The function with just that update, or none, and just those results."""
    function = exp.function
    kept = [p for n, p in enumerate(function.parameters) if n in results]
    roots = {p.name for p in function.parameters}

    def only(node: Any) -> Any:
        other = isinstance(node, UpdateAcc) and node is not update
        if other and _root(context, node) in roots:
            return Copy(node.accumulator)
        return map_children(node, only)

    body: Body = only(function.body)
    body = Body(body.statements, tuple(body.result[n] for n in results))
    for _ in range(SWEEPS):
        before, body = body, simplify_body(body, context.names, context.scope)
        if body is before:
            break
    types = tuple(function.results[n] for n in results)
    return Lambda(tuple(kept), body, types)


def _around_updates(function: Lambda) -> frozenset[Name]:
    """The parameters of the maps that update accumulators."""
    return frozenset(
        parameter.name
        for node in nodes_of(Screma, function)
        if updates_accumulators(node)
        for parameter in node.function.parameters
    )


def _work(function: Lambda, around: frozenset[Name]) -> int:
    """How much there is that should be done once: all but the maps around updates,
    which each piece has, with what is left of their scalar code."""
    return sum(
        isinstance(node, WORK)
        and not (
            isinstance(node, Screma)
            and node.is_map
            and around.issuperset(p.name for p in node.function.parameters)
        )
        for node in walk(function)
    )


def _copies(statement: Stm, atoms: tuple[Atom, ...]) -> tuple[Stm, ...]:
    return tuple(
        Stm((bound,), Copy(atom), (), statement.location)
        for bound, atom in zip(statement.pattern, atoms, strict=True)
    )
