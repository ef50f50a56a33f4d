"""Adjoints of scatters: written values get what is in their places.

    ys = scatter xs is vs   →   vs' = map (\\i -> ys'[i]) is;   xs' = scatter ys' is 0

What was overwritten gets nothing; what was written out of bounds neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minifut.ir import core, soacs
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Param, Stm
from minifut.ir.sizes import Size
from minifut.ir.soacs import Scatter, ScatterDestination
from minifut.ir.types import I64, array_of, row_type
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import fit
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.operators import identity, is_identity
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed, Rewrite
from minifut.passes.sequential_parts import in_bounds
from minifut.rewrite.rule import rule


def gather(build: Builder, source: Name, indices: Sequence[Name]) -> Name:
    """For each element the part of `source` at its indices; 0 out of bounds."""

    def element(inner: Builder, *at: Name) -> Name:
        return part_at(inner, source, at)

    return build.map(indices, element, ("gathered",))[0]


def part_at(build: Builder, source: Name, at: Sequence[Atom]) -> Name:
    """The part of an array at indices; 0 out of bounds."""
    shape = build.shape(source)[: len(at)]
    return where_inside(build, at, shape, lambda then: then.index(source, *at), "part")


def where_inside(
    build: Builder,
    at: Sequence[Atom],
    shape: Sequence[Size],
    find: Callable[[Builder], Atom],
    base: str,
) -> Name:
    """What is found at indices; 0 out of bounds."""
    inside = in_bounds(build, tuple(at), tuple(shape))
    with build.body() as then, build.body() as otherwise:
        part = find(then)
        type_ = then.type(part)
        found = then.finish(part)
        nothing = otherwise.finish(otherwise.zero(type_))
    pattern = build.parameters((type_,), base)
    return build.bind(pattern, core.If(inside, found, nothing))[0]


def before_lambda(
    build: Builder, width: Size, arrays: tuple[Name, ...], function: core.Lambda
) -> tuple[Name, ...]:
    """The arrays that the lambda of a SOAC gives, made by a map."""
    if is_identity(function):
        return arrays
    pattern = tuple(
        Param(build.names.fresh("mapped"), array_of(type_, (width,)))
        for type_ in function.results
    )
    return build.bind(pattern, soacs.map_(width, arrays, function))


@rule(paper="SC 2022, section 5.3")
def vjp_split_scatter(statement: Stm, sweep: ReverseSweep) -> Rewrite | None:
    r"""A map, then a scatter for each destination.

    before:
        given (n: i64, is: [n]i64, xs: [n]f64)
        let z: [4]f64 = replicate([4], 0.0f64)
        let r: [4]f64 = scatter(n, (is, xs), (z rank 1 count 1), \(i: i64,
            x: f64) -> (i64, f64) {
          let q: f64 = mul_f64(x, x)
          return i, q
        })
    after:
        let z: [4]f64 = replicate([4], 0.0f64)
        let (mapped: [n]i64, mapped_1: [n]f64) = map(n, (is, xs), \(i: i64,
            x: f64) -> (i64, f64) {
          let q: f64 = mul_f64(x, x)
          return i, q
        })
        let r: [4]f64 = scatter(n, (mapped, mapped_1), (z rank 1 count 1), \(x_1: i64,
            x_2: f64) -> (i64, f64) {x_1, x_2})
    """
    exp = statement.exp_of(Scatter)
    if is_identity(exp.function) and len(exp.destinations) == 1:
        return None
    build = sweep.builder(statement)
    made = before_lambda(build, exp.width, exp.arrays, exp.function)
    writes = zip(exp.destinations, statement.pattern, exp.writes(made), strict=True)
    for destination, result, own in writes:
        indices = [array for index, _ in own for array in index]
        given = (*indices, *[value for _, value in own])
        types = [build.type(array) for array in given]
        rows = [row_type(type_) for type_ in types]
        one = Scatter(exp.width, given, (destination,), identity(build, rows))
        build.bind((result,), one)
    return tuple(build.statements)


@rule(paper="SC 2022, section 5.3")
def vjp_scatter(statement: Stm, sweep: ReverseSweep) -> Reversed:
    r"""A gather for the values; 0 is written to the adjoint of the destination.

    before:
        given (n: i64, is: [n]i64, ys: [4]f64, xs: [n]f64)
        let ys_1: [4]f64 = manifest((0), ys)
        let scattered: [4]f64 = scatter(n, (is, xs), (ys_1 rank 1 count 1), \(x: i64,
            x_1: f64) -> (i64, f64) {x, x_1})
    after:
        like before, then
        let gathered: [n]f64 = map(n, (is), \(x_2: i64) -> (f64) {
          let le: bool = le_i64(0i64, x_2)
          let lt: bool = lt_i64(x_2, 4i64)
          let and: bool = and_bool(le, lt)
          return if and then {
            let w_1: f64 = scattered_seed[x_2]
            return w_1
          } else {0.0f64}
        })
        let kept: [4]f64 = scatter(n, (is), (scattered_seed rank 1 count 1),
            \(x_3: i64) -> (i64,
            f64) {x_3, 0.0f64})
        return scattered, kept, gathered
    """
    exp = statement.exp_of(Scatter)
    (destination,), (result,) = exp.destinations, statement.pattern
    rank, count = destination.rank, destination.count
    indices, values = exp.arrays[: rank * count], exp.arrays[rank * count :]

    def back(build: Builder, adjoints: Adjoints) -> None:
        adjoint = adjoints.of(result.name)
        if not isinstance(adjoint, Name):
            return
        for n, value in enumerate(values):
            if value in sweep.activity:
                at = indices[n * rank : (n + 1) * rank]
                adjoints.add(build, value, gather(build, adjoint, at))
        if destination.array not in sweep.activity:
            return
        nothing = []
        for value in values:
            nothing.append(build.zero(row_type(build.type(value))))

        def overwrite(_: Builder, *at: Name) -> list[Atom]:
            return [*at, *nothing]

        function = build.function([I64] * len(indices), overwrite)
        left = ScatterDestination(adjoint, rank, count)
        kept = build.let(Scatter(exp.width, indices, (left,), function), "kept")
        adjoints.add(build, destination.array, fit(build, kept, result.type))

    return Reversed((statement,), back)
