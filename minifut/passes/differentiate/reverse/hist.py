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
from minifut.ir.soacs import Hist, HistOp
from minifut.ir.types import row_type
from minifut.names import Name
from minifut.passes.differentiate.reverse.folds import takes
from minifut.passes.differentiate.reverse.operators import (
    component,
    components,
    identity,
    is_identity,
    row_operator,
)
from minifut.passes.differentiate.reverse.scatter import before_lambda
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Rewrite
from minifut.rewrite.rule import rule


def hist_of(
    build: Builder, width: Size, arrays: tuple[Name, ...], operator: HistOp
) -> Hist:
    """A histogram of arrays as they are: bins, then values."""
    types = [row_type(build.type(array)) for array in arrays]
    return Hist(width, arrays, (operator,), identity(build, types))


@rule(paper="IFL 2023")
def vjp_split_hist(statement: Stm, sweep: ReverseSweep) -> Rewrite | None:
    r"""A map, then a histogram for each group of independent components.

    before:
        given (n: i64, is: [n]i64, xs: [n]f64, ys: [n]f64)
        let replicated: [4]f64 = replicate([4], 0.0f64)
        let replicated_1: [4]f64 = replicate([4], 0.0f64)
        let (histogram: [4]f64, histogram_1: [4]f64) = hist(n, (is, xs, ys),
          bins([4], (replicated, replicated_1), (0.0f64, 0.0f64), \(xs_1: f64,
              ys_1: f64, xs_2: f64, ys_2: f64) -> (f64, f64) {
            let add: f64 = add_f64(xs_1, xs_2)
            let add_1: f64 = add_f64(ys_1, ys_2)
            return add, add_1
          }),
          \(x: i64, x_1: f64, x_2: f64) -> (i64, f64, f64) {x, x_1, x_2})
    after:
        let replicated: [4]f64 = replicate([4], 0.0f64)
        let replicated_1: [4]f64 = replicate([4], 0.0f64)
        let histogram: [4]f64 = hist(n, (is, xs),
          bins([4], (replicated), (0.0f64), add_f64),
          \(x: i64, x_1: f64) -> (i64, f64) {x, x_1})
        let histogram_1: [4]f64 = hist(n, (is, ys),
          bins([4], (replicated_1), (0.0f64), add_f64),
          \(x_2: i64, x_3: f64) -> (i64, f64) {x_2, x_3})
    """
    exp = statement.exp_of(Hist)
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
    return tuple(build.statements)


@rule(paper="IFL 2023")
def vjp_hist_interchange(statement: Stm, sweep: ReverseSweep) -> Rewrite | None:
    r"""A vectorised operator: a histogram for each column.

    before:
        given (n: i64, m: i64, is: [n]i64, xs: [n][m]f64)
        let replicated: [m]f64 = replicate([m], -9.0f64)
        let replicated_1: [4][m]f64 = replicate([4], replicated)
        let histogram: [4][m]f64 = hist(n, (is, xs),
          bins([4], (replicated_1), (replicated), \(xs_1: [m]f64,
              xs_2: [m]f64) -> ([m]f64) {
            let mapped: [m]f64 = map(m, (xs_1, xs_2), max_f64)
            return mapped
          }),
          \(x: i64, x_1: [m]f64) -> (i64, [m]f64) {x, x_1})
    after:
        let replicated: [m]f64 = replicate([m], -9.0f64)
        let replicated_1: [4][m]f64 = replicate([4], replicated)
        let replicated_2: [m][4]f64 = rearrange((1, 0), replicated_1)
        let xs_1: [m][n]f64 = rearrange((1, 0), xs)
        let x: [m][4]f64 = map(m, (replicated_2, xs_1, replicated), \(x_1: [4]f64,
            x_2: [n]f64, x_3: f64) -> ([4]f64) {
          let x_4: [4]f64 = hist(n, (is, x_2),
            bins([4], (x_1), (x_3), max_f64),
            \(x_5: i64, x_6: f64) -> (i64, f64) {x_5, x_6})
          return x_4
        })
        let x_7: [4][m]f64 = rearrange((1, 0), x)
        let histogram: [4][m]f64 = x_7
    """
    exp = statement.exp_of(Hist)
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
        few = HistOp(operator.shape, names[:count], names[2 * count :], own.copy(inner))
        arrays = (*bins, *names[count : 2 * count])
        return own.let_many(hist_of(own, exp.width, arrays, few))

    made = build.map(given, column)
    for parameter, array in zip(statement.pattern, made, strict=True):
        dimensions = len(build.shape(array))
        order = (*range(1, rank + 1), 0, *range(rank + 1, dimensions))
        build.bind((parameter,), core.Copy(build.rearrange(array, order)))
    return tuple(build.statements)


def _last_first(build: Builder, array: Name, depth: int) -> Name:
    """The dimension after `depth` others in front of them."""
    order = (depth, *[n for n in range(len(build.shape(array))) if n != depth])
    return build.rearrange(array, order)
