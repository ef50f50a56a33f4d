r"""Adjoints of histograms, by what the operator is, as those of reductions.

+          each value gets the adjoint of its bin
min max    the value that is in the bin
*          the product of all others in the bin; zeros are counted
affine     products of derivatives (`hist_affine`)
others     loops over chunks of values (`hist_chunks`)
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Stm
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, HistOp, map_
from minifut.ir.types import row_type
from minifut.names import Name
from minifut.passes.differentiate.reverse.folds import takes
from minifut.passes.differentiate.reverse.operators import (
    component,
    components,
    copy,
    identity,
    is_identity,
    row_operator,
)
from minifut.passes.differentiate.reverse.scatter import before_lambda
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


def hist_of(
    build: Builder, width: Size, arrays: tuple[Name, ...], operator: HistOp
) -> Hist:
    """A histogram of arrays as they are: bins, then values."""
    types = [row_type(build.type(array)) for array in arrays]
    return Hist(width, arrays, (operator,), identity(build, types))


@rule(paper="IFL 2023")
def vjp_split_hist(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""A map, then a histogram for each group of independent components.

    before:
        given (n: i64, is: [n]i64, xs: [n]f64, ys: [n]f64, w: [4]f64, u: [4]f64)
        let (result_4: [4]f64, result_5: [4]f64, derivative: [n]f64,
            derivative_1: [n]f64) = vjp(\(xs_1: [n]f64, ys_1: [n]f64) -> ([4]f64,
            [4]f64) {
          let replicated: [4]f64 = replicate([4], 0.0f64)
          let replicated_1: [4]f64 = replicate([4], 0.0f64)
          let (histogram: [4]f64, histogram_1: [4]f64) = hist(n, (is, xs_1, ys_1),
            bins([4], (replicated, replicated_1), (0.0f64, 0.0f64), \(xs_2: f64,
                ys_2: f64, xs_3: f64, ys_3: f64) -> (f64, f64) {
              let add: f64 = add_f64(xs_2, xs_3)
              let add_1: f64 = add_f64(ys_2, ys_3)
              return add, add_1
            }),
            \(x: i64, x_1: f64, x_2: f64) -> (i64, f64, f64) {x, x_1, x_2})
          return histogram, histogram_1
        }, (xs, ys), (w, u), [])
        return result_4, result_5, derivative, derivative_1
    after:
        let replicated: [4]f64 = replicate([4], 0.0f64)
        let replicated_1: [4]f64 = replicate([4], 0.0f64)
        let histogram: [4]f64 = hist(n, (is, xs),
          bins([4], (replicated), (0.0f64), add_f64),
          \(x: i64, x_1: f64) -> (i64, f64) {x, x_1})
        let histogram_1: [4]f64 = hist(n, (is, ys),
          bins([4], (replicated_1), (0.0f64), add_f64),
          \(x_2: i64, x_3: f64) -> (i64, f64) {x_2, x_3})
        let gathered: [n]f64 = map(n, (is), \(x_4: i64) -> (f64) {
          let le: bool = le_i64(0i64, x_4)
          let lt: bool = lt_i64(x_4, 4i64)
          let and: bool = and_bool(le, lt)
          let part: f64 = if and then {
            let u_1: f64 = u[x_4]
            return u_1
          } else {0.0f64}
          return part
        })
        let gathered_1: [n]f64 = map(n, (is), \(x_5: i64) -> (f64) {
          let le_1: bool = le_i64(0i64, x_5)
          let lt_1: bool = lt_i64(x_5, 4i64)
          let and_1: bool = and_bool(le_1, lt_1)
          let part_1: f64 = if and_1 then {
            let w_1: f64 = w[x_5]
            return w_1
          } else {0.0f64}
          return part_1
        })
        return histogram, histogram_1, gathered_1, gathered
    """
    exp = statement.exp
    assert isinstance(exp, Hist)
    single = len(exp.operators) == 1 and len(components(exp.operators[0].operator)) == 1
    if is_identity(exp.function) and single:
        return None
    build = sweep.builder(statement)
    made = before_lambda(build, exp.width, exp.arrays, exp.function)
    bins = sum(len(operator.shape) for operator in exp.operators)
    indices, values, pattern = made[:bins], made[bins:], statement.pattern
    for operator in exp.operators:
        rank, count = len(operator.shape), len(operator.destinations)
        own, indices = indices[:rank], indices[rank:]
        given, values = values[:count], values[count:]
        results, pattern = pattern[:count], pattern[count:]
        for group in components(operator.operator):
            few = HistOp(
                operator.shape,
                tuple(operator.destinations[n] for n in group),
                tuple(operator.neutral[n] for n in group),
                component(build, operator.operator, group),
            )
            arrays = (*own, *[given[n] for n in group])
            one = hist_of(build, exp.width, arrays, few)
            build.bind(tuple(results[n] for n in group), one)
    return sweep.through(build, build.statements)


@rule(paper="IFL 2023")
def vjp_hist_interchange(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""A vectorised operator: a histogram for each column.

    before:
        given (n: i64, m: i64, is: [n]i64, xs: [n][m]f64, w: [4][m]f64)
        let (result_2: [4][m]f64,
            derivative: [n][m]f64) = vjp(\(xs_1: [n][m]f64) -> ([4][m]f64) {
          let replicated: [m]f64 = replicate([m], 1.0f64)
          let replicated_1: [4][m]f64 = replicate([4], replicated)
          let histogram: [4][m]f64 = hist(n, (is, xs_1),
            bins([4], (replicated_1), (replicated), \(xs_2: [m]f64,
                xs_3: [m]f64) -> ([m]f64) {
              let mapped: [m]f64 = map(m, (xs_2, xs_3), \(xs_4: f64,
                  xs_5: f64) -> (f64) {mul_f64(xs_4, xs_5)})
              return mapped
            }),
            \(x: i64, x_1: [m]f64) -> (i64, [m]f64) {x, x_1})
          return histogram
        }, (xs), (w), [])
        return result_2, derivative
    after:
        let replicated: [m]f64 = replicate([m], 1.0f64)
        let replicated_1: [4][m]f64 = replicate([4], replicated)
        let replicated_2: [m][4]f64 = rearrange((1, 0), replicated_1)
        let xs_1: [m][n]f64 = rearrange((1, 0), xs)
        let x: [m][4]f64 = map(m, (replicated_2, xs_1), \(x_1: [4]f64,
            x_2: [n]f64) -> ([4]f64) {
          let x_3: [4]f64 = hist(n, (is, x_2),
            bins([4], (x_1), (1.0f64), mul_f64),
            \(x_4: i64, x_5: f64) -> (i64, f64) {x_4, x_5})
          return x_3
        })
        let x_6: [4][m]f64 = rearrange((1, 0), x)
        let w_1: [m][4]f64 = rearrange((1, 0), w)
        let x_7: [m][n]f64 = map(m, (replicated_2, xs_1, w_1), \(x_8: [4]f64,
            x_9: [n]f64, adj: [4]f64) -> ([n]f64) {
          let x_10: [4]f64 = map(4, (x_8), \(x_11: f64) -> (f64) {
            let eq: bool = eq_f64(x_11, 0.0f64)
            let chosen: f64 = if eq then {1.0f64} else {x_11}
            return chosen
          })
          let x_12: [4]i64 = map(4, (x_8), \(x_13: f64) -> (i64) {
            let eq_1: bool = eq_f64(x_13, 0.0f64)
            let chosen_1: i64 = if eq_1 then {1i64} else {0i64}
            return chosen_1
          })
          let x_14: [n]f64 = map(n, (x_9), \(x_15: f64) -> (f64) {
            let eq_2: bool = eq_f64(x_15, 0.0f64)
            let chosen_2: f64 = if eq_2 then {1.0f64} else {x_15}
            return chosen_2
          })
          let x_16: [n]i64 = map(n, (x_9), \(x_17: f64) -> (i64) {
            let eq_3: bool = eq_f64(x_17, 0.0f64)
            let chosen_3: i64 = if eq_3 then {1i64} else {0i64}
            return chosen_3
          })
          let (x_18: [4]f64, x_19: [4]i64) = hist(n, (is, x_14, x_16),
            bins([4], (x_10, x_12), (1.0f64, 0i64), \(x_20: f64, x_21: i64,
                x_22: f64, x_23: i64) -> (f64, i64) {
              let mul_1: f64 = mul_f64(x_20, x_22)
              let add: i64 = add_i64(x_21, x_23)
              return mul_1, add
            }),
            \(x_24: i64, x_25: f64, x_26: i64) -> (i64, f64, i64) {x_24, x_25, x_26})
          let gathered: [n]f64 = map(n, (is), \(x_27: i64) -> (f64) {
            let le: bool = le_i64(0i64, x_27)
            let lt: bool = lt_i64(x_27, 4i64)
            let and: bool = and_bool(le, lt)
            let part: f64 = if and then {
              let x_28: f64 = x_18[x_27]
              return x_28
            } else {0.0f64}
            return part
          })
          let gathered_1: [n]i64 = map(n, (is), \(x_29: i64) -> (i64) {
            let le_1: bool = le_i64(0i64, x_29)
            let lt_1: bool = lt_i64(x_29, 4i64)
            let and_1: bool = and_bool(le_1, lt_1)
            let part_1: i64 = if and_1 then {
              let x_30: i64 = x_19[x_29]
              return x_30
            } else {0i64}
            return part_1
          })
          let gathered_2: [n]f64 = map(n, (is), \(x_31: i64) -> (f64) {
            let le_2: bool = le_i64(0i64, x_31)
            let lt_2: bool = lt_i64(x_31, 4i64)
            let and_2: bool = and_bool(le_2, lt_2)
            let part_2: f64 = if and_2 then {
              let adj_1: f64 = adj[x_31]
              return adj_1
            } else {0.0f64}
            return part_2
          })
          let x_32: [n]f64 = map(n, (x_9, gathered, gathered_1, gathered_2),
              \(x_33: f64, x_34: f64, x_35: i64, x_36: f64) -> (f64) {
            let eq_4: bool = eq_f64(x_33, 0.0f64)
            let eq_5: bool = eq_i64(x_35, 1i64)
            let and_3: bool = and_bool(eq_4, eq_5)
            let chosen_4: f64 = if and_3 then {x_34} else {0.0f64}
            let div: f64 = div_f64(x_34, x_33)
            let eq_6: bool = eq_i64(x_35, 0i64)
            let chosen_5: f64 = if eq_6 then {div} else {chosen_4}
            return mul_f64(chosen_5, x_36)
          })
          return x_32
        })
        let x_37: [n][m]f64 = rearrange((1, 0), x_7)
        return x_6, x_37
    """
    exp = statement.exp
    assert isinstance(exp, Hist)
    (operator,) = exp.operators
    inner = row_operator(operator.operator)
    if inner is None or not takes(operator.operator, sweep):
        return None
    build = sweep.builder(statement)
    rank, count = len(operator.shape), len(operator.destinations)
    bins, values = exp.arrays[:rank], exp.arrays[rank:]
    columns = [
        *[_last_first(build, array, rank) for array in operator.destinations],
        *[_last_first(build, array, 1) for array in values],
    ]
    neutral = [atom for atom in operator.neutral if isinstance(atom, Name)]
    given = (*columns, *neutral)

    def column(own: Builder, *names: Name) -> tuple[Name, ...]:
        few = HistOp(
            operator.shape, names[:count], names[2 * count :], copy(own, inner)
        )
        arrays = (*bins, *names[count : 2 * count])
        return own.let_many(hist_of(own, exp.width, arrays, few))

    function = build.function([row_type(build.type(a)) for a in given], column)
    outer = build.shape(columns[0])[0]
    made = build.let_many(map_(outer, given, function))
    for parameter, array in zip(statement.pattern, made, strict=True):
        dimensions = len(build.shape(array))
        order = (*range(1, rank + 1), 0, *range(rank + 1, dimensions))
        build.bind((parameter,), core.Copy(build.rearrange(array, order)))
    return sweep.through(build, build.statements)


def _last_first(build: Builder, array: Name, depth: int) -> Name:
    """The dimension after `depth` others in front of them."""
    order = (depth, *[n for n in range(len(build.shape(array))) if n != depth])
    return build.rearrange(array, order)
