r"""Fold the flattened result of nested maps row by row, so that it is never stored.

reduce (+) 0 (flatten (map (\x -> map (\y -> x * y) ys) xs))
  →  reduce (+) 0 (map (\ps -> reduce (+) 0 ps) (map (\x -> map (\y -> x * y) ys) xs))

Where all inputs vary along all dimensions, the view is pulled above the maps, and there
is one flat map. Else the maps stay as they are, and the fold becomes one that fuses
with them. As the operator is associative, it gives the same. What is short enough is
left to be written out.
"""

from __future__ import annotations

from minifut.ir.core import Reshape, Stm
from minifut.ir.soacs import Screma
from minifut.names import Name
from minifut.passes.fold_by_rows import nest_fold
from minifut.passes.fusion.pair import PAPER, is_perfect
from minifut.passes.unroll_nests import MOST, is_short_fold
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(Screma, paper=PAPER)
def fold_flattened_maps(statement: Stm, context: StatementContext) -> Outcome:
    r"""Nest the fold of a flattened nest of maps as the dimensions of the nest.

    before:
        given (n: i64, m: i64, xs: [n]i32, ys: [m]i32, ks: [n * m]i32)
        let pss: [n][m]i32 = map(n, (xs), \(x: i32) -> ([m]i32) {
          return map(m, (ys), \(y: i32) -> (i32) {mul_i32(x, y)})
        })
        let flat: [n * m]i32 = reshape([n * m], pss)
        let s: i32 = redomap(n * m, (flat, ks),
          reduce commutative(add_i32, (0i32)),
          mul_i32)
    after:
        let pss: [n][m]i32 = map(n, (xs), \(x: i32) -> ([m]i32) {
          return map(m, (ys), \(y: i32) -> (i32) {mul_i32(x, y)})
        })
        let flat: [n * m]i32 = reshape([n * m], pss)
        let kss: [n][m]i32 = reshape([n][m], ks)
        let s: i32 = redomap(n, (pss, kss),
          reduce commutative(add_i32, (0i32)),
          \(row: [m]i32, k_row: [m]i32) -> (i32) {
            return redomap(m, (row, k_row), reduce commutative(add_i32, (0i32)),
              mul_i32)
          })
    declines: no input is the flattened result of nested maps
        like before, with
        map(m, (ys), \(y: i32) -> (i32) {mul_i32(x, y)}) => replicate([m], x)
    declines: so few elements are written out
        given (xs: [3]i32, ys: [4]i32)
        let pss: [3][4]i32 = map(3, (xs), \(x: i32) -> ([4]i32) {
          return map(4, (ys), \(y: i32) -> (i32) {mul_i32(x, y)})
        })
        let flat: [12]i32 = reshape([12], pss)
        let s: i32 = redomap(12, (flat), reduce commutative(add_i32, (0i32)),
          \(p: i32) -> (i32) {p})
    """
    exp = statement.exp_of(Screma)
    if is_short_fold(exp, MOST):
        return Declined("so few elements are written out")
    nests = set[Name]()
    for array in exp.arrays:
        view = context.definition(array)
        if isinstance(view, Reshape) and _is_nest(view.array, context):
            nests.add(view.array)
    if not nests:
        return Declined("no input is the flattened result of nested maps")
    return nest_fold(statement, context, nests)


def _is_nest(array: Name, context: StatementContext) -> bool:
    """Whether maps make it, between which little is done, for this fold alone."""
    made = context.definitions.get(array)
    if made is None or array in context.needed:
        return False
    maps = made.exp
    if not isinstance(maps, Screma) or not maps.is_map:
        return False
    if not is_perfect(maps.function):
        return False
    inner = maps.function.body.statements[-1].exp
    return isinstance(inner, Screma) and inner.is_map
