"""Adjoints of minima, maxima and products.

Of equal minima the first counts. A product without one factor is a quotient, or, where
factors are 0, known from their number.
"""

from minifut.ir import core, soacs
from minifut.ir.builder import Builder, constant, i64
from minifut.ir.core import Atom, Lambda, Stm
from minifut.ir.scalars import integer_range
from minifut.ir.soacs import Reduce, Screma
from minifut.ir.types import I64, ScalarType
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import choose
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.element import add_through_element
from minifut.passes.differentiate.reverse.operators import (
    all_scalar,
    identity,
    scalar_operator,
)
from minifut.passes.differentiate.reverse.reduce import reduce_by
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule

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
          let chosen: f64 = if eq_1 then {reduced_seed} else {0.0f64}
          return chosen
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
