r"""Distribute a nest over what is in it, up to a loop and after it.

    segmap thread (x < t) { a = e  s = loop ...  returns s + a }
  →
    ss = segmap thread (x < t) { a = e  s = loop ...  returns s }      array expansion
    segmap thread (x < t) { s = ss[x]  a = e  returns s + a }

First what is the same for all points moves out of the nest. Then it is interchanged
with the loop that is all it does, which carries arrays:

    segmap thread (x < t) { loop (s = e) for b < n { f(s, x, b) } }
  →
    ss = segmap thread (x < t) { e }                              array expansion
    loop (ss) for b < n { segmap thread (x < t) { s = ss[x]  f(s, x, b) } }

The points of a nest do not depend on each other, so their loops may run in step.
"""

from __future__ import annotations

from minifut.ir.builder import Builder
from minifut.ir.core import Body, Index, Loop, Param, ScalarOp, SizeExp, Stm
from minifut.ir.kernels import REGISTER, THREAD, KernelBody, Level, Returns, SegMap
from minifut.ir.node import replace
from minifut.ir.traverse import free_names
from minifut.ir.types import array_of
from minifut.names import Name
from minifut.passes.simplify.dead_code import has_effects
from minifut.passes.tiling.marks import BLOCKS, PAPER, REDUCTION
from minifut.passes.tiling.recompute import (
    dependences_of,
    expanded,
    fresh_nest,
    nest_over,
    reads,
)
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

TOTAL = (SizeExp, ScalarOp)


@rule(SegMap, paper=PAPER)
def hoist_from_nest(statement: Stm, context: StatementContext) -> Outcome:
    r"""Hoist what is invariant in a nest in front of it.

    before:
        given (m: i64, b: i64)
        let ys: [4]i64 = segmap thread (x < 4) -> (i64) {
          let deep: i64 = size(min(8, m - b * 8))
          return returns add_i64(deep, x)
        }
    after:
        let deep: i64 = size(min(8, m - b * 8))
        let ys: [4]i64 = segmap thread (x < 4) -> (i64) {returns add_i64(deep, x)}
    declines: a read stays, since a check may stand before it
        like before, with
        b: i64) => xs: [m]i64)
        size(min(8, m - b * 8)) => xs[0i64]
    """
    nest = statement.exp_of(SegMap)
    if nest.level not in (THREAD, REGISTER):
        return None
    found = set(nest.space.indices)
    moved: list[Stm] = []
    kept: list[Stm] = []
    stays = False
    for inner in nest.body.statements:
        if found.isdisjoint(free_names(inner)) and not has_effects(inner.exp):
            if isinstance(inner.exp, TOTAL):
                moved.append(inner)
                continue
            stays = True
        kept.append(inner)
        found.update(p.name for p in inner.pattern)
    if not moved:
        read = "a read stays, since a check may stand before it"
        return Declined(read) if stays else None
    body = replace(nest.body, statements=tuple(kept))
    return (*moved, replace(statement, exp=replace(nest, body=body)))


def is_target(statement: Stm, level: Level) -> bool:
    """Whether the nest is to be distributed around this loop and moved into it: threads
    go into loops over blocks, registers into those over steps as well."""
    if not isinstance(statement.exp, Loop):
        return False
    if BLOCKS in statement.attributes:
        return True
    return level == REGISTER and REDUCTION in statement.attributes


@rule(SegMap, label="Step 3", paper=PAPER)
def distribute_nest(statement: Stm, context: StatementContext) -> Outcome:
    r"""Make two nests of one: up to the first loop, and what follows.

    before:
        given (m: i64, xs: [m]f32)
        let ys: [4]f32 = segmap register (j < 4) -> (f32) {
          let a: i64 = size(j + 1)
          #[blocks] let s: f32 = loop (u: f32 = 0f32) for k: i64 < a do {
            return add_f32(u, 1f32)
          }
          let b: f32 = convert_i64_f32(a)
          return returns mul_f32(s, b)
        }
    after:
        let ss: [4]f32 = segmap register (j < 4) -> (f32) {
          let a: i64 = size(j + 1)
          #[blocks] let s: f32 = loop (u: f32 = 0f32) for k: i64 < a do {
            return add_f32(u, 1f32)
          }
          return returns s
        }
        let ys: [4]f32 = segmap register (j_1 < 4) -> (f32) {
          let s_1: f32 = ss[j_1]
          let a_1: i64 = size(j_1 + 1)
          let b: f32 = convert_i64_f32(a_1)
          return returns mul_f32(s_1, b)
        }
    declines: there is no loop over blocks in the nest
        like before, with
        segmap register => segmap thread
        #[blocks] => #[reduction]
    """
    nest = statement.exp_of(SegMap)
    if nest.level not in (THREAD, REGISTER):
        return None
    statements = nest.body.statements
    targets = [i for i, s in enumerate(statements) if is_target(s, nest.level)]
    if not targets:
        loops = any(isinstance(s.exp, Loop) for s in statements)
        reason = "there is no loop over blocks in the nest"
        return Declined(reason) if loops else None
    at = targets[0]
    results = [r.value for r in nest.body.result if isinstance(r, Returns)]
    used: set[Name] = {r for r in results if isinstance(r, Name)}
    for later in statements[at:]:
        used |= free_names(later)
    if dependences_of(statements[:at], used).carried:
        return _cut(statement, nest, at, context)
    bound = {p.name for p in statements[at].pattern}
    alone = at == len(statements) - 1 and set(results) <= bound
    if alone and len(set(results)) == len(results):
        return None
    return _cut(statement, nest, at + 1, context)


def _cut(
    statement: Stm, nest: SegMap, at: int, context: StatementContext
) -> tuple[Stm, ...]:
    """The nest divided before its statement `at`."""
    build = Builder(context.names, context.scope, statement.location)
    before, after = nest.body.statements[:at], nest.body.statements[at:]
    used: set[Name] = {
        r.value
        for r in nest.body.result
        if isinstance(r, Returns) and isinstance(r.value, Name)
    }
    for later in after:
        used |= free_names(later)
    needs = dependences_of(before, used)
    kinds = {p.name: p for s in before for p in s.pattern}
    carried = [kinds[name] for name in needs.carried]
    arrays = expanded(build, nest, carried)
    first = nest_over(build, nest, nest.space.indices, before, needs.carried)
    build.bind(tuple(arrays), first)
    again = reads([a.name for a in arrays], carried, nest.space.indices)
    body = KernelBody((*again, *needs.again, *after), nest.body.result)
    second = fresh_nest(build, replace(nest, body=body))
    build.append(replace(statement, exp=second))
    return tuple(build.statements)


@rule(SegMap, label="Step 4", paper=PAPER)
def interchange_nest_with_loop(statement: Stm, context: StatementContext) -> Outcome:
    r"""Move a nest into the loop that it consists of.

    before:
        given (n: i64, xs: [n]f32)
        let ys: [4]f32 = segmap thread (x < 4) -> (f32) {
          let a: i64 = size(x * 2)
          let c: f32 = convert_i64_f32(a)
          #[blocks] let s: f32 = loop (u: f32 = 0f32) for b: i64 < n do {
            let e: f32 = xs[b]
            let f: f32 = mul_f32(e, c)
            return add_f32(u, f)
          }
          return returns s
        }
    after:
        let zeros: [4]f32 = segmap thread (x_1 < 4) -> (f32) {
          let a_1: i64 = size(x_1 * 2)
          let c_1: f32 = convert_i64_f32(a_1)
          return returns 0f32
        }
        #[blocks] let ys: [4]f32 = loop (us: [4]f32 = zeros) for b: i64 < n do {
          return segmap thread (x < 4) -> (f32) {
            let u: f32 = us[x]
            let a: i64 = size(x * 2)
            let c: f32 = convert_i64_f32(a)
            let e: f32 = xs[b]
            let f: f32 = mul_f32(e, c)
            return returns add_f32(u, f)
          }
        }
    declines: the loop does not run equally often at all points
        like before, with
        b: i64 < n => b: i64 < a
    """
    nest = statement.exp_of(SegMap)
    if nest.level not in (THREAD, REGISTER):
        return None
    if not nest.body.statements or not is_target(nest.body.statements[-1], nest.level):
        return None
    *above, last = nest.body.statements
    loop = last.exp_of(Loop)
    results = [r.value for r in nest.body.result if isinstance(r, Returns)]
    inner = {p.name for p in last.pattern}
    if len(set(results)) != len(results) or not set(results) <= inner:
        return Declined("the nest does more than the loop")
    local = {*nest.space.indices, *[p.name for s in above for p in s.pattern]}
    if not local.isdisjoint(free_names(loop.form)):
        return Declined("the loop does not run equally often at all points")
    if dependences_of(above, free_names(loop.body)).carried:
        return Declined("something expensive would be recomputed at each step")
    return _interchanged(statement, nest, above, last, context)


def _interchanged(
    statement: Stm, nest: SegMap, above: list[Stm], last: Stm, context: StatementContext
) -> tuple[Stm, ...]:
    build = Builder(context.names, context.scope, statement.location)
    loop = last.exp_of(Loop)
    initial = _initial_arrays(build, nest, above, loop)
    carried = tuple(expanded(build, nest, loop.parameters))
    indices = nest.space.indices
    again = dependences_of(above, free_names(loop.body)).again
    start = reads([p.name for p in carried], loop.parameters, indices)
    statements = (*start, *again, *loop.body.statements)
    inside = build.nested()
    made = expanded(build, nest, loop.parameters)
    inside.bind(
        tuple(made), nest_over(build, nest, indices, statements, loop.body.result)
    )
    body = Body(tuple(inside.statements), tuple(p.name for p in made))
    bound = {
        r.value: p
        for r, p in zip(nest.body.result, statement.pattern, strict=True)
        if isinstance(r, Returns)
    }
    pattern = tuple(
        bound.get(p.name) or expanded(build, nest, (p,))[0] for p in last.pattern
    )
    exp = Loop(carried, initial, loop.form, body)
    build.append(Stm(pattern, exp, last.attributes, statement.location))
    return tuple(build.statements)


def _initial_arrays(
    build: Builder, nest: SegMap, above: list[Stm], loop: Loop
) -> tuple[Name, ...]:
    """What the loop starts with at all points. Checks before it run here, once."""
    indices = nest.space.indices
    rows: dict[object, Name] = {
        s.pattern[0].name: s.exp.array
        for s in above
        if isinstance(s.exp, Index) and s.exp.slice == indices
    }
    local = {p.name for s in above for p in s.pattern}
    pairs = list(zip(loop.parameters, loop.initial, strict=True))
    there = {
        p.name: rows[atom]
        for p, atom in pairs
        if atom in rows
        and rows[atom] not in local
        and build.scope[rows[atom]] == array_of(p.type, nest.space.sizes)
    }
    wanted = [(p, atom) for p, atom in pairs if p.name not in there]
    if wanted or any(has_effects(s.exp) for s in above):
        parameters: list[Param] = [parameter for parameter, _ in wanted]
        arrays = expanded(build, nest, parameters)
        first = nest_over(build, nest, indices, above, tuple(a for _, a in wanted))
        build.bind(tuple(arrays), fresh_nest(build, first))
        there |= {p.name: a.name for p, a in zip(parameters, arrays, strict=True)}
    return tuple(there[p.name] for p in loop.parameters)
