r"""Adjoints of histograms, by what the operator is, as those of reductions.

+          each value gets the adjoint of its bin
min max    the value that is in the bin
*          the product of all others in the bin; zeros are counted
others     a loop over the values
"""

from __future__ import annotations

from collections.abc import Callable

from minifut.ir import core
from minifut.ir.builder import Builder, constant, i64
from minifut.ir.core import Atom, ForLoop, Stm
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, HistOp, map_
from minifut.ir.types import I64, ScalarType, row_type
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import choose
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.folds import takes
from minifut.passes.differentiate.reverse.operators import (
    all_scalar,
    apply,
    component,
    components,
    copy,
    identity,
    is_identity,
    row_operator,
    scalar_operator,
)
from minifut.passes.differentiate.reverse.reduce import (
    LAST,
    extreme_operator,
    factor,
    product_of,
    product_of_others,
    product_operator,
)
from minifut.passes.differentiate.reverse.scatter import (
    before_lambda,
    gather,
    in_bounds,
)
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


def hist_of(
    build: Builder, width: Size, arrays: tuple[Name, ...], operator: HistOp
) -> Hist:
    """A histogram of arrays as they are: bins, then values."""
    types = [row_type(build.type(array)) for array in arrays]
    return Hist(width, arrays, (operator,), identity(build, types))


@rule()
def vjp_split_hist(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    """A map, then a histogram for each group of independent components."""
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


@rule(paper="SC 2022, section 5.1")
def vjp_hist_add(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    """Sums: each value gets the adjoint of its bin, the destination that of the
    result."""
    exp = statement.exp
    assert isinstance(exp, Hist)
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
                own = gather(build, adjoint, bins, exp.width)
                adjoints.add(build, values, own)

    return Reversed((statement,), back)


@rule(paper="SC 2022, section 5.1")
def vjp_hist_extreme(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    """Minima or maxima: the index of each is found, too."""
    exp = statement.exp
    assert isinstance(exp, Hist)
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
        (operator.neutral[0], i64(LAST)),
        extreme_operator(build, name, type_),
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
            at = gather(build, places, bins, exp.width)
            part = gather(build, adjoint, bins, exp.width)
            function = build.function((I64, I64, type_), own)
            soac = map_(exp.width, (build.iota(exp.width), at, part), function)
            adjoints.add(build, values, build.let(soac, "own"))
        if destination in sweep.activity:

            def kept(inner: Builder, place: Name, part: Name) -> Name:
                return own(inner, place, i64(-1), part)  # type: ignore[arg-type]

            made = elementwise(build, kept, (places, adjoint))
            adjoints.add(build, destination, made)

    return Reversed(tuple(build.statements), back)


def elementwise(
    build: Builder, make: Callable[..., Name], arrays: tuple[Name, ...]
) -> Name:
    """A function of scalars on each element of arrays of one shape."""
    types = [row_type(build.type(array)) for array in arrays]
    if all_scalar(types):
        function = build.function(types, make)
    else:
        function = build.function(
            types, lambda inner, *rows: elementwise(inner, make, rows)
        )
    return build.map(arrays, function)[0]


@rule(paper="SC 2022, section 5.1")
def vjp_hist_mul(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    """Products: each value gets the product of the others in its bin."""
    exp = statement.exp
    assert isinstance(exp, Hist)
    (operator,) = exp.operators
    type_ = operator.operator.results[0]
    if scalar_operator(operator.operator) != "mul" or not isinstance(type_, ScalarType):
        return None
    (result,), (destination,) = statement.pattern, operator.destinations
    *bins, values = exp.arrays
    build = sweep.builder(statement)

    def kept(inner: Builder, x: Name) -> Name:
        return factor(inner, x)[0]

    def zero_of(inner: Builder, x: Name) -> Name:
        return factor(inner, x)[1]

    pair = HistOp(
        operator.shape,
        (
            elementwise(build, kept, (destination,)),
            elementwise(build, zero_of, (destination,)),
        ),
        (operator.neutral[0], i64(0)),
        product_operator(build, type_),
    )
    factors = elementwise(build, kept, (values,))
    counts = elementwise(build, zero_of, (values,))
    arrays = (*bins, factors, counts)
    nonzero, zeros = build.let_many(hist_of(build, exp.width, arrays, pair))
    build.bind((result,), core.Copy(elementwise(build, product_of, (nonzero, zeros))))

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if not isinstance(adjoint, Name):
            return

        def others(inner: Builder, x: Name, p: Name, n: Name, part: Name) -> Name:
            return inner.mul(product_of_others(inner, x, p, n), part)

        if values in sweep.activity:
            parts = [
                gather(build, array, bins, exp.width)
                for array in (nonzero, zeros, adjoint)
            ]
            own = elementwise(build, others, (values, *parts))
            adjoints.add(build, values, own)
        if destination in sweep.activity:
            given = (destination, nonzero, zeros, adjoint)
            adjoints.add(build, destination, elementwise(build, others, given))

    return Reversed(tuple(build.statements), back)


@rule()
def vjp_hist_interchange(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    """A vectorised operator: a histogram for each column."""
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


@rule()
def vjp_hist(statement: Stm, sweep: ReverseSweep) -> Reversed:
    """Any operator: a loop that combines one value at a time."""
    exp = statement.exp
    assert isinstance(exp, Hist)
    (operator,) = exp.operators
    rank = len(operator.shape)
    bins, values = exp.arrays[:rank], exp.arrays[rank:]
    build = sweep.builder(statement)
    arrays = build.parameters([build.type(d) for d in operator.destinations], "hist")
    names = [parameter.name for parameter in arrays]
    index = build.names.fresh("i")
    build.scope[index] = I64
    with build.body() as inner:
        at: list[Atom] = [inner.index(array, index) for array in bins]
        inside = in_bounds(inner, at, operator.shape)
        with inner.body() as then, inner.body() as otherwise:
            old = [then.index(array, *at) for array in names]
            new = [then.index(array, index) for array in values]
            made = apply(then, operator.operator, [*old, *new])
            pairs = zip(names, made, strict=True)
            changed = then.finish(*[then.update(a, at, x) for a, x in pairs])
            same = otherwise.finish(*names)
        results = inner.parameters([p.type for p in arrays], "hist")
        following = inner.bind(results, core.If(inside, changed, same))
        body = inner.finish(*following)
    form = ForLoop(index, build.size_atom(exp.width), I64)
    build.bind(statement.pattern, core.Loop(arrays, operator.destinations, form, body))
    return sweep.through(build, build.statements)
