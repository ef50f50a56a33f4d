r"""Distribute a nest over what is in it, up to a loop and after it.

    segmap thread (x < t) { a = e  s = loop ...  returns s + a }
  →
    ss = segmap thread (x < t) { a = e  s = loop ...  returns s }      array expansion
    segmap thread (x < t) { s = ss[x]  a = e  returns s + a }

First what is the same for all points moves out of the nest.
"""

from __future__ import annotations

from minifut.ir.builder import Builder
from minifut.ir.core import Loop, ScalarOp, SizeExp, Stm
from minifut.ir.kernels import REGISTER, THREAD, KernelBody, Level, Returns, SegMap
from minifut.ir.node import replace
from minifut.ir.traverse import free_names
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


@rule(paper=PAPER)
def hoist_from_nest(statement: Stm, context: StatementContext) -> Outcome:
    r"""Hoist what is invariant in a nest in front of it.

    before:
        given (m: i64, b: i64)
        let ys: [4]i64 = segmap thread (x < 4) -> (i64) {
          let deep: i64 = size(min(8, m - b * 8))
          let y: i64 = add_i64(deep, x)
          return returns y
        }
    after:
        let deep: i64 = size(min(8, m - b * 8))
        let ys: [4]i64 = segmap thread (x < 4) -> (i64) {
          let y: i64 = add_i64(deep, x)
          return returns y
        }
    declines: a read stays, since a check may stand before it
        like before, with
        b: i64) => xs: [m]i64)
        size(min(8, m - b * 8)) => xs[0i64]
    """
    nest = statement.exp
    if not isinstance(nest, SegMap) or nest.level not in (THREAD, REGISTER):
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


@rule(label="Step 3", paper=PAPER)
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
          let t: f32 = mul_f32(s, b)
          return returns t
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
          let t: f32 = mul_f32(s_1, b)
          return returns t
        }
    declines: there is no loop over blocks in the nest
        like before, with
        segmap register => segmap thread
        #[blocks] => #[reduction]
    """
    nest = statement.exp
    if not isinstance(nest, SegMap) or nest.level not in (THREAD, REGISTER):
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
