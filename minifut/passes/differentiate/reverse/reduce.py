r"""Adjoints of reductions, by what the operator is.

+          every element gets the adjoint of the sum
min max    the first element that is it gets the adjoint
*          the product of all others; zeros are counted
others     y = l_i ⊙ x_i ⊙ r_i, with l and r from two exclusive scans
"""

from __future__ import annotations

from minifut.ir import core, soacs
from minifut.ir.builder import Builder, constant, i64
from minifut.ir.core import Atom, Body, DimSlice, Lambda, Stm
from minifut.ir.scalar_identities import integer_range
from minifut.ir.soacs import Reduce, Screma
from minifut.ir.types import I64, ScalarType, Type
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import choose
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.folds import as_loop, only_fold, takes
from minifut.passes.differentiate.reverse.operators import (
    all_scalar,
    apply,
    copy,
    flipped,
    identity,
    scalar_operator,
)
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule

LAST = integer_range(I64)[1]
"""the index of no element"""


def _reduce_by(statement: Stm, *names: str) -> Reduce | None:
    """The reduction, if it is one with this scalar operator."""
    exp = statement.exp
    assert isinstance(exp, Screma)
    fold = only_fold(exp)
    if not isinstance(fold, Reduce) or scalar_operator(fold.operator) not in names:
        return None
    return fold


@rule(paper="SC 2022, section 5.1")
def vjp_reduce_add(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    """A sum: its adjoint is that of every element."""
    fold = _reduce_by(statement, "add")
    exp = statement.exp
    assert isinstance(exp, Screma)
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
    """A minimum or maximum: the index is found, too, and that element gets it all."""
    fold = _reduce_by(statement, "min", "max")
    exp = statement.exp
    assert isinstance(exp, Screma)
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
        nothing = constant(0, type_)

        def only_there(inner: Builder, i: Name) -> Name:
            return choose(inner, inner.op("eq", i, place), adjoint, nothing)

        places = build.iota(exp.width)
        (own,) = build.map((places,), build.function((I64,), only_there))
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
    """A product: each element gets the product of the others, by a division; where
    there are zeros, at most the only zero gets something."""
    fold = _reduce_by(statement, "mul")
    exp = statement.exp
    assert isinstance(exp, Screma)
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

        (own,) = build.map((array,), build.function((type_,), others))
        adjoints.add(build, array, own)

    return Reversed(tuple(build.statements), back)


@rule(paper="SC 2022, section 5.1")
def vjp_reduce(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    """Any associative operator: the result is l ⊙ x ⊙ r for each element x, with what
    is left and right of it."""
    exp = statement.exp
    assert isinstance(exp, Screma)
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
    return build.slice(array, DimSlice(last, width, i64(-1)))


def _from_both_sides(
    exp: Screma,
    fold: Reduce,
    sweep: ReverseSweep,
    build: Builder,
    adjoints: Adjoints,
    results: list[Atom | None],
) -> None:
    left = exclusive(build, exp, copy(build, fold.operator), exp.arrays)
    reversed_ = tuple(backwards(build, array) for array in exp.arrays)
    right = exclusive(build, exp, flipped(build, fold.operator), reversed_)
    last = build.size_atom(exp.width - 1)
    flags = sweep.activity.of(exp.arrays)
    places = build.iota(exp.width)

    def element(inner: Builder, i: Name, *xs: Name) -> list[Atom]:
        ls = before(inner, left, fold.neutral, i)
        rs = before(inner, right, fold.neutral, inner.sub(last, i))
        with inner.body() as whole:
            rest = apply(whole, fold.operator, [*xs, *rs])
            body = Body((), apply(whole, fold.operator, [*ls, *rest]))
        own = adjoints.child()
        for x, flag in zip(xs, flags, strict=True):
            if flag:
                sweep.activity.names.add(x)
        sweep.again(inner, Body(tuple(whole.statements), body.result), own, results)
        pairs = zip(xs, flags, strict=True)
        return [own.or_zero(inner, x) for x, flag in pairs if flag]

    types: list[Type] = [I64, *fold.operator.results]
    function = build.function(types, element)
    made = build.let_many(soacs.map_(exp.width, (places, *exp.arrays), function))
    active = [array for array, flag in zip(exp.arrays, flags, strict=True) if flag]
    for array, adjoint in zip(active, made, strict=True):
        adjoints.add(build, array, adjoint)
