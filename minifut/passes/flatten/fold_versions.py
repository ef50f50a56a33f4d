r"""Versions of a reduction or scan whose function holds parallelism.

    redomap(n, xss, op, f)
    →  let outer = n >= main.reduce_map.outer
       if outer then segred grid (i < n) {op} { f, sequential }
       else let ys = <map f, flattened>  segred grid (i < n) {op} { ys[i] }

The map in the second is not offered in versions again: with its body sequential it
would differ from the first only by the array between.

For it what fusion made one is taken apart again (`split_fold_from_map`), so that the
map can be flattened with all its parallelism; the price is the array between.
Conditions: the function holds a SOAC of the same width at all points, and what is
folded has the same shape at all points.
"""

from __future__ import annotations

from minifut.ir.core import Body, Index, Lambda, Param, Stm
from minifut.ir.node import replace
from minifut.ir.soacs import Screma, map_, operand_count
from minifut.ir.types import array_of
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.exploitable import any_exploitable, is_regular
from minifut.passes.flatten.inner_soac import SEQUENTIAL, flatten_reduce, flatten_scan
from minifut.passes.flatten.judgement import PPOPP, Answer
from minifut.passes.flatten.version_choice import VersionChoice, gains
from minifut.passes.flatten.version_names import MODERATE, shape_of_body, weight
from minifut.passes.flatten.versions import offers_of
from minifut.rewrite.rule import EMITTED, Declined, rule


@rule(Screma, label="G for l + 1", paper=PPOPP)
def choose_versions_of_fold(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make versions of a fold: with a sequential function, or of values mapped before.

    before:
        like before of split_fold_from_map
    after:
        let outer: bool = at_least(n, "main.reduce_reduce.outer" "threshold"
          ("cpu" = 4611686018427387904, "gpu" = 32768) bounds 0 4611686018427387904
          guards "one thread for each point of the outer maps, their bodies sequential")
        let most: i32 = if outer then {
          return segred grid (i < n)
            operator(max_i32, (-2147483648i32), []) -> (i32) {
            let xs: [m]i32 = xss[i]
            return returns redomap(m, (xs),
              reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
          }
        } else {
          let sums: [n]i32 = segred grid (j < n, k < m)
            operator(add_i32, (0i32), []) -> (i32) {
            let row: [m]i32 = xss[j]
            return returns row[k]
          }
          return segred grid (l < n)
            operator(max_i32, (-2147483648i32), []) -> (i32) {returns sums[l]}
        }
    declines: nothing inside is parallel
        given (n: i64, xs: [n]i32)
        let sum: i32 = redomap(n, (xs), reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
    """
    nest, statement, _ = judgement
    exp = statement.exp_of(Screma)
    if exp.is_map:
        return None
    if "sequential" in statement.attributes:
        return SEQUENTIAL
    offers = offers_of(frozenset(statement.attributes), context.versions.kind)
    if not offers.inner or context.versions.kind == MODERATE:
        return Declined("an attribute selects the outer parallelism only")
    parameters = {parameter.name for parameter in exp.function.parameters}
    inside = exp.function.body.statements
    if not any_exploitable(inside, nest.bound | parameters):
        return NOTHING_INSIDE
    copied = weight(statement)
    reserved = offers.outer and context.versions.reserve(context.path, copied)
    kind = "reduce" if exp.is_redomap else "scan"
    inner = context.inner(shape_of_body(exp.function.body.statements, kind))
    if split_fold_from_map.fires(judgement, inner) and gains(
        inner.build.statements, nest.depth + 1
    ):
        first = flatten_reduce if exp.is_redomap else flatten_scan
        choice = VersionChoice(context, judgement, inner, False, first)
        if reserved or not offers.outer:
            choice.emit(reserved, intra=False)
            return EMITTED
    if reserved:
        context.versions.release(copied)
    return NOTHING_GAINED


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
            return redomap(m, (xs), reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
          })
    after:
        #[flattening(only_inner)]
        let sums: [n]i32 = map(n, (xss), \(xs: [m]i32) -> (i32) {
          return redomap(m, (xs), reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
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
