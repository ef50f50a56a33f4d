r"""Accumulators that are not updated, and what need not be done with them.

with_acc((acc(xs), ..), \a .. -> {a, ..})     →  xs for the first result
update_acc(a, (i), (neutral element))         →  a
with_acc(.., \a -> let y = f x  ..)           →  let y = f x  with_acc(.., \a -> ..)
"""

from __future__ import annotations

from typing import Any

from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.ir.core import Atom, Constant, Copy, Lambda, Stm
from minifut.ir.node import replace
from minifut.ir.scope import type_of_atom
from minifut.ir.traverse import free_names, map_children
from minifut.ir.types import AccType
from minifut.rewrite.context import StatementContext, with_expression, with_values
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(WithAcc)
def drop_untouched_accumulators(statement: Stm, context: StatementContext) -> Outcome:
    r"""Arrays whose accumulators are returned unchanged.

    before:
        given (n: i64, xs: [n]i32, ys: [n]i32)
        let (as: [n]i32, bs: [n]i32) = with_acc((acc([n], (xs)), acc([n], (ys))),
          \(a: acc a [n] (i32), b: acc b [n] (i32)) ->
            (acc a [n] (i32), acc b [n] (i32)) {
            let c: acc b [n] (i32) = update_acc(b, (0i64), (1i32))
            return a, c
          })
    after:
        let bs: [n]i32 = with_acc((acc([n], (ys))),
          \(b: acc b [n] (i32)) -> (acc b [n] (i32)) {update_acc(b, (0i64), (1i32))})
        let as: [n]i32 = xs
    declines: all accumulators are updated
        given (n: i64, xs: [n]i32)
        let as: [n]i32 = with_acc((acc([n], (xs))),
          \(a: acc a [n] (i32)) -> (acc a [n] (i32)) {update_acc(a, (0i64), (1i32))})
    """
    exp, pattern = statement.exp, statement.pattern
    assert isinstance(exp, WithAcc)
    function = exp.function
    body, count = function.body, len(exp.inputs)
    roots = [parameter.name for parameter in function.parameters]
    touched = [n for n in range(count) if body.result[n] != roots[n]]
    if len(touched) == count:
        return Declined("all accumulators are updated")
    arrays = [array for item in exp.inputs for array in item.arrays]
    if not touched:
        given = (*arrays, *body.result[count:])
        return with_values(statement, body.statements, given)
    kept = (*touched, *range(count, len(body.result)))
    fewer = Lambda(
        tuple(function.parameters[n] for n in touched),
        replace(body, result=tuple(body.result[n] for n in kept)),
        tuple(function.results[n] for n in kept),
    )
    owners = [n for n, item in enumerate(exp.inputs) for _ in item.arrays]
    owners += range(count, len(body.result))
    pairs = list(zip(pattern, owners, strict=True))
    bound = tuple(parameter for parameter, owner in pairs if owner in kept)
    atoms: list[Atom] = [parameter.name for parameter in pattern]
    for position, array in enumerate(arrays):
        if owners[position] not in touched:
            atoms[position] = array
    made = WithAcc(tuple(exp.inputs[n] for n in touched), fewer)
    rest = replace(statement, pattern=bound, exp=made)
    return with_values(statement, (rest,), tuple(atoms))


@rule(WithAcc)
def drop_neutral_updates(statement: Stm, context: StatementContext) -> Outcome:
    r"""Updates with neutral elements.

    before:
        given (n: i64, xs: [n]i32)
        let as: [n]i32 = with_acc((acc([n], (xs), (0i32), add_i32)),
          \(a: acc a [n] (i32)) -> (acc a [n] (i32)) {
          let b: acc a [n] (i32) = update_acc(a, (0i64), (0i32))
          return update_acc(b, (1i64), (2i32))
        })
    after:
        let as: [n]i32 = with_acc((acc([n], (xs), (0i32), add_i32)),
          \(a: acc a [n] (i32)) -> (acc a [n] (i32)) {
          let b: acc a [n] (i32) = a
          return update_acc(b, (1i64), (2i32))
        })
    declines: no update leaves things as they are
        like declines of drop_untouched_accumulators, with
        (1i32) => (0i32)
    """
    exp = statement.exp_of(WithAcc)
    neutral = {
        parameter.name: item.neutral
        for parameter, item in zip(exp.function.parameters, exp.inputs, strict=True)
        if item.neutral and all(isinstance(atom, Constant) for atom in item.neutral)
    }

    def change(node: Any) -> Any:
        if isinstance(node, UpdateAcc):
            type_ = type_of_atom(node.accumulator, context.scope)
            if isinstance(type_, AccType) and neutral.get(type_.root) == node.values:
                return Copy(node.accumulator)
        return map_children(node, change)

    function = change(exp.function) if neutral else exp.function
    if function is exp.function:
        return Declined("no update leaves things as they are")
    return with_expression(statement, replace(exp, function=function))


@rule(WithAcc)
def move_out_of_with_acc(statement: Stm, context: StatementContext) -> Outcome:
    r"""What comes before the first use of an accumulator.

    before:
        given (n: i64, x: i32, xs: [n]i32)
        let as: [n]i32 = with_acc((acc([n], (xs))),
          \(a: acc a [n] (i32)) -> (acc a [n] (i32)) {
            let y: i32 = add_i32(x, 1i32)
            return update_acc(a, (0i64), (y))
          })
    after:
        let y: i32 = add_i32(x, 1i32)
        let as: [n]i32 = with_acc((acc([n], (xs))),
          \(a: acc a [n] (i32)) -> (acc a [n] (i32)) {update_acc(a, (0i64), (y))})
    declines: what comes first needs an accumulator
        like after, with
        let y: i32 = add_i32(x, 1i32) => given (n: i64, xs: [n]i32)
        (y) => (1i32)
    """
    exp = statement.exp_of(WithAcc)
    body = exp.function.body
    roots = {parameter.name for parameter in exp.function.parameters}
    first = 0
    for inner in body.statements:
        if not roots.isdisjoint(free_names(inner)):
            break
        first += 1
    if not first:
        return Declined("what comes first needs an accumulator")
    rest = replace(body, statements=body.statements[first:])
    function = replace(exp.function, body=rest)
    after = replace(statement, exp=replace(exp, function=function))
    return (*body.statements[:first], after)
