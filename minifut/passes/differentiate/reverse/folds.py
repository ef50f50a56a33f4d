r"""Folds and histograms brought into the forms that have rules, at last into loops.

redomap and scanomap              a map, then one fold at a time
independent components            a fold or a histogram for each
a vectorised operator             reduce (map2 f) xss → map (reduce f) (transpose xss)
all others                        a loop over the elements

The forms of histograms are, as those of reductions:

+          each value gets the adjoint of its bin
min max    the value that is in the bin
*          the product of all others in the bin; zeros are counted
affine     products of derivatives (`hist_affine`)
others     loops over chunks of values (`hist_chunks`)
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, ForLoop, Lambda, Param, Stm
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, HistOp, Reduce, Scan, Screma
from minifut.ir.types import I64, ArrayType, array_of, row_type
from minifut.names import Name
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


def only_fold(exp: Screma) -> Scan | Reduce | None:
    """The fold of an expression that is nothing else."""
    if len(exp.folds) != 1 or not is_identity(exp.function):
        return None
    (fold,) = exp.folds
    return fold if len(fold.neutral) == len(exp.arrays) else None


def fold_exp(
    build: Builder, width: Size, arrays: Sequence[Name], fold: Scan | Reduce
) -> Screma:
    """A fold of arrays as they are."""
    function = identity(build, fold.operator.results)
    scans = (fold,) if isinstance(fold, Scan) else ()
    reduces = (fold,) if isinstance(fold, Reduce) else ()
    return Screma(width, tuple(arrays), scans, reduces, function)


def like(
    fold: Scan | Reduce, operator: Lambda, neutral: Sequence[Atom]
) -> Scan | Reduce:
    """A fold of the same kind with another operator."""
    if isinstance(fold, Scan):
        return Scan(operator, tuple(neutral))
    return Reduce(operator, tuple(neutral), fold.commutative)


def takes(operator: Lambda, sweep: ReverseSweep) -> bool:
    """Whether an operator mentions no active name of the outside."""
    return not sweep.mentioned(operator)


@rule(paper="IFL 2023")
def vjp_split_fold(statement: Stm, sweep: ReverseSweep) -> Rewrite | None:
    r"""A map with folds is a map, then one fold after the other; a fold of independent
    components is one for each group of them.

    before:
        given (n: i64, xs: [n]f64, ys: [n]f64)
        let (reduced: f64, reduced_1: f64) = redomap(n, (xs, ys),
          reduce(\(xs_1: f64, ys_1: f64, xs_2: f64, ys_2: f64) -> (f64, f64) {
            let add: f64 = add_f64(xs_1, xs_2)
            let max_1: f64 = max_f64(ys_1, ys_2)
            return add, max_1
          }, (0.0f64, -f64.inf)),
          \(x: f64, x_1: f64) -> (f64, f64) {x, x_1})
    after:
        let reduced: f64 = redomap(n, (xs),
          reduce(add_f64, (0.0f64)),
          \(x: f64) -> (f64) {x})
        let reduced_1: f64 = redomap(n, (ys),
          reduce(max_f64, (-f64.inf)),
          \(x_1: f64) -> (f64) {x_1})
    """
    exp = statement.exp_of(Screma)
    if exp.is_map:
        return None
    fold = only_fold(exp)
    if fold is not None and len(components(fold.operator)) == 1:
        return None
    build = sweep.builder(statement)
    pattern = statement.pattern
    arrays = before_lambda(build, exp.width, exp.arrays, exp.function)
    for part in exp.folds:
        count = len(part.neutral)
        own, pattern = pattern[:count], pattern[count:]
        given, arrays = arrays[:count], arrays[count:]
        for group in components(part.operator):
            few = component(build, part.operator, group)
            neutral = [part.neutral[n] for n in group]
            inputs = [given[n] for n in group]
            one = fold_exp(build, exp.width, inputs, like(part, few, neutral))
            build.bind(tuple(own[n] for n in group), one)
    for parameter, array in zip(pattern, arrays, strict=True):
        build.bind((parameter,), core.Copy(array))
    return tuple(build.statements)


@rule(paper="IFL 2023, section 3.1")
def vjp_interchange(statement: Stm, sweep: ReverseSweep) -> Rewrite | None:
    r"""A fold with a vectorised operator is a map of folds over the columns.

    before:
        given (n: i64, m: i64, xs: [n][m]f64)
        let replicated: [m]f64 = replicate([m], -f64.inf)
        let reduced: [m]f64 = redomap(n, (xs),
          reduce(\(xs_1: [m]f64, xs_2: [m]f64) -> ([m]f64) {
            return map(m, (xs_1, xs_2), max_f64)
          }, (replicated)),
          \(x: [m]f64) -> ([m]f64) {x})
    after:
        let replicated: [m]f64 = replicate([m], -f64.inf)
        let xs_1: [m][n]f64 = rearrange((1, 0), xs)
        let x: [m]f64 = map(m, (xs_1, replicated), \(x_1: [n]f64, x_2: f64) -> (f64) {
          return redomap(n, (x_1), reduce(max_f64, (x_2)), \(x_4: f64) -> (f64) {x_4})
        })
        let reduced: [m]f64 = x
    """
    exp = statement.exp_of(Screma)
    fold = only_fold(exp)
    if fold is None:
        return None
    inner = row_operator(fold.operator)
    if inner is None or not takes(fold.operator, sweep):
        return None
    build = sweep.builder(statement)
    columns = [_transposed(build, array) for array in exp.arrays]
    neutral = [atom for atom in fold.neutral if isinstance(atom, Name)]

    def fold_column(own: Builder, *names: Name) -> Sequence[Name]:
        given = names[: len(columns)]
        few = like(fold, own.copy(inner), names[len(columns) :])
        return own.let_many(fold_exp(own, exp.width, given, few))

    results = build.map((*columns, *neutral), fold_column)
    for parameter, result in zip(statement.pattern, results, strict=True):
        if isinstance(fold, Scan):
            result = _transposed(build, result)
        build.bind((parameter,), core.Copy(result))
    return tuple(build.statements)


def _transposed(build: Builder, array: Name) -> Name:
    rank = len(build.shape(array))
    return build.rearrange(array, (1, 0, *range(2, rank)))


def as_loop(statement: Stm, sweep: ReverseSweep) -> Rewrite:
    """The fold as a loop over its elements."""
    exp = statement.exp_of(Screma)
    fold = only_fold(exp)
    assert fold is not None
    build = sweep.builder(statement)
    types = fold.operator.results
    sums = build.parameters(types, "sum")
    whole = [array_of(t, (exp.width,)) for t in types] if isinstance(fold, Scan) else []
    written = build.parameters(whole, "scanned")
    start = [
        build.let(core.Scratch(t.element, t.shape), "scratch")
        for t in whole
        if isinstance(t, ArrayType)
    ]
    index = build.names.fresh("i")
    build.scope[index] = I64
    with build.body() as inner:
        rows = [inner.index(array, index) for array in exp.arrays]
        made = inner.apply(fold.operator, [*[p.name for p in sums], *rows])
        stored = [
            inner.update(parameter.name, (index,), atom)
            for parameter, atom in zip(written, made, strict=False)
        ]
        body = inner.finish(*made, *stored)
    form = ForLoop(index, build.size_atom(exp.width), I64)
    loop = core.Loop((*sums, *written), (*fold.neutral, *start), form, body)
    results = [Param(build.names.fresh("sum"), t) for t in (*types, *whole)]
    build.bind(tuple(results), loop)
    wanted = results[len(types) :] if isinstance(fold, Scan) else results
    for parameter, result in zip(statement.pattern, wanted, strict=True):
        build.bind((parameter,), core.Copy(result.name))
    return tuple(build.statements)


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
              xs_2: [m]f64) -> ([m]f64) {map(m, (xs_1, xs_2), max_f64)}),
          \(x: i64, x_1: [m]f64) -> (i64, [m]f64) {x, x_1})
    after:
        let replicated: [m]f64 = replicate([m], -9.0f64)
        let replicated_1: [4][m]f64 = replicate([4], replicated)
        let replicated_2: [m][4]f64 = rearrange((1, 0), replicated_1)
        let xs_1: [m][n]f64 = rearrange((1, 0), xs)
        let x: [m][4]f64 = map(m, (replicated_2, xs_1, replicated), \(x_1: [4]f64,
            x_2: [n]f64, x_3: f64) -> ([4]f64) {
          return hist(n, (is, x_2), bins([4], (x_1), (x_3), max_f64),
            \(x_5: i64, x_6: f64) -> (i64, f64) {x_5, x_6})
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
