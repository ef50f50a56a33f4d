"""Rules that let updates be in place: what they overwrite is read before.

    let b = scratch [n][m]                           let r = manifest a[k]
    let c = loop (d = b) for i < n do         →      let c = loop (d = a) for i < n do
      .. a[i, j] - a[k, j] ..                          .. d[i, j] - r[j] ..

A loop that was a map writes over an array that nothing needs after it, if no iteration
reads what another one writes; rows that all iterations read are copied first. So a loop
around it has its array in one place, and copies nothing back.

    let r = a[k]                                let v = a[k]
    let b = a with [k] = x               →      let r = manifest v
    .. r ..                                     let b = a with [k] = x, in place

Where views that are needed after an update are all that keeps it from being in place,
they are copied, not the array.
"""

from __future__ import annotations

from dataclasses import replace as with_fields
from itertools import takewhile
from typing import Any

from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, DimSlice, Index, Loop, Manifest, Stm, Update
from minifut.ir.node import replace
from minifut.ir.traverse import bound_names, free_names, map_children
from minifut.ir.types import shape_of
from minifut.names import Name
from minifut.passes.short_circuit.rules import PlaceContext, update_within_loop
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(Index)
def copy_view(statement: Stm, context: PlaceContext) -> Outcome:
    """Copy a view that an update in place would change too early.

    before:
        given (n: i64, k: i64, a: [n][n]f32)
        let r: [n]f32 = a[k]
    after:
        let v: [n]f32 = a[k]
        let r: [n]f32 = manifest((0), v)
    declines: it is as large as the array
        given (n: i64, a: [n]f32)
        let last: i64 = size(n - 1)
        let r: [n]f32 = a[last :+ n by -1i64]
    """
    exp = statement.exp
    (bound, *_) = statement.pattern
    if not isinstance(exp, Index) or bound.name not in context.blocking:
        return None
    if shape_of(bound.type) == shape_of(context.scope[exp.array]):
        return Declined("it is as large as the array")
    build = Builder(context.names, context.scope, statement.location)
    view = build.let(exp, bound.name.base)
    order = tuple(range(len(shape_of(bound.type))))
    return (*build.statements, replace(statement, exp=Manifest(view, order)))


@rule(Loop, paper="Memory optimizations in an array language (SC'22)")
def write_over_last_use(statement: Stm, context: PlaceContext) -> Outcome:
    """A loop that fills an array writes over one that it reads for the last time.

    before:
        given (a: [4][2]f32)
        let b: [4][2]f32 = scratch(f32, [4][2])
        let c: [4][2]f32 = loop (d: [4][2]f32 = b) for i: i64 < 4i64 do {
          let e: [2]f32 = scratch(f32, [2])
          let f: [2]f32 = loop (g: [2]f32 = e) for j: i64 < 2i64 do {
            let x: f32 = a[i, j]
            let y: f32 = a[0i64, j]
            let z: f32 = sub_f32(x, y)
            return g with [j] = z
          }
          return d with [i] = f
        }
        return c
    after:
        like before, with
        let b: [4][2]f32 = scratch(f32, [4][2])
        => let r: [2]f32 = a[0i64]
        => let s: [2]f32 = manifest((0), r)
        (d: [4][2]f32 = b) => (d: [4][2]f32 = a)
        a[i, j] => d[i, j]
        a[0i64, j] => s[j]
    declines: an iteration reads what another one would have written
        like before, with
        a[0i64, j] => a[j, j]
    """
    loop = statement.exp_of(Loop)
    read = free_names(loop.body) & context.overwritable
    outcome: Outcome = None
    for position, parameter in enumerate(loop.parameters):
        for array in sorted(read, key=lambda name: name.tag):
            if context.scope[array] == parameter.type:
                outcome = _written_over(statement, position, array, context)
                if isinstance(outcome, tuple):
                    return outcome
    return outcome


def _written_over(
    statement: Stm, position: int, array: Name, context: PlaceContext
) -> Outcome:
    """The loop as it would be if its result of that position were to update the whole
    array, behind copies of the rows that all iterations read."""
    build = Builder(context.names, context.scope, statement.location)
    loop = _with_rows(build, statement.exp_of(Loop), array, context)
    bound = statement.pattern[position]
    filled = replace(bound, name=context.names.like(bound.name))
    pattern = tuple(filled if p is bound else p for p in statement.pattern)
    made = replace(statement, pattern=pattern, exp=loop)
    whole = DimSlice(i64(0), shape_of(bound.type)[0], i64(1))
    update = Stm((bound,), Update(array, (whole,), filled.name))
    definitions = {**context.definitions, filled.name: made}
    outcome: Outcome = update_within_loop.function(
        update, with_fields(context, definitions=definitions)
    )
    return (*build.statements, *outcome) if isinstance(outcome, tuple) else outcome


def _with_rows(build: Builder, loop: Loop, array: Name, context: PlaceContext) -> Loop:
    """The loop with copies of rows in place of those of the array whose indices do not
    change in it."""
    changing = set(bound_names(loop))
    shape = shape_of(context.scope[array])
    rows: dict[tuple[Atom, ...], Name] = {}

    def stays(entry: object) -> bool:
        return not isinstance(entry, DimSlice) and entry not in changing

    def read(node: Any) -> Any:
        if not isinstance(node, Index) or node.array != array:
            return map_children(node, read)
        place: tuple[Any, ...] = tuple(takewhile(stays, node.slice))
        if not 0 < len(place) < len(node.slice):
            return node
        if place not in rows:
            if context.facts.inside(place, shape) is None:
                return node
            row = build.let(Index(array, place), array.base)
            order = tuple(range(len(shape) - len(place)))
            rows[place] = build.let(Manifest(row, order), array.base)
        return Index(rows[place], node.slice[len(place) :])

    return replace(loop, body=map_children(loop.body, read))
