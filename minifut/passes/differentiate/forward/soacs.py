r"""Tangents of SOACs: their lambdas and operators take and give tangents, too.

    map (\x -> f x) xs               →   map (\(x, x') -> {f x, f' x x'}) xs xs'
    reduce (\(a, b) -> a * b) 1 xs   →   reduce (\(a, a', b, b') -> {a * b, ..}) (1, 0)

An operator with tangents is associative if the operator is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from minifut.ir import soacs
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Lambda, Param, Stm
from minifut.ir.node import divided, flagged, replace
from minifut.ir.types import Type
from minifut.passes.differentiate.activity import Flags
from minifut.passes.differentiate.forward.sweep import Tangents
from minifut.passes.differentiate.rules import Rewrite
from minifut.rewrite.rule import rule

T = TypeVar("T")


def operator_with_tangents(
    sweep: Tangents, build: Builder, operator: Lambda, flags: Flags
) -> Lambda:
    """Takes a value and its tangents on either side."""
    count = len(flags)
    left, right = operator.parameters[:count], operator.parameters[count:]
    left_tangents = sweep.parameters(left, flags)
    right_tangents = sweep.parameters(right, flags)
    body = sweep.body(build, operator.body, flags)
    results = (*operator.results, *flagged(operator.results, flags))
    return Lambda((*left, *left_tangents, *right, *right_tangents), body, results)


def neutral_with_tangents(
    build: Builder, neutral: tuple[Atom, ...], flags: Flags
) -> tuple[Atom, ...]:
    """The tangents of neutral elements are 0."""
    own = flagged(neutral, flags)
    return (*neutral, *[build.zero(build.type(atom)) for atom in own])


def _interleaved(
    held: Sequence[T], tangents: Sequence[T], groups: Sequence[Flags]
) -> list[T]:
    """For each group what belongs to its values, then to their tangents."""
    found: list[T] = []
    values, own = iter(held), iter(tangents)
    for flags in groups:
        found += [next(values) for _ in flags]
        found += [next(own) for flag in flags if flag]
    return found


@rule(paper="SC 2022")
def jvp_screma(statement: Stm, sweep: Tangents) -> Rewrite:
    r"""A map, reduction or scan of values and tangents.

    before:
        given (n: i64, xs: [n]f64)
        let reduced: f64 = redomap(n, (xs),
          reduce commutative(mul_f64, (1.0f64)),
          \(x: f64) -> (f64) {x})
    after:
        let (reduced: f64, reduced_tan: f64) = redomap(n, (xs, xs_seed),
          reduce commutative(\(xs_1: f64, xs_tan: f64, xs_2: f64,
              xs_tan_1: f64) -> (f64, f64) {
            let mul: f64 = mul_f64(xs_1, xs_2)
            let mul_1: f64 = mul_f64(xs_2, xs_tan)
            let mul_2: f64 = mul_f64(xs_1, xs_tan_1)
            let add: f64 = add_f64(mul_1, mul_2)
            return mul, add
          }, (1.0f64, 0.0f64)),
          \(x: f64, x_tan: f64) -> (f64, f64) {x, x_tan})
        return reduced, reduced_tan
    """
    exp = statement.exp_of(soacs.Screma)
    build = sweep.builder(statement)
    inputs = sweep.activity.of(exp.arrays)
    arrays = sweep.arrays(build, exp.arrays, inputs)
    flags = sweep.activity.of([p.name for p in statement.pattern])
    of_folds = divided(flags, [len(fold.neutral) for fold in exp.folds])
    groups = [*of_folds, flags[sum(map(len, of_folds)) :]]
    function = _function(sweep, build, exp.function, inputs, groups)
    folds = [
        replace(
            fold,
            operator=operator_with_tangents(sweep, build, fold.operator, own),
            neutral=neutral_with_tangents(build, fold.neutral, own),
        )
        for fold, own in zip(exp.folds, of_folds, strict=True)
    ]
    scans, reduces = divided(folds, (len(exp.scans), len(exp.reduces)))
    soac = replace(
        exp,
        arrays=(*exp.arrays, *arrays),
        scans=scans,
        reduces=reduces,
        function=function,
    )
    tangents = sweep.parameters(statement.pattern, flags)
    build.bind(tuple(_interleaved(statement.pattern, tangents, groups)), soac)
    return tuple(build.statements)


def _function(
    sweep: Tangents,
    build: Builder,
    function: Lambda,
    inputs: Flags,
    groups: list[Flags],
) -> Lambda:
    """The lambda on values and tangents, its results grouped as `groups`."""
    flags = tuple(flag for group in groups for flag in group)
    tangents = sweep.parameters(function.parameters, inputs)
    body = sweep.body(build, function.body, flags)
    count = len(flags)
    result = _interleaved(body.result[:count], body.result[count:], groups)
    own = [sweep.type(type_) for type_ in flagged(function.results, flags)]
    types: list[Type] = _interleaved(function.results, own, groups)
    parameters: tuple[Param, ...] = (*function.parameters, *tangents)
    return Lambda(parameters, Body(body.statements, tuple(result)), tuple(types))


@rule(paper="SC 2022")
def jvp_scatter(statement: Stm, sweep: Tangents) -> Rewrite:
    r"""The tangents are written where the values are written.

    before:
        given (n: i64, is: [n]i64, xs: [n]f64)
        let replicated: [4]f64 = replicate([4], 0.0f64)
        let scattered: [4]f64 = scatter(n, (is, xs), (replicated rank 1 count 1),
            \(x: i64, x_1: f64) -> (i64, f64) {x, x_1})
    after:
        let replicated: [4]f64 = replicate([4], 0.0f64)
        let zeros: [4]f64 = replicate([4], 0.0f64)
        let (scattered: [4]f64, scattered_tan: [4]f64) = scatter(n, (is, xs, xs_seed),
            (replicated rank 1 count 1, zeros rank 1 count 1), \(x: i64, x_1: f64,
            x_tan: f64) -> (i64, i64, f64, f64) {x, x, x_1, x_tan})
        return scattered, scattered_tan
    """
    exp = statement.exp_of(soacs.Scatter)
    build = sweep.builder(statement)
    inputs = sweep.activity.of(exp.arrays)
    arrays = sweep.arrays(build, exp.arrays, inputs)
    flags = sweep.activity.of([p.name for p in statement.pattern])
    counts = [d.rank * d.count for d in exp.destinations]
    groups = [(f,) * d.count for d, f in zip(exp.destinations, flags, strict=True)]
    places = range(sum(counts))
    of_places = tuple(False for _ in places)
    function = _function(sweep, build, exp.function, inputs, [of_places, *groups])
    order: list[int] = []
    for own, flag in zip(divided(places, counts), flags, strict=True):
        order += own * (1 + flag)
    order += range(len(places), len(function.results))
    function = replace(
        function,
        body=Body(
            function.body.statements, tuple(function.body.result[n] for n in order)
        ),
        results=tuple(function.results[n] for n in order),
    )
    given = sweep.arrays(build, [d.array for d in exp.destinations], flags)
    active = flagged(exp.destinations, flags)
    tangents = [replace(d, array=a) for d, a in zip(active, given, strict=True)]
    pairs = [(flag,) for flag in flags]
    destinations = _interleaved(exp.destinations, tangents, pairs)
    whole = (*exp.arrays, *arrays)
    soac = soacs.Scatter(exp.width, whole, tuple(destinations), function)
    made = sweep.parameters(statement.pattern, flags)
    build.bind(tuple(_interleaved(statement.pattern, made, pairs)), soac)
    return tuple(build.statements)


@rule(paper="SC 2022")
def jvp_hist(statement: Stm, sweep: Tangents) -> Rewrite:
    r"""A histogram of values and tangents.

    before:
        like before of vjp_hist_chunks, with
        0.0f64 => 1.0f64
        hypot_f64 => mul_f64
    after:
        let replicated: [4]f64 = replicate([4], 1.0f64)
        let zeros: [4]f64 = replicate([4], 0.0f64)
        let (histogram: [4]f64, histogram_tan: [4]f64) = hist(n, (is, xs, xs_seed),
          bins([4], (replicated, zeros), (1.0f64, 0.0f64), \(xs_1: f64, xs_tan: f64,
              xs_2: f64, xs_tan_1: f64) -> (f64, f64) {
            let mul: f64 = mul_f64(xs_1, xs_2)
            let mul_1: f64 = mul_f64(xs_2, xs_tan)
            let mul_2: f64 = mul_f64(xs_1, xs_tan_1)
            let add: f64 = add_f64(mul_1, mul_2)
            return mul, add
          }),
          \(x: i64, x_1: f64, x_tan: f64) -> (i64, f64, f64) {x, x_1, x_tan})
        return histogram, histogram_tan
    """
    exp = statement.exp_of(soacs.Hist)
    build = sweep.builder(statement)
    inputs = sweep.activity.of(exp.arrays)
    arrays = sweep.arrays(build, exp.arrays, inputs)
    flags = sweep.activity.of([p.name for p in statement.pattern])
    groups = divided(flags, [len(o.destinations) for o in exp.operators])
    bins = (False,) * sum(len(o.shape) for o in exp.operators)
    function = _function(sweep, build, exp.function, inputs, [bins, *groups])
    operators = []
    for operator, own in zip(exp.operators, groups, strict=True):
        destinations = sweep.arrays(build, operator.destinations, own)
        operators.append(
            soacs.HistOp(
                operator.shape,
                (*operator.destinations, *destinations),
                neutral_with_tangents(build, operator.neutral, own),
                operator_with_tangents(sweep, build, operator.operator, own),
            )
        )
    soac = soacs.Hist(exp.width, (*exp.arrays, *arrays), tuple(operators), function)
    tangents = sweep.parameters(statement.pattern, flags)
    build.bind(tuple(_interleaved(statement.pattern, tangents, groups)), soac)
    return tuple(build.statements)
