r"""Perfectly nested maps: the outer map becomes dimensions of the inner SOAC's space.

    map (\xs -> let v = <cheap> in <soac over j < m>) xss
    →  <soac> in the nest (i < n) { let xs = xss[i]  let v = <cheap> }

Conditions: the body is cheap statements (`flatten.cheap`), then one SOAC that gives all
results; its width is the same for all points (regular). If a check is among the
cheap statements and the inner dimension is empty, no point would run it: then a kernel
that only checks runs instead.
"""

from __future__ import annotations

from minifut.ir import builder, kernels, scalars, sizes, traverse, types
from minifut.ir.core import Body, If, ScalarOp, Stm
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma
from minifut.names import Name
from minifut.passes.flatten.cheap import all_cheap, has_check
from minifut.passes.flatten.context import Judgement, NestContext, returns
from minifut.passes.flatten.judgement import SLIDES, Answer
from minifut.passes.flatten.nest import Nest
from minifut.rewrite.rule import EMITTED, Declined, rule

KEEP_INNER_SEQUENTIAL = frozenset({"sequential", "sequential_inner"})

FORBIDDEN = Declined("an attribute keeps what is inside sequential")


@rule(Screma, label="G2", paper=SLIDES)
def flatten_perfect_nest(judgement: Judgement, context: NestContext) -> Answer:
    r"""Grow the nest by a map whose body is cheap statements and a SOAC.

    before:
        given (n: i64, m: i64, xss: [n][m]i32, ks: [n]i32)
        let yss: [n][m]i32 = map(n, (xss, ks), \(xs: [m]i32, k: i32) -> ([m]i32) {
          let l: i32 = add_i32(k, 1i32)
          return map(m, (xs), \(x: i32) -> (i32) {mul_i32(x, l)})
        })
    after:
        let yss: [n][m]i32 = segmap grid (i < n) -> ([m]i32) {
          let xs: [m]i32 = xss[i]
          let k: i32 = ks[i]
          let l: i32 = add_i32(k, 1i32)
          return returns map(m, (xs), \(x: i32) -> (i32) {mul_i32(x, l)})
        }
    declines: the inner width differs
        given (n: i64, ks: [n]i64)
        let sums: [n]i64 = map(n, (ks), \(k: i64) -> (i64) {
          let is: [k]i64 = iota i64 (k, 0i64, 1i64)
          return redomap(k, (is), reduce(add_i64, (0i64)), \(x: i64) -> (i64) {x})
        })
    declines: more than cheap statements
        like before of run_map_in_groups
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Screma)
    if not exp.is_map:
        return None
    if KEEP_INNER_SEQUENTIAL & set(statement.attributes):
        return FORBIDDEN
    outer, body = nest.over(context.fresh_index("i"), exp)
    parts = split_perfect(body)
    if parts is None:
        return Declined("the body is more than cheap statements and one SOAC")
    before, inner, order = parts
    if "sequential" in inner.attributes:
        return FORBIDDEN
    outer = outer.then(before)
    assert isinstance(inner.exp, SOAC_EXPRESSIONS)
    width = inner.exp.width
    if outer.size_varies(width):
        return Declined("the inner width differs between points")
    if has_check(outer.statements):
        check_if_empty(context, outer, width)
    inner_pattern = tuple(pattern[position] for position in order)
    context.again(Judgement(outer, inner, inner_pattern), context)
    return EMITTED


def split_perfect(body: Body) -> tuple[tuple[Stm, ...], Stm, tuple[int, ...]] | None:
    """The cheap statements, the SOAC behind them, and for each of its results the
    position among the body's results; None if the body is no perfect nest."""
    *before, last = body.statements or (None,)
    if last is None or not isinstance(last.exp, SOAC_EXPRESSIONS):
        return None
    if not all_cheap(before):
        return None
    names = [parameter.name for parameter in last.pattern]
    result = body.result
    if len(set(result)) != len(result) or set(result) != set(names):
        return None
    return tuple(before), last, tuple(result.index(name) for name in names)


def check_if_empty(context: NestContext, nest: Nest, width: sizes.Size) -> None:
    """Emit the kernel that runs the nest's checks if a dimension inside is empty."""
    build = context.build
    known = width.as_constant
    if known is not None and known > 0:
        return
    test = ScalarOp(
        scalars.operator("le", types.I64), (build.size_atom(width), builder.i64(0))
    )
    empty: Name = build.let(test, "empty")
    kernel = traverse.rename(
        kernels.SegMap(context.level, nest.space, returns(nest.statements, ()), ()),
        build.names,
    )
    then = Body((Stm((), kernel, (), build.location),), ())
    context.emit((), If(empty, then, Body((), ())))
