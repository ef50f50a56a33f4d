"""Adjoints of histograms of sums, minima, maxima and products.

As for reductions of these operators, in each bin; the destination is one more.
"""

from __future__ import annotations

from collections.abc import Callable

from minifut.ir import core
from minifut.ir.builder import Builder, constant, i64
from minifut.ir.core import Atom, Stm
from minifut.ir.soacs import Hist, HistOp
from minifut.ir.types import ScalarType, element_of, row_type, shape_of
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import choose
from minifut.passes.differentiate.reverse import reduce
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.folds import hist_of
from minifut.passes.differentiate.reverse.operators import all_scalar, scalar_operator
from minifut.passes.differentiate.reverse.scatter import gather, where_inside
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


@rule(paper="SC 2022, section 5.1")
def vjp_hist_add(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""Sums: each value gets its bin's adjoint, the destination that of the result.

    before:
        like before of vjp_hist_chunks, with
        hypot_f64 => add_f64
    after:
        like before, then
        let gathered: [n]f64 = map(n, (is), \(x_2: i64) -> (f64) {
          let le: bool = le_i64(0i64, x_2)
          let lt: bool = lt_i64(x_2, 4i64)
          let and: bool = and_bool(le, lt)
          return if and then {
            let w_1: f64 = histogram_seed[x_2]
            return w_1
          } else {0.0f64}
        })
        return histogram, gathered
    """
    exp = statement.exp_of(Hist)
    (operator,) = exp.operators
    if scalar_operator(operator.operator) != "add":
        return None
    (result,), (destination,) = statement.pattern, operator.destinations
    *bins, values = exp.arrays

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if isinstance(adjoint, Name):
            adjoints.add(build, destination, adjoint)
            if values in sweep.activity:
                own = gather(build, adjoint, bins)
                adjoints.add(build, values, own)

    return Reversed((statement,), back)


@rule(paper="SC 2022, section 5.1")
def vjp_hist_extreme(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""Minima or maxima: the index of each is found, too.

    before:
        like before of vjp_hist_chunks, with
        0.0f64 => -9.0f64
        hypot_f64 => \(a: f64, b: f64) -> (f64) {max_f64(a, b)}
    after:
        let replicated: [4]f64 = replicate([4], -9.0f64)
        let replicated_1: [4]i64 = replicate([4], -1i64)
        let iota_1: [n]i64 = iota i64 (n, 0i64, 1i64)
        let (x: [4]f64, x_1: [4]i64) = hist(n, (is, xs, iota_1),
          bins([4], (replicated, replicated_1), (-9.0f64, 9223372036854775807i64),
              \(x_2: f64, x_3: i64, x_4: f64, x_5: i64) -> (f64, i64) {
            let gt: bool = gt_f64(x_2, x_4)
            let eq: bool = eq_f64(x_2, x_4)
            let le: bool = le_i64(x_3, x_5)
            let and: bool = and_bool(eq, le)
            let or: bool = or_bool(gt, and)
            let ne: bool = ne_f64(x_4, x_4)
            let or_1: bool = or_bool(or, ne)
            let (x_6: f64, x_7: i64) = if or_1 then {x_2, x_3} else {x_4, x_5}
            return x_6, x_7
          }),
          \(x_8: i64, x_9: f64, x_10: i64) -> (i64, f64, i64) {x_8, x_9, x_10})
        let gathered: [n]i64 = map(n, (is), \(x_11: i64) -> (i64) {
          let le_1: bool = le_i64(0i64, x_11)
          let lt: bool = lt_i64(x_11, 4i64)
          let and_1: bool = and_bool(le_1, lt)
          return if and_1 then {
            let x_12: i64 = x_1[x_11]
            return x_12
          } else {0i64}
        })
        let gathered_1: [n]f64 = map(n, (is), \(x_13: i64) -> (f64) {
          let le_2: bool = le_i64(0i64, x_13)
          let lt_1: bool = lt_i64(x_13, 4i64)
          let and_2: bool = and_bool(le_2, lt_1)
          return if and_2 then {
            let w_1: f64 = histogram_seed[x_13]
            return w_1
          } else {0.0f64}
        })
        let iota_2: [n]i64 = iota i64 (n, 0i64, 1i64)
        let own: [n]f64 = map(n, (iota_2, gathered, gathered_1), \(x_14: i64,
            x_15: i64, x_16: f64) -> (f64) {
          let eq_1: bool = eq_i64(x_14, x_15)
          return if eq_1 then {x_16} else {0.0f64}
        })
        return x, own
    """
    exp = statement.exp_of(Hist)
    (operator,) = exp.operators
    name = scalar_operator(operator.operator)
    type_ = operator.operator.results[0]
    if name not in ("min", "max") or not isinstance(type_, ScalarType):
        return None
    (result,), (destination,) = statement.pattern, operator.destinations
    *bins, values = exp.arrays
    build = sweep.builder(statement)
    nowhere = build.replicate(operator.shape, i64(-1))
    pair = HistOp(
        operator.shape,
        (destination, nowhere),
        (operator.neutral[0], i64(reduce.LAST)),
        reduce.extreme_operator(build, name, type_),
    )
    indices = build.iota(exp.width)
    arrays = (*bins, values, indices)
    found, places = build.let_many(hist_of(build, exp.width, arrays, pair))
    build.bind((result,), core.Copy(found))

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if not isinstance(adjoint, Name):
            return
        nothing = constant(0, type_)

        def own(inner: Builder, i: Name, place: Name, part: Name) -> Name:
            return choose(inner, inner.op("eq", i, place), part, nothing)

        if values in sweep.activity:
            at, part = (gather(build, array, bins) for array in (places, adjoint))
            given = (build.iota(exp.width), at, part)
            adjoints.add(build, values, build.map(given, own, ("own",))[0])
        if destination in sweep.activity:

            def kept(inner: Builder, place: Name, part: Name) -> Name:
                return own(inner, place, i64(-1), part)  # type: ignore[arg-type]

            made = elementwise(build, kept, (places, adjoint))
            adjoints.add(build, destination, made)

    return Reversed(tuple(build.statements), back)


def elementwise(
    build: Builder, make: Callable[..., Atom], arrays: tuple[Name, ...]
) -> Name:
    """A function of scalars on each element of arrays of one shape."""
    return build.map(arrays, lambda inner, *rows: of_elements(inner, make, rows))[0]


def of_elements(
    build: Builder, make: Callable[..., Atom], values: tuple[Name, ...]
) -> Atom:
    """The same, or the function on scalars."""
    if all_scalar(build.types(values)):
        return make(build, *values)
    return elementwise(build, make, values)


@rule(paper="SC 2022, section 5.1")
def vjp_hist_mul(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""Products: each value gets the product of the others in its bin.

    before:
        like before of jvp_hist
    after:
        let x: [4]f64 = replicate([4], 1.0f64)
        let x_1: [4]i64 = replicate([4], 0i64)
        let x_2: [n]f64 = map(n, (xs), \(x_3: f64) -> (f64) {
          let eq: bool = eq_f64(x_3, 0.0f64)
          return if eq then {1.0f64} else {x_3}
        })
        let x_4: [n]i64 = map(n, (xs), \(x_5: f64) -> (i64) {
          let eq_1: bool = eq_f64(x_5, 0.0f64)
          return if eq_1 then {1i64} else {0i64}
        })
        let (x_6: [4]f64, x_7: [4]i64) = hist(n, (is, x_2, x_4),
          bins([4], (x, x_1), (1.0f64, 0i64), \(x_8: f64, x_9: i64, x_10: f64, x_11:
              i64) -> (f64, i64) {
            let mul: f64 = mul_f64(x_8, x_10)
            let add: i64 = add_i64(x_9, x_11)
            return mul, add
          }),
          \(x_12: i64, x_13: f64, x_14: i64) -> (i64, f64, i64) {x_12, x_13, x_14})
        let x_15: [4]f64 = map(4, (x_6, x_7), \(x_16: f64, x_17: i64) -> (f64) {
          let eq_2: bool = eq_i64(x_17, 0i64)
          return if eq_2 then {x_16} else {0.0f64}
        })
        let x_18: [n]f64 = map(n, (is, xs), \(x_19: i64, x_20: f64) -> (f64) {
          let le: bool = le_i64(0i64, x_19)
          let lt: bool = lt_i64(x_19, 4i64)
          let and: bool = and_bool(le, lt)
          return if and then {
            let x_21: f64 = x_6[x_19]
            let x_22: i64 = x_7[x_19]
            let w_99: f64 = histogram_seed[x_19]
            let eq_3: bool = eq_f64(x_20, 0.0f64)
            let eq_4: bool = eq_i64(x_22, 1i64)
            let and_1: bool = and_bool(eq_3, eq_4)
            let chosen_3: f64 = if and_1 then {x_21} else {0.0f64}
            let div: f64 = div_f64(x_21, x_20)
            let eq_5: bool = eq_i64(x_22, 0i64)
            let chosen_4: f64 = if eq_5 then {div} else {chosen_3}
            return mul_f64(chosen_4, w_99)
          } else {0.0f64}
        })
        return x_15, x_18
    """
    exp = statement.exp_of(Hist)
    (operator,) = exp.operators
    if scalar_operator(operator.operator) != "mul":
        return None
    (result,), (destination,) = statement.pattern, operator.destinations
    build = sweep.builder(statement)
    nonzero, zeros = products(build, exp, destination, exp.arrays[-1])
    build.bind(
        (result,), core.Copy(elementwise(build, reduce.product_of, (nonzero, zeros)))
    )

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if isinstance(adjoint, Name):
            given = (exp.arrays[-1], destination)
            add_others(build, adjoints, exp, given, (nonzero, zeros, adjoint))

    return Reversed(tuple(build.statements), back)


def products(
    build: Builder, exp: Hist, destination: Name, values: Name
) -> tuple[Name, Name]:
    """For each bin the product of the factors that are not 0, and how many are."""
    (operator,) = exp.operators
    row = row_type(build.type(values))

    def kept(inner: Builder, x: Name) -> Name:
        return reduce.factor(inner, x)[0]

    def zero_of(inner: Builder, x: Name) -> Name:
        return reduce.factor(inner, x)[1]

    first = elementwise(build, kept, (destination,))
    none = elementwise(build, zero_of, (destination,))
    factors = elementwise(build, kept, (values,))
    counts = elementwise(build, zero_of, (values,))
    bins = exp.arrays[:-1]
    if isinstance(row, ScalarType):
        neutral = constant(1, row), i64(0)
        function = reduce.product_operator(build, row)
        pair = HistOp(operator.shape, (first, none), neutral, function)
        arrays = (*bins, factors, counts)
        nonzero, zeros = build.let_many(hist_of(build, exp.width, arrays, pair))
        return nonzero, zeros

    def of_rows(name: str, destination: Name, values: Name, neutral: Atom) -> Name:
        start = build.replicate(shape_of(row), neutral)
        types = [row_type(build.type(values))] * 2
        function = build.function(
            types,
            lambda inner, *rows: elementwise(
                inner, lambda one, x, y: one.op(name, x, y), rows
            ),
        )
        one = HistOp(operator.shape, (destination,), (start,), function)
        return build.let(hist_of(build, exp.width, (*bins, values), one))

    one = constant(1, element_of(row))
    return of_rows("mul", first, factors, one), of_rows("add", none, counts, i64(0))


def add_others(
    build: Builder,
    adjoints: Adjoints,
    exp: Hist,
    factors: tuple[Name, Name],
    of_bins: tuple[Name, Name, Name],
) -> None:
    """Contribute the product of all other factors in the bin, times its adjoint, to a
    value and to a destination; `factors`: theirs, `of_bins`: see `products`, and the
    adjoint."""

    def others(inner: Builder, x: Name, p: Name, n: Name, part: Name) -> Name:
        return inner.mul(reduce.product_of_others(inner, x, p, n), part)

    (operator,) = exp.operators
    *bins, values = exp.arrays
    (destination,) = operator.destinations

    def of_value(inner: Builder, *given: Name) -> Name:
        *at, x = given

        def own(then: Builder) -> Atom:
            parts = [then.index(array, *at) for array in of_bins]
            return of_elements(then, others, (x, *parts))

        return where_inside(inner, at, operator.shape, own, "own")

    if values in adjoints.activity:
        (own,) = build.map((*bins, factors[0]), of_value)
        adjoints.add(build, values, own)
    if destination in adjoints.activity:
        own = elementwise(build, others, (factors[1], *of_bins))
        adjoints.add(build, destination, own)
