r"""Adjoints of reductions, by what the operator is.

+          every element gets the adjoint of the sum
min max    the first element that is it gets the adjoint
*          the product of all others; zeros are counted
others     y = l_i ⊙ x_i ⊙ r_i, with l and r from two exclusive scans

Of equal minima the first counts. A product without one factor is a quotient, or, where
factors are 0, known from their number.
"""

from __future__ import annotations

from minifut.ir import core, soacs
from minifut.ir.builder import Builder, constant, i64
from minifut.ir.core import Atom, Body, DimSlice, Lambda, Stm
from minifut.ir.node import flagged
from minifut.ir.scalars import integer_range
from minifut.ir.soacs import Reduce, Screma
from minifut.ir.types import I64, ScalarType
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import choose
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.element import add_through_element
from minifut.passes.differentiate.reverse.folds import as_loop, only_fold, takes
from minifut.passes.differentiate.reverse.operators import (
    all_scalar,
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
            return x_1[sub]
          }
          let sub_1: i64 = sub_i64(extent, x_6)
          let eq_1: bool = eq_i64(sub_1, 0i64)
          let before_1: f64 = if eq_1 then {0.0f64} else {
            let sub_2: i64 = sub_i64(sub_1, 1i64)
            return x_3[sub_2]
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


LAST = integer_range(I64)[1]
"""the index of no element"""


def extreme_operator(build: Builder, name: str, type_: ScalarType) -> Lambda:
    """The least or greatest of values with their indices; the first of equal ones."""

    def better(inner: Builder, a: Name, i: Name, b: Name, j: Name) -> tuple[Name, Name]:
        first = inner.op("lt" if name == "min" else "gt", a, b)
        tie = inner.op("and", inner.op("eq", a, b), inner.op("le", i, j))
        with inner.body() as then, inner.body() as otherwise:
            one, other = then.finish(a, i), otherwise.finish(b, j)
        left = inner.op("or", first, tie)
        nan = inner.op("ne", b, b) if type_.is_float else None
        if nan is not None:
            left = inner.op("or", left, nan)
        a, i = inner.let_many(core.If(left, one, other))
        return a, i

    return build.function((type_, I64, type_, I64), better)


@rule(paper="SC 2022, section 5.1")
def vjp_reduce_extreme(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""A minimum or maximum: the index is found, too, and that element gets it all.
    If the elements are made by a map that nothing else contributes to, that map is
    swept for this element alone.

    before:
        given (n: i64, xs: [n]f64)
        let reduced: f64 = redomap(n, (xs),
          reduce(max_f64, (-f64.inf)),
          \(x: f64) -> (f64) {x})
    after:
        let iota_1: [n]i64 = iota i64 (n, 0i64, 1i64)
        let (reduced: f64, place: i64) = redomap(n, (xs, iota_1),
          reduce commutative(\(x: f64, x_1: i64, x_2: f64, x_3: i64) -> (f64, i64) {
            let gt: bool = gt_f64(x, x_2)
            let eq: bool = eq_f64(x, x_2)
            let le: bool = le_i64(x_1, x_3)
            let and: bool = and_bool(eq, le)
            let or: bool = or_bool(gt, and)
            let ne: bool = ne_f64(x_2, x_2)
            let or_1: bool = or_bool(or, ne)
            let (x_4: f64, x_5: i64) = if or_1 then {x, x_1} else {x_2, x_3}
            return x_4, x_5
          }, (-f64.inf, 9223372036854775807i64)),
          \(x_6: f64, x_7: i64) -> (f64, i64) {x_6, x_7})
        let iota_2: [n]i64 = iota i64 (n, 0i64, 1i64)
        let x_8: [n]f64 = map(n, (iota_2), \(x_9: i64) -> (f64) {
          let eq_1: bool = eq_i64(x_9, place)
          return if eq_1 then {reduced_seed} else {0.0f64}
        })
        return reduced, x_8
    """
    fold = reduce_by(statement, "min", "max")
    exp = statement.exp_of(Screma)
    if fold is None or not all_scalar(fold.operator.results):
        return None
    (result,), (array,), (neutral,) = statement.pattern, exp.arrays, fold.neutral
    build = sweep.builder(statement)
    type_ = fold.operator.results[0]
    assert isinstance(type_, ScalarType)
    operator = extreme_operator(build, scalar_operator(fold.operator) or "", type_)
    indices = build.iota(exp.width)
    pair = Reduce(operator, (neutral, i64(LAST)), commutative=True)
    redomap = soacs.redomap(
        exp.width, (array, indices), (pair,), identity(build, (type_, I64))
    )
    value, place = build.let_many(redomap, (result.name.base, "place"))
    build.bind((result,), core.Copy(value))

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if adjoint is None or array not in sweep.activity:
            return
        made = sweep.maps.get(array) if sweep.context.may_accumulate else None
        if made is not None and adjoints.of(array) is None:
            add_through_element(sweep, build, adjoints, made, place, adjoint)
            return
        nothing = constant(0, type_)

        def only_there(inner: Builder, i: Name) -> Name:
            return choose(inner, inner.op("eq", i, place), adjoint, nothing)

        places = build.iota(exp.width)
        (own,) = build.map((places,), only_there)
        adjoints.add(build, array, own)

    return Reversed(tuple(build.statements), back)


def product_operator(build: Builder, type_: ScalarType) -> Lambda:
    """Multiplies the factors that are not 0, and counts those that are."""
    return build.function(
        (type_, I64, type_, I64),
        lambda inner, p, n, q, m: (inner.mul(p, q), inner.add(n, m)),
    )


def factor(inner: Builder, x: Atom) -> tuple[Name, Name]:
    """A factor with 1 for 0, and whether it was 0."""
    type_ = inner.scalar_type(x)
    is_zero = inner.op("eq", x, constant(0, type_))
    kept = choose(inner, is_zero, constant(1, type_), x)
    return kept, choose(inner, is_zero, i64(1), i64(0))


def product_of(inner: Builder, nonzero: Atom, zeros: Atom) -> Name:
    """The product from its factors that are not 0 and the number of zeros."""
    type_ = inner.scalar_type(nonzero)
    none = inner.op("eq", zeros, i64(0))
    return choose(inner, none, nonzero, constant(0, type_))


def product_of_others(inner: Builder, x: Atom, nonzero: Atom, zeros: Atom) -> Name:
    """The product without the factor x."""
    type_ = inner.scalar_type(x)
    nothing = constant(0, type_)
    is_zero = inner.op("eq", x, nothing)
    alone = inner.op("eq", zeros, i64(1))
    rest = choose(inner, inner.op("and", is_zero, alone), nonzero, nothing)
    without = inner.op("div" if type_.is_float else "quot", nonzero, x)
    none = inner.op("eq", zeros, i64(0))
    return choose(inner, none, without, rest)


@rule(paper="SC 2022, section 5.1")
def vjp_reduce_mul(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""A product: each element gets the product of the others, by a division; where
    there are zeros, at most the only zero gets something.

    before:
        like before of jvp_screma
    after:
        let (product: f64, zeros: i64) = redomap(n, (xs),
          reduce commutative(\(x: f64, x_1: i64, x_2: f64, x_3: i64) -> (f64, i64) {
            let mul: f64 = mul_f64(x, x_2)
            let add: i64 = add_i64(x_1, x_3)
            return mul, add
          }, (1.0f64, 0i64)),
          \(x_4: f64) -> (f64, i64) {
            let eq: bool = eq_f64(x_4, 0.0f64)
            let chosen: f64 = if eq then {1.0f64} else {x_4}
            let chosen_1: i64 = if eq then {1i64} else {0i64}
            return chosen, chosen_1
          })
        let eq_1: bool = eq_i64(zeros, 0i64)
        let chosen_2: f64 = if eq_1 then {product} else {0.0f64}
        let eq_2: bool = eq_i64(zeros, 1i64)
        let x_5: [n]f64 = map(n, (xs), \(x_6: f64) -> (f64) {
          let eq_3: bool = eq_f64(x_6, 0.0f64)
          let and: bool = and_bool(eq_3, eq_2)
          let chosen_3: f64 = if and then {product} else {0.0f64}
          let div: f64 = div_f64(product, x_6)
          let chosen_4: f64 = if eq_1 then {div} else {chosen_3}
          return mul_f64(chosen_4, reduced_seed)
        })
        return chosen_2, x_5
    """
    fold = reduce_by(statement, "mul")
    exp = statement.exp_of(Screma)
    if fold is None or not all_scalar(fold.operator.results):
        return None
    (result,), (array,), (neutral,) = statement.pattern, exp.arrays, fold.neutral
    build = sweep.builder(statement)
    type_ = fold.operator.results[0]
    assert isinstance(type_, ScalarType)
    pair = Reduce(product_operator(build, type_), (neutral, i64(0)), commutative=True)
    function = build.function((type_,), factor)
    redomap = soacs.redomap(exp.width, (array,), (pair,), function)
    nonzero, zeros = build.let_many(redomap, ("product", "zeros"))
    build.bind((result,), core.Copy(product_of(build, nonzero, zeros)))

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if adjoint is None or array not in sweep.activity:
            return

        def others(inner: Builder, x: Name) -> Name:
            return inner.mul(product_of_others(inner, x, nonzero, zeros), adjoint)

        (own,) = build.map((array,), others)
        adjoints.add(build, array, own)

    return Reversed(tuple(build.statements), back)
