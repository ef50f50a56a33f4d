r"""Adjoints of reductions, by what the operator is.

+          every element gets the adjoint of the sum
min max    the first element that is it gets the adjoint
*          the product of all others; zeros are counted
others     y = l_i ⊙ x_i ⊙ r_i, with l and r from two exclusive scans
"""

from minifut.ir import core, soacs
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Body, DimSlice, Lambda, Stm
from minifut.ir.node import flagged
from minifut.ir.soacs import Reduce, Screma
from minifut.names import Name
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.folds import as_loop, only_fold, takes
from minifut.passes.differentiate.reverse.operators import (
    flipped,
    identity,
    scalar_operator,
)
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed, ReverseOutcome
from minifut.rewrite.rule import rule


def reduce_by(statement: Stm, *names: str) -> Reduce | None:
    """The reduction, if it is one with this scalar operator."""
    exp = statement.exp_of(Screma)
    fold = only_fold(exp)
    if not isinstance(fold, Reduce) or scalar_operator(fold.operator) not in names:
        return None
    return fold


@rule(paper="SC 2022, section 5.1")
def vjp_reduce_add(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""A sum: its adjoint is that of every element.

    before:
        given (n: i64, xs: [n]f64)
        let reduced: f64 = redomap(n, (xs),
          reduce commutative(add_f64, (0.0f64)),
          \(x: f64) -> (f64) {x})
    after:
        like before, then
        let xs_adj: [n]f64 = replicate([n], reduced_seed)
        return reduced, xs_adj
    """
    fold = reduce_by(statement, "add")
    exp = statement.exp_of(Screma)
    if fold is None:
        return None
    (result,), (array,), (neutral,) = statement.pattern, exp.arrays, fold.neutral

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if adjoint is not None:
            adjoints.add(build, neutral, adjoint)
            if array in sweep.activity:
                everywhere = core.Replicate((exp.width,), adjoint)
                adjoints.add(build, array, build.let(everywhere, f"{array.base}_adj"))

    return Reversed((statement,), back)


@rule(paper="SC 2022, section 5.1")
def vjp_reduce(statement: Stm, sweep: ReverseSweep) -> ReverseOutcome:
    r"""Any associative operator: the result is l ⊙ x ⊙ r for each element x, with what
    is left and right of it.

    before:
        given (n: i64, xs: [n]f64)
        let reduced: f64 = redomap(n, (xs),
          reduce(hypot_f64, (0.0f64)),
          \(x: f64) -> (f64) {x})
    after:
        like before, then
        let x_1: [n]f64 = scanomap(n, (xs),
          scan(hypot_f64, (0.0f64)),
          \(x_2: f64) -> (f64) {x_2})
        let extent: i64 = size(n - 1)
        let xs_5: [n]f64 = xs[extent :+ n by -1i64]
        let x_3: [n]f64 = scanomap(n, (xs_5),
          scan(\(xs_6: f64, xs_7: f64) -> (f64) {hypot_f64(xs_7, xs_6)}, (0.0f64)),
          \(x_4: f64) -> (f64) {x_4})
        let iota_1: [n]i64 = iota i64 (n, 0i64, 1i64)
        let x_5: [n]f64 = map(n, (iota_1, xs), \(x_6: i64, x_9: f64) -> (f64) {
          let eq: bool = eq_i64(x_6, 0i64)
          let before: f64 = if eq then {0.0f64} else {
            let sub: i64 = sub_i64(x_6, 1i64)
            let x_7: f64 = x_1[sub]
            return x_7
          }
          let sub_1: i64 = sub_i64(extent, x_6)
          let eq_1: bool = eq_i64(sub_1, 0i64)
          let before_1: f64 = if eq_1 then {0.0f64} else {
            let sub_2: i64 = sub_i64(sub_1, 1i64)
            let x_8: f64 = x_3[sub_2]
            return x_8
          }
          let right: f64 = hypot_f64(x_9, before_1)
          let whole: f64 = hypot_f64(before, right)
          let div: f64 = div_f64(right, whole)
          let mul: f64 = mul_f64(div, reduced_seed)
          let div_1: f64 = div_f64(x_9, right)
          return mul_f64(div_1, mul)
        })
        return reduced, x_5
    """
    exp = statement.exp_of(Screma)
    fold = only_fold(exp)
    if not isinstance(fold, Reduce):
        return None
    if not takes(fold.operator, sweep):
        return as_loop(statement, sweep)

    def back(build: Builder, adjoints: Adjoints) -> None:
        results = adjoints.of_pattern(statement.pattern)
        if any(results):
            _from_both_sides(exp, fold, sweep, build, adjoints, results)

    return Reversed((statement,), back)


def exclusive(
    build: Builder, exp: Screma, operator: Lambda, arrays: tuple[Name, ...]
) -> tuple[Name, ...]:
    """The inclusive scan of arrays; `before` reads it as an exclusive one."""
    fold = only_fold(exp)
    assert fold is not None
    scan = soacs.Scan(operator, fold.neutral)
    function = identity(build, operator.results)
    return build.let_many(soacs.scanomap(exp.width, arrays, (scan,), function))


def before(
    inner: Builder, scanned: tuple[Name, ...], neutral: tuple[Atom, ...], i: Atom
) -> tuple[Name, ...]:
    """Element i - 1 of scanned arrays; the neutral element for 0."""
    first = inner.op("eq", i, i64(0))
    with inner.body() as then, inner.body() as otherwise:
        start = then.finish(*neutral)
        last = otherwise.sub(i, i64(1))
        rows = [otherwise.index(array, last) for array in scanned]
        other = otherwise.finish(*rows)
    return inner.bind(
        inner.parameters(inner.types(rows), "before"), core.If(first, start, other)
    )


def backwards(build: Builder, array: Name) -> Name:
    """The array from its end to its start."""
    width = build.shape(array)[0]
    last = build.size_atom(width - 1)
    return build.index(array, DimSlice(last, width, i64(-1)))


def _from_both_sides(
    exp: Screma,
    fold: Reduce,
    sweep: ReverseSweep,
    build: Builder,
    adjoints: Adjoints,
    results: list[Atom | None],
) -> None:
    left = exclusive(build, exp, build.copy(fold.operator), exp.arrays)
    reversed_ = tuple(backwards(build, array) for array in exp.arrays)
    right = exclusive(build, exp, flipped(build, fold.operator), reversed_)
    last = build.size_atom(exp.width - 1)
    flags = sweep.activity.of(exp.arrays)
    places = build.iota(exp.width)

    def element(inner: Builder, i: Name, *xs: Name) -> list[Atom]:
        ls = before(inner, left, fold.neutral, i)
        rs = before(inner, right, fold.neutral, inner.sub(last, i))
        with inner.body() as whole:
            rest = whole.apply(fold.operator, [*xs, *rs])
            body = Body((), whole.apply(fold.operator, [*ls, *rest]))
        own = adjoints.child()
        for x, flag in zip(xs, flags, strict=True):
            if flag:
                sweep.activity.names.add(x)
        sweep.again(inner, Body(tuple(whole.statements), body.result), own, results)
        pairs = zip(xs, flags, strict=True)
        return [own.or_zero(inner, x) for x, flag in pairs if flag]

    made = build.map((places, *exp.arrays), element)
    active = flagged(exp.arrays, flags)
    for array, adjoint in zip(active, made, strict=True):
        adjoints.add(build, array, adjoint)
