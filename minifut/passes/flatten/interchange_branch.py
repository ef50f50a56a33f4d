r"""A branch inside a map nest that all points take: the nest moves into the branches.

    nest (i < n) { if c then e1 else e2 }        c the same for all i
    →  if c then nest (i < n) { e1 } else nest (i < n) { e2 }

The same for `match`. Conditions: the results have the same shapes at all points, and a
branch holds parallelism that becomes kernels.

Source: "map over branch" of the Futhark compiler's interchange.
"""

from __future__ import annotations

from minifut.ir.core import Body, If, Match
from minifut.ir.host_bodies import map_bodies
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.distribute import distribute_body
from minifut.passes.flatten.exploitable import is_exploitable
from minifut.passes.flatten.judgement import FUTHARK, Answer
from minifut.rewrite.rule import EMITTED, Declined, rule

NOTHING_GAINED = Declined("it differs between points, or holds nothing parallel")


@rule(paper=FUTHARK)
def interchange_map_with_branch(judgement: Judgement, context: NestContext) -> Answer:
    r"""Interchange a map with an invariant branch: decide on the host, then run the
    nest.

    before:
        given (n: i64, m: i64, c: bool, xss: [n][m]i32)
        let rs: [n][m]i32 = segmap grid (i < n) -> ([m]i32) {
          let xs: [m]i32 = xss[i]
          let r: [m]i32 = if c then {
            let ys: [m]i32 = map(m, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
            return ys
          } else {xs}
          return returns r
        }
    after:
        let rs: [n][m]i32 = if c then {
          let yss: [n][m]i32 = segmap grid (i < n) -> ([m]i32) {
            let xs: [m]i32 = xss[i]
            let ys: [m]i32 = map(m, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
            return returns ys
          }
          return yss
        } else {
          let zss: [n][m]i32 = xss
          return zss
        }
    declines: differs between points
        like before, with
        c: bool => cs: [n]bool
        let r: [m]i32 = if c then {
        => let c: bool = cs[i]
        => let r: [m]i32 = if c then {
    """
    nest, statement, pattern = judgement
    exp = statement.exp
    if not isinstance(exp, If | Match) or not nest.depth:
        return None
    if not is_exploitable(nest, statement):
        return NOTHING_GAINED

    def branch(body: Body) -> Body:
        inside = context.inner()
        results = tuple(
            context.expanded(nest, parameter.name, parameter.type)
            for parameter in statement.pattern
        )
        distribute_body(inside, nest, body, results)
        return inside.build.finish(*(result.name for result in results))

    context.emit(pattern, map_bodies(exp, branch))
    return EMITTED
