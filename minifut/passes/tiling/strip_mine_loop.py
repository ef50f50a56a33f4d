r"""The common dimension: a redomap becomes a loop, and the loop one over blocks.

    s = redomap(m, xs, op, f)   →   s = loop (s = 0) for k < m { op(s, f xs[k]) }
      →   s = loop (s = 0) for b < ceil_div(m, t) {
            loop (s) for l < min(t, m - b * t) { k = b * t + l  op(s, f xs[k]) } }

The last block ends where the dimension does: no step is done that was not there before,
and all are done in their order.
"""

from __future__ import annotations

from minifut.ir.builder import Builder
from minifut.ir.core import Body, ForLoop, Loop, Param, SizeExp, Stm
from minifut.ir.kernels import GetParameter
from minifut.ir.node import replace
from minifut.ir.sizes import Size, ceil_div, minimum
from minifut.ir.soacs import Screma
from minifut.ir.traverse import atom_size
from minifut.ir.types import I64
from minifut.names import Name
from minifut.passes.sequentialise import loop_over_screma
from minifut.passes.tiling.marks import BLOCKS, PAPER, REDUCTION
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(Screma, label="Step 5a", paper=PAPER)
def sequentialise_redomap(statement: Stm, context: StatementContext) -> Outcome:
    r"""Turn a reduction inside a thread into a loop.

    before:
        given (m: i64, xs: [m]f32)
        let s: f32 = redomap(m, (xs), reduce(add_f32, (0f32)),
          \(x: f32) -> (f32) {mul_f32(x, x)})
    after:
        #[reduction] let s: f32 = loop (s_1: f32 = 0f32) for k: i64 < m do {
          let x: f32 = xs[k]
          let y: f32 = mul_f32(x, x)
          let u: f32 = s_1
          let v: f32 = y
          return add_f32(u, v)
        }
    declines: it is no reduction alone
        given (m: i64, xs: [m]f32)
        let ys: [m]f32 = map(m, (xs), \(x: f32) -> (f32) {mul_f32(x, x)})
    """
    exp = statement.exp_of(Screma)
    if not exp.is_redomap:
        return Declined("it is no reduction alone")
    build = Builder(context.names, context.scope, statement.location)
    loop_over_screma(build, statement, exp)
    return tuple(build.statements)


@rule(Loop, label="Step 1", paper=PAPER)
def strip_mine_loop(statement: Stm, context: StatementContext) -> Outcome:
    r"""Go through the common dimension block by block.

    before:
        given (m: i64, xs: [m]f32)
        let t: i64 = get_parameter("main.map_redomap.block_depth" "tile_depth"
          ("cpu" = 256, "gpu" = 16) bounds 1 4096)
        #[reduction] let s: f32 = loop (u: f32 = 0f32) for k: i64 < m do {
          let x: f32 = xs[k]
          return add_f32(u, x)
        }
    after:
        let t: i64 = get_parameter("main.map_redomap.block_depth" "tile_depth"
          ("cpu" = 256, "gpu" = 16) bounds 1 4096)
        let count: i64 = size(ceil_div(m, t))
        #[blocks] let s: f32 = loop (w: f32 = 0f32) for b: i64 < count do {
          let deep: i64 = size(min(m - b * t, t))
          #[reduction] let r: f32 = loop (u: f32 = w) for l: i64 < deep do {
            let k: i64 = size(b * t + l)
            let x: f32 = xs[k]
            return add_f32(u, x)
          }
          return r
        }
    declines: no parameter says how deep a block is
        like before, with
        "tile_depth" => "tile_side"
    declines: its steps are those of a block
        like before, with
        xs: => b: i64, xs:
        #[reduction] let s: f32 = loop (u: f32 = 0f32) for k: i64 < m do {
        => let deep: i64 = size(min(t, m - b * t))
        => #[reduction] let s: f32 = loop (u: f32 = 0f32) for k: i64 < deep do {
    """
    exp = statement.exp_of(Loop)
    if REDUCTION not in statement.attributes:
        return None
    if not isinstance(exp.form, ForLoop) or exp.form.type != I64:
        return None
    depth = _depth(context)
    if depth is None:
        return Declined("no parameter says how deep a block is")
    total, deep = atom_size(exp.form.bound), Size.of(depth)
    bound = exp.form.bound
    known = context.definitions.get(bound) if isinstance(bound, Name) else None
    if known is not None and isinstance(known.exp, SizeExp):
        if depth in known.exp.size.names():
            return Declined("its steps are those of a block")
        total = known.exp.size
    return _in_blocks(context, statement, exp, exp.form, total, deep)


def _in_blocks(
    context: StatementContext,
    statement: Stm,
    exp: Loop,
    form: ForLoop,
    total: Size,
    deep: Size,
) -> tuple[Stm, ...]:
    build = Builder(context.names, context.scope, statement.location)
    count = build.let(SizeExp(ceil_div(total, deep)), "blocks")
    block, step = build.names.fresh("block"), build.names.fresh("step")
    build.scope[block] = build.scope[step] = I64
    carried = tuple(Param(build.names.like(p.name), p.type) for p in exp.parameters)
    build.scope.update((p.name, p.type) for p in carried)
    outer = build.nested()
    first = Size.of(block) * deep
    steps = outer.let(SizeExp(minimum(deep, total - first)), "deep")
    place = Stm((Param(form.index, I64),), SizeExp(first + Size.of(step)))
    inner = replace(
        exp,
        initial=tuple(p.name for p in carried),
        form=ForLoop(step, steps, I64),
        body=replace(exp.body, statements=(place, *exp.body.statements)),
    )
    results = tuple(Param(build.names.like(p.name), p.type) for p in statement.pattern)
    outer.append(Stm(results, inner, statement.attributes, statement.location))
    whole = Loop(
        carried,
        exp.initial,
        ForLoop(block, count, I64),
        Body(tuple(outer.statements), tuple(p.name for p in results)),
    )
    attributes = tuple(a for a in statement.attributes if a != REDUCTION)
    last = Stm(statement.pattern, whole, (*attributes, BLOCKS), statement.location)
    return (*build.statements, last)


def _depth(context: StatementContext) -> Name | None:
    """The parameter that says how deep blocks of the common dimension are."""
    for name, made in context.definitions.items():
        exp = made.exp
        if isinstance(exp, GetParameter) and exp.parameter.kind == "tile_depth":
            return name
    return None
