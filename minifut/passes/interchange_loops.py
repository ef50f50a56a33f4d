r"""Pass: a loop whose steps map over the same points is a map whose points loop.

    loop zs for i < k do map f zs cs
  →
    map (\z c -> loop z for i < k do f z c) zs cs

Steps written with arrays, as in array languages without a compiler, load and store the
whole state in each step and are a launch each. A point depends on no other one, so that
its state may stay in registers, or those of all points of a vector. What makes the
state, and what reads it, are fused with the map afterwards.

Conditions: a loop of known rounds; its arrays are used by one map over their elements
alone; nests are of scalar code without checks; numbers that the loop carries as well do
not depend on arrays, and take few statements, as each point computes them again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from itertools import filterfalse

from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Body, DimSlice, Index, Lambda, Param, Program, Stm
from minifut.ir.node import replace
from minifut.ir.search import contains
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma
from minifut.ir.traverse import bound_names, free_names, rename, substitute
from minifut.ir.types import I64, ArrayType, ScalarType, row_type, shape_of
from minifut.names import Name, NameSource
from minifut.passes.fusion.driver import fuse
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Decline, Outcome, rule
from minifut.rewrite.strategy import rewrite, top_down, until_fixpoint
from minifut.rewrite.trace import Trace

MOST = 8
"""statements of a step that each point repeats"""
NO_MAP = "its steps are not one map over the elements of what it carries"


def interchange_loops(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Loop in each point of a map where a loop only maps over the same points."""
    if not contains(program, core.Loop):
        return program
    made = rewrite(program, until_fixpoint(top_down(move_loop_into_map)), names, trace)
    return program if made is program else fuse(made, names, trace)


@rule(core.Loop)
def move_loop_into_map(statement: Stm, context: StatementContext) -> Outcome:
    r"""Loop in each point of a map in place of mapping in each step of a loop.

    before:
        given (n: i64, k: i64, xs: [n]f32, cs: [n]f32)
        let ys: [n]f32 = loop (zs: [n]f32 = xs) for i: i64 < k do {
          return map(n, (zs, cs), \(z: f32, c: f32) -> (f32) {
            let s: f32 = mul_f32(z, z)
            return add_f32(s, c)
          })
        }
    after:
        let ys: [n]f32 = map(n, (xs, cs), \(x: f32, c: f32) -> (f32) {
          return loop (z: f32 = x) for i: i64 < k do {
            let s: f32 = mul_f32(z, z)
            return add_f32(s, c)
          }
        })
    before:
        given (n: i64, k: i64, xss: [n][k]f32, cs: [n]f32)
        let ys: [n]f32 = loop (zs: [n]f32 = cs) for i: i64 < k do {
          let column: [n]f32 = xss[0i64 :+ n by 1i64, i]
          return map(n, (zs, column), add_f32)
        }
    after:
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let ys: [n]f32 = map(n, (cs, is), \(c: f32, at: i64) -> (f32) {
          return loop (z: f32 = c) for i: i64 < k do {
            let x: f32 = xss[at, i]
            return add_f32(z, x)
          }
        })
    declines: its steps are not one map over the elements of what it carries
        like before, with
        xss: [n][k]f32 => xss: [k][n]f32
        xss[0i64 :+ n by 1i64, i] => xss[i]
    declines: a point uses more than its own element of an array
        given (n: i64, k: i64, xs: [n]f32)
        let ys: [n]f32 = loop (zs: [n]f32 = xs) for i: i64 < k do {
          return map(n, (zs), \(z: f32) -> (f32) {
            let x: f32 = zs[0i64]
            return mul_f32(z, x)
          })
        }
    """
    exp = statement.exp_of(core.Loop)
    build = context.builder(statement)
    build.bind(tuple(filter(_is_array, statement.pattern)), _mapped(exp, build))
    numbers = _of_numbers(exp)
    if numbers.parameters:
        build.bind(tuple(filterfalse(_is_array, statement.pattern)), numbers)
    return tuple(build.statements)


def _mapped(
    exp: core.Loop, build: Builder, point_names: Set[Name] = frozenset()
) -> Screma:
    """The map of loops that makes what the arrays of the loop end as. `point_names` are
    those of the points of outer maps."""
    steps = [s for s in exp.body.statements if isinstance(s.exp, SOAC_EXPRESSIONS)]
    if not isinstance(exp.form, core.ForLoop) or len(steps) != 1:
        raise Decline(NO_MAP)
    (step,) = steps
    if not (isinstance(step.exp, Screma) and step.exp.is_map):
        raise Decline(NO_MAP)
    others = [s for s in exp.body.statements if s is not step]
    screma, others = _reading_elements(step.exp, others, build, point_names)
    if not _is_short(others):
        raise Decline(NO_MAP)
    made = {p.name: at for at, p in enumerate(step.pattern)}
    used = free_names(Body(tuple(others), ()))
    if not _carries(exp, screma, made) or made.keys() & used:
        raise Decline(NO_MAP)
    arrays = {p.name: p for p in exp.parameters if _is_array(p)}
    inside = {exp.form.index, *(n for s in others for n in bound_names(s))}
    used |= free_names(screma.function)
    if arrays.keys() & used or inside & {*screma.arrays, *screma.width.names()}:
        raise Decline("a point uses more than its own element of an array")
    names = build.names
    own = {
        name: Param(names.like(name), row_type(p.type)) for name, p in arrays.items()
    }
    starts = {name: Param(names.like(name), p.type) for name, p in own.items()}
    read, loop = _of_elements(exp, screma, others, made, own, starts)
    point = build.nested()
    if any(map(_is_array, loop.parameters)):
        within = {*point_names, *(p.name for p in (*starts.values(), *read.values()))}
        inner = _mapped(loop, point, within)
        ends = point.let_many(inner, [name.base for name in own])
    elif contains(loop, (core.Assert, *SOAC_EXPRESSIONS)):
        raise Decline("what a point does is no scalar code, or has checks")
    else:
        found = point.let_many(loop, [p.name.base for p in loop.parameters])
        ends = tuple(
            end for end, p in zip(found, exp.parameters, strict=True) if p.name in own
        )
    parameters = (*starts.values(), *read.values())
    types = tuple(p.type for p in own.values())
    function = rename(Lambda(parameters, point.finish(*ends), types), names)
    initial = zip(exp.parameters, exp.initial, strict=True)
    inputs = (*(start for p, start in initial if p.name in own), *read)
    return replace(screma, arrays=inputs, function=function)


def _reading_elements(
    screma: Screma, others: Sequence[Stm], build: Builder, point_names: Set[Name]
) -> tuple[Screma, list[Stm]]:
    """The map, and what a step does besides, where points read the elements of rows
    that were read for the map alone.

    Of rows that only the round chooses each is read once, which steps do best."""
    varying = set(point_names)
    for statement in others:
        if free_names(statement) & varying:
            varying.update(p.name for p in statement.pattern)
    used = free_names(screma.function).union(*(free_names(s.exp) for s in others))
    rows: dict[Name, Index] = {}
    for statement in others:
        exp, names = statement.exp, set(bound_names(statement))
        if isinstance(exp, Index) and names <= {*screma.arrays} - used:
            shared = any(isinstance(place, DimSlice) for place in exp.slice)
            if shared or varying & free_names(exp):
                rows[statement.pattern[0].name] = exp
    if not rows:
        return screma, list(others)
    (at,) = build.parameters((I64,), "at")
    inputs = {at: build.iota(screma.width)}
    reads: list[Stm] = []
    pairs = zip(screma.function.parameters, screma.arrays, strict=True)
    for parameter, array in pairs:
        if array in rows:
            point = build.nested()
            point.bind((parameter,), _element(point, rows[array], at.name))
            reads += point.statements
        else:
            inputs[parameter] = array
    body = screma.function.body
    body = replace(body, statements=(*reads, *body.statements))
    function = replace(screma.function, parameters=tuple(inputs), body=body)
    kept = [s for s in others if rows.keys().isdisjoint(bound_names(s))]
    return replace(screma, arrays=tuple(inputs.values()), function=function), kept


def _element(build: Builder, row: Index, at: Name) -> Index:
    """The element of a row at a position."""
    places: list[Atom | DimSlice] = list(row.slice)
    for dimension, place in enumerate(places):
        if isinstance(place, DimSlice):
            step = at if place.stride == i64(1) else build.mul(at, place.stride)
            start = place.start
            places[dimension] = step if start == i64(0) else build.add(start, step)
            break
    else:
        places.append(at)
    return Index(row.array, tuple(places))


def _of_elements(
    exp: core.Loop,
    screma: Screma,
    others: Sequence[Stm],
    made: Mapping[Name, int],
    own: Mapping[Name, Param],
    starts: Mapping[Name, Param],
) -> tuple[dict[Name, Param], core.Loop]:
    """The loop over the elements of a point that start like this, in place of the
    arrays, and the other arrays that it reads with their elements."""
    read: dict[Name, Param] = {}
    elements: dict[Name, Atom] = {}
    for array, p in zip(screma.arrays, screma.function.parameters, strict=True):
        element = own[array] if array in own else read.setdefault(array, p)
        elements[p.name] = element.name
    body = substitute(screma.function.body, elements)

    def value(result: Atom) -> Atom:
        if not isinstance(result, Name):
            return result
        if result in made:
            return body.result[made[result]]
        return own[result].name if result in own else result

    loop = core.Loop(
        tuple(own.get(p.name, p) for p in exp.parameters),
        tuple(
            starts[p.name].name if p.name in own else start
            for p, start in zip(exp.parameters, exp.initial, strict=True)
        ),
        exp.form,
        Body((*others, *body.statements), tuple(map(value, exp.body.result))),
    )
    return read, loop


def _is_array(parameter: Param) -> bool:
    return isinstance(parameter.type, ArrayType)


def _is_short(others: Sequence[Stm]) -> bool:
    """Whether a step does little besides, on numbers."""
    return len(others) <= MOST and all(
        isinstance(s.exp, core.ScalarOp | core.SizeExp | core.Index)
        and all(isinstance(p.type, ScalarType) for p in s.pattern)
        for s in others
    )


def _carries(exp: core.Loop, screma: Screma, made: Collection[Name]) -> bool:
    """Whether what a step maps to are the arrays that the loop carries, no number."""

    arrays = {p.name for p in exp.parameters if _is_array(p)}

    def fits(parameter: Param, result: Atom) -> bool:
        if parameter.name not in arrays:
            return isinstance(parameter.type, ScalarType) and result not in made
        is_mapped = result in made or result in arrays
        return is_mapped and shape_of(parameter.type)[0] == screma.width

    return bool(arrays) and all(map(fits, exp.parameters, exp.body.result))


def _of_numbers(exp: core.Loop) -> core.Loop:
    """The loop without its arrays."""
    kept = [at for at, p in enumerate(exp.parameters) if not _is_array(p)]
    return core.Loop(
        tuple(exp.parameters[at] for at in kept),
        tuple(exp.initial[at] for at in kept),
        exp.form,
        Body(
            tuple(s for s in exp.body.statements if not isinstance(s.exp, Screma)),
            tuple(exp.body.result[at] for at in kept),
        ),
    )
