r"""Adjoints of histograms by operators that are affine in each argument.

    hist (\a b -> a + b + c * a * b) is xs
    →  us = map (\x -> 1 + c * x) xs
       the adjoint of x is that of its bin, times the product of the other us in it

Let u(b) be the derivative of `a op b` in a, in which a does not occur. The derivatives
of (a op b) op c = a op (b op c) in a are u(c) * u(b) = u(b op c): what op combines, u
turns into products. So the derivative of what is in a bin in one of its values is the
product of the u of the others, for which zeros are counted as in `vjp_hist_mul`. There
are no chunks, which get fewer the more bins there are.

Without that condition, an operator that can be inverted has the derivative
u(neutral, whole) / u(neutral, x), with u(a, b) the derivative in a, by the same
argument. This is not used: it loses digits where u comes from numbers that cancel,
and is 0 / 0 for operators as usual as sums of exponentials.
"""

from __future__ import annotations

from minifut.ir.builder import Builder, constant
from minifut.ir.core import Atom, Body, Copy, Lambda, ScalarOp, Stm
from minifut.ir.soacs import Hist
from minifut.ir.types import ScalarType, element_of
from minifut.names import Name
from minifut.passes.differentiate.reverse import folds, hist_special, operators
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


@rule(paper="IFL 2023")
def vjp_hist_affine(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""An operator that is affine in each argument: products of derivatives.

    before:
        like before of vjp_hist_chunks, with
        hypot_f64 => \(xs_1: f64, xs_2: f64) -> (f64) {
        => let add: f64 = add_f64(xs_1, xs_2)
        => let mul: f64 = mul_f64(xs_1, xs_2)
        => return add_f64(add, mul)
        => }
    after:
        like before, then
        let x_2: [n]f64 = map(n, (xs), \(x_3: f64) -> (f64) {add_f64(x_3, 1.0f64)})
        let x_4: [4]f64 = replicate([4], 1.0f64)
        let x_5: [4]i64 = replicate([4], 0i64)
        let x_6: [n]f64 = map(n, (x_2), \(x_7: f64) -> (f64) {
          let eq: bool = eq_f64(x_7, 0.0f64)
          return if eq then {1.0f64} else {x_7}
        })
        let x_8: [n]i64 = map(n, (x_2), \(x_9: f64) -> (i64) {
          let eq_1: bool = eq_f64(x_9, 0.0f64)
          return if eq_1 then {1i64} else {0i64}
        })
        let (x_10: [4]f64, x_11: [4]i64) = hist(n, (is, x_6, x_8),
          bins([4], (x_4, x_5), (1.0f64, 0i64), \(x_12: f64, x_13: i64, x_14: f64,
              x_15: i64) -> (f64, i64) {
            let mul_1: f64 = mul_f64(x_12, x_14)
            let add_2: i64 = add_i64(x_13, x_15)
            return mul_1, add_2
          }),
          \(x_16: i64, x_17: f64, x_18: i64) -> (i64, f64, i64) {x_16, x_17, x_18})
        let x_19: [n]f64 = map(n, (is, x_2), \(x_20: i64, x_21: f64) -> (f64) {
          let le: bool = le_i64(0i64, x_20)
          let lt: bool = lt_i64(x_20, 4i64)
          let and: bool = and_bool(le, lt)
          return if and then {
            let x_22: f64 = x_10[x_20]
            let x_23: i64 = x_11[x_20]
            let w_99: f64 = histogram_seed[x_20]
            let eq_2: bool = eq_f64(x_21, 0.0f64)
            let eq_3: bool = eq_i64(x_23, 1i64)
            let and_1: bool = and_bool(eq_2, eq_3)
            let chosen_2: f64 = if and_1 then {x_22} else {0.0f64}
            let div: f64 = div_f64(x_22, x_21)
            let eq_4: bool = eq_i64(x_23, 0i64)
            let chosen_3: f64 = if eq_4 then {div} else {chosen_2}
            return mul_f64(chosen_3, w_99)
          } else {0.0f64}
        })
        return histogram, x_19
    """
    exp = statement.exp_of(Hist)
    (operator,) = exp.operators
    function = operator.operator
    while (inner := operators.row_operator(function)) is not None:
        function = inner
    if not is_affine(function) or not folds.takes(function, sweep):
        return None
    (result,), (destination,) = statement.pattern, operator.destinations

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if not isinstance(adjoint, Name):
            return
        zero, one = (constant(n, element_of(build.type(adjoint))) for n in (0, 1))

        def derivative(inner: Builder, b: Name) -> Atom:
            a = inner.let(Copy(zero), "a")
            sweep.activity.names.add(a)
            with inner.body() as whole:
                made = whole.apply(function, (a, b))
            own = adjoints.child()
            sweep.again(inner, Body(tuple(whole.statements), made), own, (one,))
            return own.or_zero(inner, a)

        factors = hist_special.elementwise(build, derivative, (exp.arrays[-1],))
        first = hist_special.elementwise(build, derivative, (destination,))
        nonzero, zeros = hist_special.products(build, exp, first, factors)
        of_bins = (nonzero, zeros, adjoint)
        hist_special.add_others(build, adjoints, exp, (factors, first), of_bins)

    return Reversed((statement,), back)


def is_affine(operator: Lambda) -> bool:
    """Whether an operator on floats is a polynomial of degree 1 in each argument."""
    if len(operator.results) != 1 or not isinstance(operator.results[0], ScalarType):
        return False
    a, b = (parameter.name for parameter in operator.parameters)
    degrees: dict[Atom, Degree] = {a: (1, 0), b: (0, 1)}
    for statement in operator.body.statements:
        exp = statement.exp
        if not isinstance(exp, ScalarOp):
            return False
        found = _degree(exp, [degrees.get(x, (0, 0)) for x in exp.operands])
        if found is None:
            return False
        degrees[statement.pattern[0].name] = found
    (result,) = operator.body.result
    return operator.results[0].is_float and degrees.get(result) == (1, 1)


Degree = tuple[int, int]


def _degree(exp: ScalarOp, operands: list[Degree]) -> Degree | None:
    """The degrees in both arguments, if it is a polynomial in them."""
    match exp.operator.name:
        case _ if not any(map(any, operands)):
            return (0, 0)
        case "add" | "sub" | "neg":
            left, right = zip(*operands, strict=True)
            return max(left), max(right)
        case "mul":
            left, right = zip(*operands, strict=True)
            return sum(left), sum(right)
        case "div" if operands[1] == (0, 0):
            return operands[0]
    return None
