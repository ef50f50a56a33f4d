r"""Updates of a map at indices that it computes: a histogram (`gather_in_histogram`).

    with_acc((acc(hs, op)), \a -> map(n, (a, xs), \b x -> update_acc(b, g x)))
    →  hist(n, (xs), bins([k], (hs), (ne), op), g)

Histograms have lowerings of their own: bins in local memory, several sub-histograms.
"""

from __future__ import annotations

from minifut.ir.accumulators import WithAcc
from minifut.ir.core import Body, Lambda, Stm
from minifut.ir.soacs import Hist, HistOp
from minifut.passes.accumulations.nest import nest_of
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

NO_MAP = Declined("its updates are not those of one map")
NO_OPERATOR = Declined("its updates overwrite each other")


@rule(WithAcc)
def gather_in_histogram(statement: Stm, context: StatementContext) -> Outcome:
    r"""Make a histogram of a map whose points do one update each.

    before:
        given (n: i64, k: i64, hs: [k]i32, xs: [n]i32)
        let ys: [k]i32 = with_acc((acc([k], (hs), (0i32), \(p: i32, q: i32) -> (i32) {
          let s: i32 = add_i32(p, q)
          return s
        })), \(a: acc a [k] (i32)) -> (acc a [k] (i32)) {
          let d: acc a [k] (i32) = map(n, (a, xs),
            \(b: acc a [k] (i32), x: i32) -> (acc a [k] (i32)) {
              let i: i64 = convert_i32_i64(x)
              let c: acc a [k] (i32) = update_acc(b, (i), (x))
              return c
            })
          return d
        })
    after:
        let ys: [k]i32 = hist(n, (xs),
          bins([k], (hs), (0i32), \(p: i32, q: i32) -> (i32) {
            let s: i32 = add_i32(p, q)
            return s
          }), \(x: i32) -> (i64, i32) {
            let i: i64 = convert_i32_i64(x)
            return i, x
          })
    declines: its updates overwrite each other
        given (n: i64, k: i64, hs: [k]i32, is: [n]i64)
        let ys: [k]i32 = with_acc((acc([k], (hs))),
          \(a: acc a [k] (i32)) -> (acc a [k] (i32)) {
            let d: acc a [k] (i32) = map(n, (a, is),
              \(b: acc a [k] (i32), i: i64) -> (acc a [k] (i32)) {
                let c: acc a [k] (i32) = update_acc(b, (i), (1i32))
                return c
              })
            return d
          })
    """
    assert isinstance(statement.exp, WithAcc)
    nest = nest_of(statement.exp)
    if nest is None or len(nest.levels) != 1:
        return NO_MAP
    item, (level,) = nest.item, nest.levels
    if item.operator is None:
        return NO_OPERATOR
    build = context.builder(statement)
    body = Body(level.statements, (*nest.indices, *nest.values))
    for inner in level.statements:
        build.scope.update((p.name, p.type) for p in inner.pattern)
    build.scope.update((p.name, p.type) for p in level.parameters)
    function = Lambda(level.parameters, body, build.types(body.result))
    bins = HistOp(item.shape, item.arrays, item.neutral, item.operator)
    build.bind(statement.pattern, Hist(level.width, level.arrays, (bins,), function))
    return tuple(build.statements)
