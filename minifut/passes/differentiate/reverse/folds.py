r"""Reductions and scans brought into the forms that have rules, at last into loops.

redomap and scanomap              a map, then one fold at a time
independent components            a fold for each
a vectorised operator             reduce (map2 f) xss → map (reduce f) (transpose xss)
all others                        a loop over the elements
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir import core, soacs
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, ForLoop, Lambda, Param, Stm
from minifut.ir.sizes import Size
from minifut.ir.soacs import Reduce, Scan, Screma
from minifut.ir.types import I64, ArrayType, Type, array_of
from minifut.names import Name
from minifut.passes.differentiate.reverse.operators import (
    apply,
    component,
    components,
    copy,
    identity,
    is_identity,
    row_operator,
)
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
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
def vjp_split_fold(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""A map with folds is a map, then one fold after the other; a fold of independent
    components is one for each group of them.

    before:
        given (n: i64, xs: [n]f64, ys: [n]f64, w: f64, u: f64)
        let (result_4: f64, result_5: f64, derivative: [n]f64,
            derivative_1: [n]f64) = vjp(\(xs_1: [n]f64, ys_1: [n]f64) -> (f64, f64) {
          let (reduced: f64, reduced_1: f64) = redomap(n, (xs_1, ys_1),
            reduce(\(xs_2: f64, ys_2: f64, xs_3: f64, ys_3: f64) -> (f64, f64) {
              let add: f64 = add_f64(xs_2, xs_3)
              let max_1: f64 = max_f64(ys_2, ys_3)
              return add, max_1
            }, (0.0f64, -f64.inf)),
            \(x: f64, x_1: f64) -> (f64, f64) {x, x_1})
          return reduced, reduced_1
        }, (xs, ys), (w, u), [])
        return result_4, result_5, derivative, derivative_1
    after:
        let reduced: f64 = redomap(n, (xs), reduce(add_f64, (0.0f64)),
          \(x: f64) -> (f64) {x})
        let iota_1: [n]i64 = iota i64 (n, 0i64, 1i64)
        let (reduced_1: f64, place: i64) = redomap(n, (ys, iota_1),
          reduce commutative(\(x_1: f64, x_2: i64, x_3: f64, x_4: i64) -> (f64, i64) {
            let gt: bool = gt_f64(x_1, x_3)
            let eq: bool = eq_f64(x_1, x_3)
            let le: bool = le_i64(x_2, x_4)
            let and: bool = and_bool(eq, le)
            let or: bool = or_bool(gt, and)
            let ne: bool = ne_f64(x_3, x_3)
            let or_1: bool = or_bool(or, ne)
            let (x_5: f64, x_6: i64) = if or_1 then {x_1, x_2} else {x_3, x_4}
            return x_5, x_6
          }, (-f64.inf, 9223372036854775807i64)),
          \(x_7: f64, x_8: i64) -> (f64, i64) {x_7, x_8})
        let iota_2: [n]i64 = iota i64 (n, 0i64, 1i64)
        let x_9: [n]f64 = map(n, (iota_2), \(x_10: i64) -> (f64) {
          let eq_1: bool = eq_i64(x_10, place)
          let chosen: f64 = if eq_1 then {u} else {0.0f64}
          return chosen
        })
        let xs_adj: [n]f64 = replicate([n], w)
        return reduced, reduced_1, xs_adj, x_9
    """
    exp = statement.exp
    assert isinstance(exp, Screma)
    if exp.is_map:
        return None
    fold = only_fold(exp)
    if fold is not None and len(components(fold.operator)) == 1:
        return None
    build = sweep.builder(statement)
    pattern = list(statement.pattern)
    if is_identity(exp.function):
        arrays = list(exp.arrays)
    else:
        types = exp.function.results
        mapped = tuple(
            Param(build.names.fresh("mapped"), array_of(t, (exp.width,))) for t in types
        )
        build.bind(mapped, soacs.map_(exp.width, exp.arrays, exp.function))
        arrays = [parameter.name for parameter in mapped]
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
    return sweep.through(build, build.statements)


@rule(paper="IFL 2023, section 3.1")
def vjp_interchange(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""A fold with a vectorised operator is a map of folds over the columns.

    before:
        given (n: i64, m: i64, xs: [n][m]f64, w: [m]f64)
        let (result_2: [m]f64,
            derivative: [n][m]f64) = vjp(\(xs_1: [n][m]f64) -> ([m]f64) {
          let replicated: [m]f64 = replicate([m], -f64.inf)
          let reduced: [m]f64 = redomap(n, (xs_1),
            reduce(\(xs_2: [m]f64, xs_3: [m]f64) -> ([m]f64) {
              let mapped: [m]f64 = map(m, (xs_2, xs_3), \(xs_4: f64,
                  xs_5: f64) -> (f64) {max_f64(xs_4, xs_5)})
              return mapped
            }, (replicated)),
            \(x: [m]f64) -> ([m]f64) {x})
          return reduced
        }, (xs), (w), [])
        return result_2, derivative
    after:
        let xs_1: [m][n]f64 = rearrange((1, 0), xs)
        let iota_1: [n]i64 = iota i64 (n, 0i64, 1i64)
        let (x: [m]f64, tape: [m]i64) = map(m, (xs_1), \(x_1: [n]f64) -> (f64, i64) {
          let (x_2: f64, place: i64) = redomap(n, (x_1, iota_1),
            reduce commutative(\(x_3: f64, x_4: i64, x_5: f64, x_6: i64) -> (f64, i64) {
              let gt: bool = gt_f64(x_3, x_5)
              let eq: bool = eq_f64(x_3, x_5)
              let le: bool = le_i64(x_4, x_6)
              let and: bool = and_bool(eq, le)
              let or: bool = or_bool(gt, and)
              let ne: bool = ne_f64(x_5, x_5)
              let or_1: bool = or_bool(or, ne)
              let (x_7: f64, x_8: i64) = if or_1 then {x_3, x_4} else {x_5, x_6}
              return x_7, x_8
            }, (-f64.inf, 9223372036854775807i64)),
            \(x_9: f64, x_10: i64) -> (f64, i64) {x_9, x_10})
          return x_2, place
        })
        let iota_2: [n]i64 = iota i64 (n, 0i64, 1i64)
        let x_11: [m][n]f64 = map(m, (w, tape), \(adj: f64, place_1: i64) -> ([n]f64) {
          let x_12: [n]f64 = map(n, (iota_2), \(x_13: i64) -> (f64) {
            let eq_1: bool = eq_i64(x_13, place_1)
            let chosen: f64 = if eq_1 then {adj} else {0.0f64}
            return chosen
          })
          return x_12
        })
        let x_14: [n][m]f64 = rearrange((1, 0), x_11)
        return x, x_14
    """
    exp = statement.exp
    assert isinstance(exp, Screma)
    fold = only_fold(exp)
    if fold is None:
        return None
    inner = row_operator(fold.operator)
    if inner is None or not takes(fold.operator, sweep):
        return None
    build = sweep.builder(statement)
    columns = [_transposed(build, array) for array in exp.arrays]
    neutral = [atom for atom in fold.neutral if isinstance(atom, Name)]
    outer = build.shape(columns[0])[0]
    row_types = [build.type(name) for name in (*columns, *neutral)]

    def fold_column(own: Builder, *names: Name) -> Sequence[Name]:
        given = names[: len(columns)]
        few = like(fold, copy(own, inner), names[len(columns) :])
        return own.let_many(fold_exp(own, exp.width, given, few))

    function = build.function([_row(t) for t in row_types], fold_column)
    results = build.let_many(soacs.map_(outer, (*columns, *neutral), function))
    for parameter, result in zip(statement.pattern, results, strict=True):
        if isinstance(fold, Scan):
            result = _transposed(build, result)
        build.bind((parameter,), core.Copy(result))
    return sweep.through(build, build.statements)


def _row(type_: Type) -> Type:
    assert isinstance(type_, ArrayType)
    return array_of(type_.element, type_.shape[1:])


def _transposed(build: Builder, array: Name) -> Name:
    rank = len(build.shape(array))
    return build.rearrange(array, (1, 0, *range(2, rank)))


def as_loop(statement: Stm, sweep: ReverseSweep) -> Reversed:
    """The fold as a loop over its elements."""
    exp = statement.exp
    assert isinstance(exp, Screma)
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
        made = apply(inner, fold.operator, [*[p.name for p in sums], *rows])
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
    return sweep.through(build, build.statements)
