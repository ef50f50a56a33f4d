r"""Pass: branches that update a short array choose the elements, in functions of SOACs.

    if xs[0] > xs[1] then xs with [0] = xs[1] with [1] = xs[0] else xs
  →
    let (a, b) = if xs[0] > xs[1] then (xs[1], xs[0]) else (xs[0], xs[1])
    xs with [0] = a with [1] = b

A branch that gives an array copies it on both sides, or updates it in memory for some
lanes only. Updates at known places that all points make leave the elements in
registers, and what is chosen are scalars: a sort of a few numbers is minima and maxima.

Conditions: at most `SMALL` elements; both sides give the same array, one of them with
updates at known places, or both with updates at the same. Places that data give are
left: lanes gained nothing, and scalar code, where a branch is predicted, took longer.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from minifut.ir.builder import Builder
from minifut.ir.core import (
    Atom,
    Body,
    Constant,
    DimSlice,
    If,
    Param,
    Program,
    Stm,
    Update,
)
from minifut.ir.node import immutable, replace, same_or
from minifut.ir.scope import scope_of
from minifut.ir.search import contains
from minifut.ir.sizes import product
from minifut.ir.soacs import SOAC_EXPRESSIONS
from minifut.ir.traverse import free_names, map_children
from minifut.ir.types import element_of, shape_of
from minifut.names import Name, NameSource
from minifut.passes.short_loops import SMALL
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.strategy import bottom_up, rewrite
from minifut.rewrite.trace import Trace

NO_UPDATE = Declined("no side updates the short array that the other gives as well")


def choose_updates(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Choose elements of short arrays in place of the arrays."""
    if not contains(program, Update):
        return program
    scope = cache(lambda: scope_of(program))

    def inside(node: Any) -> Any:
        if isinstance(node, Stm) and not (
            contains(node, Update) and contains(node, If)
        ):
            return node
        if isinstance(node, SOAC_EXPRESSIONS):
            chosen = bottom_up(choose_then_update)
            return rewrite(node, chosen, names, trace, scope())
        return map_children(node, inside)

    functions = same_or([inside(f) for f in program.functions], program.functions)
    return replace(program, functions=functions)


@rule(If)
def choose_then_update(statement: Stm, context: StatementContext) -> Outcome:
    """Choose the elements, then update.

    before:
        given (c: bool, xs: [3]i32, x: i32)
        let (ys: [3]i32, y: i32) = if c then {
          let z: i32 = mul_i32(x, x)
          let as: [3]i32 = xs with [0i64] = z
          let bs: [3]i32 = as with [2i64] = x
          return bs, z
        } else {xs, x}
    after:
        let a: i32 = xs[0i64]
        let b: i32 = xs[2i64]
        let (y: i32, d: i32, e: i32) = if c then {
          let z: i32 = mul_i32(x, x)
          return z, z, x
        } else {x, a, b}
        let as: [3]i32 = xs with [0i64] = d
        let ys: [3]i32 = as with [2i64] = e
    declines: no side updates the short array that the other gives as well
        given (c: bool, xs: [3]i32, ys: [3]i32, x: i32)
        let zs: [3]i32 = if c then {
          let as: [3]i32 = xs with [0i64] = x
          return as
        } else {ys}
    declines: no side updates the short array that the other gives as well
        like before, with
        c: bool => c: bool, k: i64
        [2i64] = x => [k] = x
    declines: it has many elements
        given (c: bool, xs: [300]i32, x: i32)
        let zs: [300]i32 = if c then {
          let as: [300]i32 = xs with [0i64] = x
          return as
        } else {xs}
    """
    exp = statement.exp_of(If)
    numbers = [n for n, p in enumerate(statement.pattern) if shape_of(p.type)]
    if not numbers:
        return None
    short = [n for n in numbers if _is_short(statement.pattern[n])]
    if not short:
        return Declined("it has many elements")
    for number in short:
        rank = len(shape_of(statement.pattern[number].type))
        sides = [_side(body, number, rank) for body in exp.branches]
        chosen = _chosen(statement, context, number, sides)
        if chosen is not None:
            return chosen
    return NO_UPDATE


@immutable
class Side:
    """What a side does but for its updates, the array before them, the places and the
    value of each, and the results that are something else."""

    rest: tuple[Stm, ...]
    array: Name
    updates: tuple[tuple[Atom, ...], ...]
    others: tuple[Atom, ...]

    def binds(self, atom: Atom) -> bool:
        """Whether an atom is known on this side alone."""
        return any(atom == p.name for s in self.rest for p in s.pattern)


def _is_short(bound: Param) -> bool:
    size = product(shape_of(bound.type)).as_constant
    return size is not None and 0 < size <= SMALL


def _side(body: Body, number: int, rank: int) -> Side | None:
    """A side by its updates of one of its results; None if it uses what is between."""
    made = {s.pattern[0].name: s.exp for s in body.statements if type(s.exp) is Update}
    array, between = body.result[number], set[Name]()
    assert isinstance(array, Name)
    updates: list[tuple[Atom, ...]] = []
    while array in made:
        update = made[array]
        places = [p for p in update.slice if not isinstance(p, DimSlice)]
        if len(places) < rank:
            return None
        between.add(array)
        updates.insert(0, (*places, update.value))
        array = update.array
    rest = tuple(s for s in body.statements if between.isdisjoint(_bound(s)))
    others = (*body.result[:number], *body.result[number + 1 :])
    side = Side(rest, array, tuple(updates), others)
    if side.binds(array) or not between.isdisjoint(others):
        return None
    return side if all(between.isdisjoint(free_names(s)) for s in rest) else None


def _bound(statement: Stm) -> list[Name]:
    return [parameter.name for parameter in statement.pattern]


def _chosen(
    statement: Stm, context: StatementContext, number: int, sides: list[Side | None]
) -> tuple[Stm, ...] | None:
    """The branch as one between elements, and the updates; None if it is not one."""
    then, otherwise = sides
    if then is None or otherwise is None or then.array != otherwise.array:
        return None
    bound, array = statement.pattern[number], then.array
    build = context.builder(statement)
    if not then.updates:
        then = replace(then, updates=_unchanged(otherwise, bound, build))
    elif not otherwise.updates:
        otherwise = replace(otherwise, updates=_unchanged(then, bound, build))
    if not then.updates or len(then.updates) != len(otherwise.updates):
        return None
    pairs = list(zip(then.updates, otherwise.updates, strict=True))
    if any(one[:-1] != other[:-1] for one, other in pairs):
        return None
    values = build.parameters([element_of(bound.type)] * len(pairs))
    exp = If(
        statement.exp_of(If).condition,
        Body(then.rest, (*then.others, *(one[-1] for one, _ in pairs))),
        Body(otherwise.rest, (*otherwise.others, *(other[-1] for _, other in pairs))),
    )
    left = (*statement.pattern[:number], *statement.pattern[number + 1 :])
    build.bind((*left, *values), exp)
    places = [one[:-1] for one, _ in pairs]
    for at, value in zip(places[:-1], values, strict=False):
        array = build.let(Update(array, at, value.name), "updated")
    build.bind((bound,), Update(array, places[-1], values[-1].name))
    return tuple(build.statements)


def _unchanged(
    real: Side, bound: Param, build: Builder
) -> tuple[tuple[Atom, ...], ...]:
    """Updates of a side without any, which write what is there, where the other side
    updates known places."""
    shape = [size.as_constant or 0 for size in shape_of(bound.type)]
    return tuple(
        (*places, build.index(real.array, *places))
        for *places, _ in real.updates
        if all(
            isinstance(place, Constant) and 0 <= place.value < size
            for place, size in zip(places, shape, strict=True)
        )
    )
