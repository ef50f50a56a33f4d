r"""Updates in branches: one update, at an index that the branch chooses
(`update_after_branch`).

    if c then acc else update_acc(acc, (i), (f x))
    →  let (j, v) = if c then (-1, 0) else (i, f x)
       update_acc(acc, (j), (v))

An update at an index outside does nothing. The other rules then see a plain nest of
maps around an update.
"""

from __future__ import annotations

from typing import Any

from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.ir.builder import constant, i64
from minifut.ir.core import Atom, Body, If, Stm
from minifut.ir.node import replace
from minifut.ir.traverse import free_names, map_children, walk
from minifut.ir.types import AccType, ScalarType
from minifut.names import Name
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

OUTSIDE = i64(-1)


@rule(WithAcc)
def update_after_branch(statement: Stm, context: StatementContext) -> Outcome:
    r"""Choose the index and the value, then update.

    before:
        given (n: i64, c: bool, hs: [n]i32, x: i32)
        let ys: [n]i32 = with_acc((acc([n], (hs), (0i32), add_i32)),
          \(a: acc a [n] (i32)) -> (acc a [n] (i32)) {
          return if c then {a} else {
            let y: i32 = mul_i32(x, x)
            let b: acc a [n] (i32) = update_acc(a, (3i64), (y))
            return b
          }
        })
    after:
        let ys: [n]i32 = with_acc((acc([n], (hs), (0i32), add_i32)),
          \(a: acc a [n] (i32)) -> (acc a [n] (i32)) {
          let (index: i64, value: i32) = if c then {-1i64, 0i32} else {
            let y: i32 = mul_i32(x, x)
            return 3i64, y
          }
          return update_acc(a, (index), (value))
        })
    declines: no branch is an update, or none, of one accumulator
        like before, with
        [n]i32, x: i32 => [n]i32
        y: i32 = mul_i32(x, x) => b: acc a [n] (i32) = update_acc(a, (3i64), (1i32))
        b: acc a [n] (i32) = update_acc(a, (3i64), (y))
        => e: acc a [n] (i32) = update_acc(b, (4i64), (1i32))
        return b => return e
    """
    exp = statement.exp_of(WithAcc)

    def after(node: Any) -> Any:
        if isinstance(node, Body):
            found = [_after_branch(s, context) or (s,) for s in node.statements]
            node = replace(node, statements=tuple(s for own in found for s in own))
        return map_children(node, after)

    if not any(
        isinstance(node, Stm) and _after_branch(node, context)
        for node in walk(exp.function)
    ):
        return Declined("no branch is an update, or none, of one accumulator")
    return (replace(statement, exp=replace(exp, function=after(exp.function))),)


def _after_branch(statement: Stm, context: StatementContext) -> tuple[Stm, ...] | None:
    """An update after a branch, instead of updates in its branches."""
    exp, types = statement.exp, [p.type for p in statement.pattern]
    if not isinstance(exp, If) or len(types) != 1 or not isinstance(types[0], AccType):
        return None
    rank, elements = len(types[0].shape), types[0].elements
    scalars = [e for e in elements if isinstance(e, ScalarType)]
    nothing = (*[OUTSIDE] * rank, *[constant(0, e) for e in scalars])
    found = [_chosen(body, nothing) for body in (exp.then, exp.otherwise)]
    chosen = [each for each in found if each is not None]
    if len(chosen) != 2 or len(scalars) != len(elements):
        return None
    (accumulator, then), (other, otherwise) = chosen
    if accumulator != other or then.result == otherwise.result == nothing:
        return None
    build = context.builder(statement)
    bases = (*["index"] * rank, *["value"] * len(elements))
    values = build.let_many(If(exp.condition, then, otherwise), bases)
    update = UpdateAcc(accumulator, values[:rank], values[rank:])
    build.bind(statement.pattern, update)
    return tuple(build.statements)


def _chosen(body: Body, nothing: tuple[Atom, ...]) -> tuple[Name, Body] | None:
    """The accumulator of a branch, and its index and values; None if it does more."""
    (result,) = body.result
    assert isinstance(result, Name)
    if not body.statements:
        return result, Body((), nothing)
    *before, last = body.statements
    update = last.exp
    if not isinstance(update, UpdateAcc) or result != last.pattern[0].name:
        return None
    if any(update.accumulator in free_names(s) for s in before):
        return None
    if any(isinstance(p.type, AccType) for s in before for p in s.pattern):
        return None
    return update.accumulator, Body(tuple(before), (*update.indices, *update.values))
