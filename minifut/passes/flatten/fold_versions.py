r"""Versions of a reduction or scan whose function holds parallelism.

    redomap(n, xss, op, f)
    →  let outer = n >= main.reduce_map.outer
       if outer then segred grid (i < n) {op} { f, sequential }
       else let ys = <map f, flattened>  segred grid (i < n) {op} { ys[i] }

The map in the second is not offered in versions again: with its body sequential it
would differ from the first only by the array between.
"""

from __future__ import annotations

from minifut.ir.soacs import Screma
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.exploitable import any_exploitable
from minifut.passes.flatten.inner_fold import SEQUENTIAL, flatten_reduce, flatten_scan
from minifut.passes.flatten.judgement import PPOPP, Answer
from minifut.passes.flatten.split_fold import (
    NOTHING_GAINED,
    NOTHING_INSIDE,
    split_fold_from_map,
)
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
          let left: i32 = segred grid (i < n)
            operator(max_i32, (-2147483648i32), []) -> (i32) {
            let xs: [m]i32 = xss[i]
            let sum: i32 = redomap(m, (xs),
              reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
            return returns sum
          }
          return left
        } else {
          let sums: [n]i32 = segred grid (j < n, k < m)
            operator(add_i32, (0i32), []) -> (i32) {
            let row: [m]i32 = xss[j]
            let y: i32 = row[k]
            return returns y
          }
          let right: i32 = segred grid (l < n)
            operator(max_i32, (-2147483648i32), []) -> (i32) {
            let z: i32 = sums[l]
            return returns z
          }
          return right
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
