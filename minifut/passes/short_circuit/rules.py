"""The rule of the pass; see `driver`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeVar

from minifut.analysis.facts import Facts
from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Stm
from minifut.ir.node import immutable, replace
from minifut.ir.scalars import operator
from minifut.ir.scope import Scope, add_parameters
from minifut.ir.traverse import free_names, substitute
from minifut.ir.types import I64, ArrayType
from minifut.names import Name, NameSource
from minifut.passes.short_circuit.regions import avoids, reads_are_apart
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.trace import Derivation

T = TypeVar("T")

NEEDED = Declined("the result, or the array as it was, is needed elsewhere")
OTHER_FORM = Declined("the loop does not write one row after the other")
VIEW = Declined("a row of it is a view of another array")
READS = Declined("an iteration reads what another one would have written")


@immutable
class PlaceContext:
    """The place of an update: fresh names, types, facts, the statements of the same
    body that bind names, and the names that other statements than the producer of the
    value use. `blocking` are views that keep updates from being in place,
    `overwritable` arrays whose memory nothing needs after the statement."""

    names: NameSource
    scope: Scope
    facts: Facts
    definitions: Mapping[Name, Stm]
    needed: frozenset[Name] = frozenset()
    blocking: frozenset[Name] = frozenset()
    overwritable: frozenset[Name] = frozenset()
    derivation: Derivation | None = None
    emitted: tuple[Stm, ...] = field(default=())


@rule(core.Update, paper="Memory optimizations in an array language (SC'22)")
def update_within_loop(statement: Stm, context: PlaceContext) -> Outcome:
    """A loop that fills an array for an update writes into the updated array itself.

    before:
        given (m: i64, a: [m + 2]f32, x: f32)
        let e: [m]f32 = scratch(f32, [m])
        let b: [m]f32 = loop (c: [m]f32 = e) for i: i64 < m do {
          let at: i64 = size(i + 2)
          let y: f32 = a[at]
          let z: f32 = mul_f32(x, y)
          return c with [i] = z
        }
        let r: [m + 2]f32 = a with [2i64 :+ m by 1i64] = b
        return r
    after:
        let r: [m + 2]f32 = loop (c: [m + 2]f32 = a) for i: i64 < m do {
          let at: i64 = size(i + 2)
          let y: f32 = c[at]
          let z: f32 = mul_f32(x, y)
          let place: i64 = add_i64(2i64, i)
          return c with [place] = z
        }
        return r
    declines: an iteration reads what another one would have written
        like before, with
        i + 2 => i + 1
    """
    exp = statement.exp_of(core.Update)
    value, array = exp.value, exp.array
    producer = context.definitions.get(value) if isinstance(value, Name) else None
    if producer is None or not isinstance(producer.exp, core.Loop):
        return None
    if not isinstance(producer.exp.form, core.ForLoop):
        return None
    if any(isinstance(e, core.DimSlice) and e.stride != i64(1) for e in exp.slice):
        return Declined("the slice has a stride")
    if not context.needed.isdisjoint((value, array)):
        return NEEDED
    loop = _reading(producer.exp, array, context)
    if loop is None:
        return READS
    names = [bound.name for bound in producer.pattern]
    position = [bound.name == value for bound in producer.pattern].index(True)
    row = _row_of(loop, position, context)
    if isinstance(row, Declined):
        return row
    carried = names.index(array) if array in names else None
    inside = array if carried is None else loop.parameters[carried].name
    rest = tuple(s for s in loop.body.statements if s is not row)
    seen = replace(loop, body=replace(loop.body, statements=rest))
    if inside in free_names(seen.body) and not reads_are_apart(
        context.facts, context.names, seen, inside, exp.slice
    ):
        return READS
    producer = replace(producer, exp=loop)
    if carried is None:
        return (_carrying(context, producer, statement, position, row, rest),)
    if any(loop.body.result[carried] in free_names(s) for s in rest):
        return NEEDED
    return (_carried_on(context, producer, statement, (position, carried), row, rest),)


def _reading(loop: core.Loop, array: Name, context: PlaceContext) -> core.Loop | None:
    """The loop with reads of the array itself in place of those of what it was updated
    from; None if it reads what these updates wrote."""
    read = free_names(loop.body)
    newest, slices = array, []
    older: dict[Name, Name] = {}
    while (made := context.definitions.get(array)) and isinstance(
        made.exp, core.Update
    ):
        slices.append(made.exp.slice)
        array = made.exp.array
        if array in read:
            if not all(avoids(context.facts, loop, array, s) for s in slices):
                return None
            older[array] = newest
    return replace(loop, body=substitute(loop.body, older)) if older else loop


def _carrying(
    context: PlaceContext,
    producer: Stm,
    update: Stm,
    position: int,
    row: Stm,
    rest: tuple[Stm, ...],
) -> Stm:
    """The loop with the updated array in place of the one that was to be its slice."""
    loop, exp = producer.exp, update.exp
    assert isinstance(loop, core.Loop) and isinstance(exp, core.Update)
    own = replace(loop.parameters[position], type=context.scope[exp.array])
    add_parameters(context.scope, (own,))
    build = Builder(context.names, context.scope, producer.location)
    build.extend(substitute(rest, {exp.array: own.name}))
    last = _written(build, exp, row, own.name, loop)
    made = core.Loop(
        _with(loop.parameters, position, own),
        _with(loop.initial, position, exp.array),
        loop.form,
        build.finish(*_with(loop.body.result, position, last)),
    )
    pattern = _with(producer.pattern, position, update.pattern[0])
    return replace(producer, pattern=pattern, exp=made)


def _carried_on(
    context: PlaceContext,
    producer: Stm,
    update: Stm,
    positions: tuple[int, int],
    row: Stm,
    rest: tuple[Stm, ...],
) -> Stm:
    """The loop that carries the updated array already, without the other one."""
    loop, exp = producer.exp, update.exp
    assert isinstance(loop, core.Loop) and isinstance(exp, core.Update)
    position, carried = positions
    build = Builder(context.names, context.scope, producer.location)
    build.extend(rest)
    before = loop.body.result[carried]
    assert isinstance(before, Name)
    last = _written(build, exp, row, before, loop)
    made = core.Loop(
        _without(loop.parameters, position),
        _without(loop.initial, position),
        loop.form,
        build.finish(*_without(_with(loop.body.result, carried, last), position)),
    )
    pattern = _with(producer.pattern, carried, update.pattern[0])
    return replace(producer, pattern=_without(pattern, position), exp=made)


def _written(
    build: Builder, exp: core.Update, row: Stm, array: Name, loop: core.Loop
) -> Name:
    """The array with the row that an iteration gives, at its place in the slice."""
    assert isinstance(loop.form, core.ForLoop) and isinstance(row.exp, core.Update)
    index: Atom = loop.form.index
    place: list[Atom | core.DimSlice] = list(exp.slice)
    for position, entry in enumerate(place):
        if isinstance(entry, core.DimSlice):
            if entry.start != i64(0):
                add = core.ScalarOp(operator("add", I64), (entry.start, index))
                index = build.let(add, "place")
            place[position] = index
            break
    else:
        place.append(index)
    return build.let(core.Update(array, tuple(place), row.exp.value), array.base)


def _with(items: tuple[T, ...], position: int, item: T) -> tuple[T, ...]:
    return (*items[:position], item, *items[position + 1 :])


def _without(items: tuple[T, ...], position: int) -> tuple[T, ...]:
    return (*items[:position], *items[position + 1 :])


def _row_of(loop: core.Loop, position: int, context: PlaceContext) -> Stm | Declined:
    """The statement that writes a row of the loop's array of that position, which
    starts as a scratch array that nothing else uses."""
    assert isinstance(loop.form, core.ForLoop)
    own, start = loop.parameters[position].name, loop.initial[position]
    made = context.definitions.get(start) if isinstance(start, Name) else None
    if (
        made is None
        or not isinstance(made.exp, core.Scratch)
        or start in context.needed
    ):
        return OTHER_FORM
    result, statements = loop.body.result[position], loop.body.statements
    rows = [s for s in statements if any(p.name == result for p in s.pattern)]
    others = [name for s in statements if s not in rows for name in free_names(s)]
    if not rows or own in others or result in others or own in loop.body.result:
        return OTHER_FORM
    (row,) = rows
    match row.exp:
        case core.Update(array, (index,), value) if (
            array == own and index == loop.form.index
        ):
            fresh = [s for s in statements if isinstance(s.exp, core.Loop)]
            made_here = {p.name for s in fresh for p in s.pattern}
            is_array = isinstance(value, Name) and isinstance(
                context.scope[value], ArrayType
            )
            return VIEW if is_array and value not in made_here else row
    return OTHER_FORM
