r"""A reduction or scan of values that hold parallelism: first the map, then the fold.

    redomap(n, xss, op, \xs -> redomap(m, xs, op', f))
    →  let ys = map(n, xss, \xs -> redomap(m, xs, op', f))
       redomap(n, ys, op, \y -> y)

What fusion made one is taken apart again, so that the map can be flattened with all its
parallelism; the price is the array between. Both are kept as versions. Conditions: the
function holds a SOAC of the same width at all points, and what is folded has the same
shape at all points.
"""

from __future__ import annotations

from minifut.ir.core import Body, Index, Lambda, Param, Stm
from minifut.ir.node import replace
from minifut.ir.soacs import Screma, map_, operand_count
from minifut.ir.types import array_of
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.exploitable import any_exploitable, is_regular
from minifut.passes.flatten.inner_fold import SEQUENTIAL
from minifut.passes.flatten.judgement import PPOPP, Answer
from minifut.rewrite.rule import EMITTED, Declined, rule

ONLY_INNER = "flattening(only_inner)"
"""of the map: with its body sequential, it would better be one with the fold again"""

NOTHING_INSIDE = Declined("nothing inside is parallel with one size at all points")
NOTHING_GAINED = Declined("no kernel would share out more than the outer points")


@rule(Screma, paper=PPOPP)
def split_fold_from_map(judgement: Judgement, context: NestContext) -> Answer:
    r"""Take a redomap or scanomap apart into a map and a fold of its results.

    before:
        given (n: i64, m: i64, xss: [n][m]i32)
        let most: i32 = redomap(n, (xss),
          reduce(max_i32, (-2147483648i32)), \(xs: [m]i32) -> (i32) {
            let sum: i32 = redomap(m, (xs),
              reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
            return sum
          })
    after:
        #[flattening(only_inner)]
        let sums: [n]i32 = map(n, (xss), \(xs: [m]i32) -> (i32) {
          let sum: i32 = redomap(m, (xs),
            reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
          return sum
        })
        let most: i32 = redomap(n, (sums),
          reduce(max_i32, (-2147483648i32)), \(y: i32) -> (i32) {y})
    declines: nothing inside is parallel
        given (n: i64, xs: [n]i32)
        let sum: i32 = redomap(n, (xs), reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Screma)
    if exp.is_map:
        return None
    if "sequential" in statement.attributes:
        return SEQUENTIAL
    if not exp.is_redomap and not exp.is_scanomap:
        return Declined("it scans and reduces at once")
    function = exp.function
    parameters = {parameter.name for parameter in function.parameters}
    varying = nest.bound | parameters
    if not any_exploitable(function.body.statements, varying):
        return NOTHING_INSIDE
    build = context.build
    count = operand_count(exp.folds)
    made = tuple(
        Param(build.names.fresh("mapped"), array_of(type_, (exp.width,)))
        for type_ in function.results[:count]
    )
    inner = {p.name for s in function.body.statements for p in s.pattern}
    if not is_regular(varying | inner, made):
        return Declined("what is folded has different shapes at different points")
    build.scope.update((p.name, p.type) for p in made)
    own = tuple(replace(p, name=build.names.like(p.name)) for p in statement.pattern)
    build.scope.update((p.name, p.type) for p in own)
    mapped = replace(
        statement,
        pattern=(*made, *own[count:]),
        exp=map_(exp.width, exp.arrays, function),
        attributes=(*statement.attributes, ONLY_INNER),
    )
    targets = tuple(
        context.expanded(nest, p.name, p.type) if nest.depth else p for p in made
    )
    context.again(Judgement(nest, mapped, (*targets, *pattern[count:])), context)
    rows = [
        Stm((p,), Index(target.name, nest.indices))
        for p, target in zip(made, targets, strict=True)
        if nest.depth
    ]
    fold = replace(
        statement, pattern=own[:count], exp=_only_fold(context, exp, made, count)
    )
    context.again(Judgement(nest.then(rows), fold, pattern[:count]), context)
    return EMITTED


def _only_fold(
    context: NestContext, exp: Screma, made: tuple[Param, ...], count: int
) -> Screma:
    """The same scans and reduces of the arrays as they are."""
    types = exp.function.results[:count]
    names = context.build.names
    parameters = tuple(Param(names.fresh("x"), type_) for type_ in types)
    context.build.scope.update((p.name, p.type) for p in parameters)
    body = Body((), tuple(p.name for p in parameters))
    return replace(
        exp,
        arrays=tuple(p.name for p in made),
        function=Lambda(parameters, body, types),
    )
