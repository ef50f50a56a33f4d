r"""What a thread reads at each step without change is read once, into registers.

    loop for l < d { segmap register (j < r) { x = xs[g * t + j]  f(x, ys[l]) } }
  →
    own = segmap register (j < r) { xs[g * t + j] }
    loop for l < d { segmap register (j < r) { x = own[j]  f(x, ys[l]) } }

What is computed from such reads alone goes with them. A value has only the dimensions
of the register tile that it depends on; with none it is a scalar of the thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from minifut.ir.builder import Builder
from minifut.ir.core import Body, Copy, ForLoop, If, Index, Loop, ScalarOp, SizeExp, Stm
from minifut.ir.kernels import REGISTER, KernelBody, Returns, SegMap, SegSpace
from minifut.ir.node import replace
from minifut.ir.traverse import free_names, rename
from minifut.ir.types import ArrayType, array_of
from minifut.names import Name
from minifut.passes.simplify.dead_code import has_effects
from minifut.passes.tiling.marks import PAPER, REDUCTION
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

PURE = (Index, ScalarOp, SizeExp, Copy, If)


@rule(label="Step 5b", paper=PAPER)
def load_registers(statement: Stm, context: StatementContext) -> Outcome:
    r"""Hoist reads that are invariant in the steps into registers.

    before:
        given (n: i64, g: i64, d: i64, xs: [n]f32, ys: [n]f32, us: [4]f32)
        #[reduction] let ss: [4]f32 = loop (vs: [4]f32 = us) for l: i64 < d do {
          let ws: [4]f32 = segmap register (j < 4) -> (f32) {
            let i: i64 = size(min(j, n - 1))
            let x: f32 = xs[i]
            let k: i64 = size(min(l, n - 1))
            let y: f32 = ys[k]
            let z: f32 = mul_f32(x, y)
            let v: f32 = vs[j]
            let w: f32 = add_f32(v, z)
            return returns w
          }
          return ws
        }
    after:
        let own: [4]f32 = segmap register (j_1 < 4) -> (f32) {
          let i_1: i64 = size(min(j_1, n - 1))
          let x_1: f32 = xs[i_1]
          return returns x_1
        }
        #[reduction] let ss: [4]f32 = loop (vs: [4]f32 = us) for l: i64 < d do {
          let ws: [4]f32 = segmap register (j < 4) -> (f32) {
            let i: i64 = size(min(j, n - 1))
            let x: f32 = own[j]
            let k: i64 = size(min(l, n - 1))
            let y: f32 = ys[k]
            let z: f32 = mul_f32(x, y)
            let v: f32 = vs[j]
            let w: f32 = add_f32(v, z)
            return returns w
          }
          return ws
        }
    declines: all that is read differs from step to step
        given (n: i64, d: i64, ys: [n]f32, us: [4]f32)
        #[reduction] let ss: [4]f32 = loop (vs: [4]f32 = us) for l: i64 < d do {
          let ws: [4]f32 = segmap register (j < 4) -> (f32) {
            let k: i64 = size(min(l, n - 1))
            let y: f32 = ys[k]
            let v: f32 = vs[j]
            let w: f32 = add_f32(v, y)
            return returns w
          }
          return ws
        }
    """
    loop = statement.exp
    if not isinstance(loop, Loop) or REDUCTION not in statement.attributes:
        return None
    nests = [
        (at, s.exp)
        for at, s in enumerate(loop.body.statements)
        if isinstance(s.exp, SegMap) and s.exp.level == REGISTER
    ]
    changing = {p.name for p in loop.parameters}
    if isinstance(loop.form, ForLoop):
        changing.add(loop.form.index)
    changing.update(p.name for s in loop.body.statements for p in s.pattern)
    for at, nest in nests:
        found = _invariant_reads(nest, changing)
        if found is not None:
            return _loaded(statement, loop, at, nest, found, context)
    return Declined("all that is read differs from step to step") if nests else None


@dataclass(frozen=True, slots=True)
class _InvariantReads:
    """The position of a statement whose value lasts, and what it is computed from."""

    at: int
    needed: tuple[Stm, ...]
    indices: tuple[Name, ...]


def _invariant_reads(nest: SegMap, changing: set[Name]) -> _InvariantReads | None:
    """The last of the values in the nest that do not change with the step and of which
    a read is part."""
    varying = set(changing)
    sources: dict[Name, tuple[int, ...]] = {}
    reading: set[Name] = set()
    last: int | None = None
    statements = nest.body.statements
    for at, statement in enumerate(statements):
        exp, names = statement.exp, [p.name for p in statement.pattern]
        if has_effects(exp):
            break
        used = free_names(exp)
        scalar = len(names) == 1 and not isinstance(
            statement.pattern[0].type, ArrayType
        )
        if not varying.isdisjoint(used) or not isinstance(exp, PURE) or not scalar:
            varying.update(names)
            continue
        if isinstance(exp, Index) and exp.slice == _own(nest, exp):
            continue  # a register already
        needed = {i for name in used for i in sources.get(name, ())} | {at}
        sources[names[0]] = tuple(sorted(needed))
        if isinstance(exp, Index) or not reading.isdisjoint(used):
            reading.add(names[0])
            last = at
    if last is None:
        return None
    needed_ = tuple(statements[i] for i in sources[statements[last].pattern[0].name])
    free = {n for s in needed_ for n in free_names(s)}
    indices = tuple(index for index in nest.space.indices if index in free)
    return _InvariantReads(last, needed_, indices)


def _own(nest: SegMap, exp: Index) -> tuple[Name, ...]:
    """The indices of the nest that the read uses, in their order."""
    return tuple(index for index in nest.space.indices if index in exp.slice)


def _loaded(
    statement: Stm,
    loop: Loop,
    at: int,
    nest: SegMap,
    found: _InvariantReads,
    context: StatementContext,
) -> tuple[Stm, ...]:
    build = Builder(context.names, context.scope, statement.location)
    target = nest.body.statements[found.at]
    bound = target.pattern[0]
    if found.indices:
        sizes = tuple(
            size
            for index, size in zip(nest.space.indices, nest.space.sizes, strict=True)
            if index in found.indices
        )
        body = KernelBody(found.needed, (Returns(bound.name),))
        load = SegMap(REGISTER, SegSpace(found.indices, sizes), body, (bound.type,))
        own = build.let(rename(load, context.names), "own", array_of(bound.type, sizes))
        again: object = Index(own, found.indices)
    else:
        once = rename(Body(found.needed, (bound.name,)), context.names)
        build.extend(once.statements)
        again = Copy(once.result[0])
    changed = replace(target, exp=again)
    statements = list(nest.body.statements)
    statements[found.at] = changed
    inner = replace(nest, body=replace(nest.body, statements=tuple(statements)))
    outer = list(loop.body.statements)
    outer[at] = replace(outer[at], exp=inner)
    body_ = replace(loop.body, statements=tuple(outer))
    return (*build.statements, replace(statement, exp=replace(loop, body=body_)))
