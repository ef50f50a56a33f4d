r"""What a thread reads at each step without change is read once, into registers.

    loop for l < d { segmap register (j < r) { x = xs[g * t + j]  f(x, ys[l]) } }
  →
    own = segmap register (j < r) { xs[g * t + j] }
    loop for l < d { segmap register (j < r) { x = own[j]  f(x, ys[l]) } }

What is computed from such reads alone goes with them. A value has only the dimensions
of the register tile that it depends on; with none it is a scalar of the thread.
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Body, Copy, Exp, ForLoop, Index, Loop, Param, Stm
from minifut.ir.kernels import REGISTER, KernelBody, Returns, SegMap, SegSpace
from minifut.ir.node import immutable, replace
from minifut.ir.traverse import free_names, rename
from minifut.ir.types import ArrayType, array_of
from minifut.names import Name
from minifut.passes.scan_of_map import needed_for
from minifut.passes.simplify.dead_code import has_effects
from minifut.passes.tiling.marks import PAPER, REDUCTION
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

PURE = (Index, core.ScalarOp, core.SizeExp, Copy, core.If)


@rule(Loop, label="Step 5b", paper=PAPER)
def load_registers(statement: Stm, context: StatementContext) -> Outcome:
    r"""Hoist reads that are invariant in the steps into registers.

    before:
        given (n: i64, g: i64, d: i64, xs: [n]f32, ys: [n]f32, us: [4]f32)
        #[reduction] let ss: [4]f32 = loop (vs: [4]f32 = us) for l: i64 < d do {
          return segmap register (j < 4) -> (f32) {
            let i: i64 = size(min(j, n - 1))
            let x: f32 = xs[i]
            let k: i64 = size(min(l, n - 1))
            let y: f32 = ys[k]
            let z: f32 = mul_f32(x, y)
            let v: f32 = vs[j]
            return returns add_f32(v, z)
          }
        }
    after:
        like before, with
        #[reduction]
        => let own: [4]f32 = segmap register (j_1 < 4) -> (f32) {
        =>   let i_1: i64 = size(min(j_1, n - 1))
        =>   let x_1: f32 = xs[i_1]
        =>   return returns x_1
        => }
        => #[reduction]
        let x: f32 = xs[i] => let x: f32 = own[j]
    declines: all that is read differs from step to step
        like before, with
        min(j, n - 1) => min(l, n - 1)
    """
    loop = statement.exp_of(Loop)
    if REDUCTION not in statement.attributes:
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
    build = Builder(context.names, context.scope, statement.location)
    inner = list(loop.body.statements)
    for at, nest in nests:
        loaded = {
            value: exp
            for found in _invariant_reads(nest, changing)
            for value, exp in _load(nest, found, build).items()
        }
        statements = tuple(
            replace(s, exp=loaded.get(i, s.exp))
            for i, s in enumerate(nest.body.statements)
        )
        body = replace(nest.body, statements=statements)
        inner[at] = replace(inner[at], exp=replace(nest, body=body))
    if not build.statements:
        return Declined("all that is read differs from step to step") if nests else None
    body_ = replace(loop.body, statements=tuple(inner))
    return (*build.statements, replace(statement, exp=replace(loop, body=body_)))


@immutable
class _InvariantReads:
    """The positions of values that last and depend on the same indices, and the
    statements that they are computed by."""

    values: tuple[int, ...]
    needed: tuple[Stm, ...]
    indices: tuple[Name, ...]


def _invariant_reads(nest: SegMap, changing: set[Name]) -> list[_InvariantReads]:
    """The values in the nest that do not change with the step, of which a read is part,
    and which what does change uses."""
    varying = set(changing)
    uses = {name for result in nest.body.result for name in free_names(result)}
    own = {index: frozenset((index,)) for index in nest.space.indices}
    lasting: dict[Name, int] = {}
    reading: set[Name] = set()
    statements = nest.body.statements
    effects = False
    for at, statement in enumerate(statements):
        exp, names = statement.exp, [p.name for p in statement.pattern]
        effects = effects or has_effects(exp)
        used = free_names(exp)
        scalar = len(names) == 1 and not isinstance(
            statement.pattern[0].type, ArrayType
        )
        if effects or varying & used or not isinstance(exp, PURE) or not scalar:
            varying.update(names)
            uses |= free_names(statement)
            continue
        (name,) = names
        lasting[name] = at
        own[name] = frozenset().union(*(own.get(n, ()) for n in used))
        loaded = isinstance(exp, Index) and exp.slice == tuple(
            index for index in nest.space.indices if index in exp.slice
        )
        if not loaded and (isinstance(exp, Index) or reading & used):
            reading.add(name)
    groups: dict[tuple[Name, ...], list[Name]] = {}
    for name in lasting:
        if name in reading and name in uses:
            indices = tuple(index for index in nest.space.indices if index in own[name])
            groups.setdefault(indices, []).append(name)
    return [
        _InvariantReads(
            tuple(lasting[name] for name in values),
            tuple(needed_for(set(values), [statements[at] for at in lasting.values()])),
            indices,
        )
        for indices, values in groups.items()
    ]


def _load(nest: SegMap, found: _InvariantReads, build: Builder) -> dict[int, Exp]:
    """Load values before the loop; what each is read by in the nest."""
    bound = [nest.body.statements[at].pattern[0] for at in found.values]
    names = tuple(parameter.name for parameter in bound)
    if not found.indices:
        once = build.inline(Body(found.needed, names))
        return dict(zip(found.values, map(Copy, once), strict=True))
    extents = dict(zip(nest.space.indices, nest.space.sizes, strict=True))
    sizes = tuple(extents[index] for index in found.indices)
    body = KernelBody(found.needed, tuple(Returns(name) for name in names))
    types = tuple(parameter.type for parameter in bound)
    load = SegMap(REGISTER, SegSpace(found.indices, sizes), body, types)
    pattern = tuple(Param(build.names.fresh("own"), array_of(t, sizes)) for t in types)
    arrays = build.bind(pattern, rename(load, build.names))
    return {
        at: Index(array, found.indices)
        for at, array in zip(found.values, arrays, strict=True)
    }
