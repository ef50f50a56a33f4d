r"""Adjoints of maps: a map that runs the lambda again and goes back through it.

    ys = map (\x -> f x a bs) xs
  →
    (bs', as', xs') = map (\x, y', acc -> the sweeps of f) xs ys' (with bs' as acc)
    a' = sum as'

Scalar code is run again rather than read from memory. A reduction inside is not: the
forward sweep keeps its results, so that a nest of maps around one computes it once, and
not once more for each level.

    ys = map (\xs -> (sum xs) ** 2) xss
  →
    (ys, tape) = map (\xs -> let s = sum xs in (s ** 2, s)) xss
    xss' = map (\y', s -> replicate n (2 * s * y')) ys' tape

What the lambda mentions of the outside gets contributions from every element: those of
a scalar are summed, those of an array go to an accumulator. An array of the map whose
adjoint is an accumulator already is updated in place, row by row.
"""

from __future__ import annotations

from dataclasses import field

from minifut.ir.accumulators import AccInput, WithAcc
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Lambda, Param, Stm
from minifut.ir.node import immutable, mutable, replace
from minifut.ir.scope import greatest_rank
from minifut.ir.soacs import Reduce, Screma, map_
from minifut.ir.types import I64, ArrayType, array_of, element_of, row_type, shape_of
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import adder, total
from minifut.passes.differentiate.reverse.adjoints import (
    Adjoints,
    accumulate,
    is_accumulator,
)
from minifut.passes.differentiate.reverse.sweep import ReverseSweep, SweptBody
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


@rule(paper="SC 2022, section 5.4")
def vjp_map(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""The return sweep is a map, too, over the same arrays, the adjoints of the
    results and what was kept of reductions inside.

    before:
        given (n: i64, xs: [n]f64, a: f64)
        let mapped: [n]f64 = map(n, (xs), \(xs_1: f64) -> (f64) {mul_f64(xs_1, a)})
    after:
        let mapped: [n]f64 = map(n, (xs), \(xs_1: f64) -> (f64) {mul_f64(xs_1, a)})
        let (x: f64, x_1: [n]f64) = redomap(n, (xs, mapped_seed),
          reduce commutative(add_f64, (0.0f64)),
          \(xs_2: f64, adj: f64) -> (f64, f64) {
            let mul_1: f64 = mul_f64(a, adj)
            let mul_2: f64 = mul_f64(xs_2, adj)
            return mul_2, mul_1
          })
        return mapped, x_1, x
    """
    exp = statement.exp_of(Screma)
    if not exp.is_map:
        return None

    swept = _sweep(statement, exp, sweep)

    def back(build: Builder, adjoints: Adjoints) -> None:
        results = adjoints.of_pattern(statement.pattern)
        if any(results):
            plan = _plan(exp, swept, sweep, build, adjoints, results)
            if plan.accumulated or plan.summed or plan.mapped:
                _emit(plan, build, adjoints)

    return Reversed((swept.forward,), back)


@immutable
class _Swept:
    """The forward sweep of a map: its statement, which gives the arrays `tape` as well,
    the parameters of the lambda, and its body."""

    forward: Stm
    tape: tuple[Name, ...]
    parameters: tuple[Param, ...]
    body: SweptBody


def _sweep(statement: Stm, exp: Screma, sweep: ReverseSweep) -> _Swept:
    """Sweep a copy of the lambda forward; what is kept of it goes on tapes."""
    build = sweep.builder(statement)
    function: Lambda = sweep.context.copy(exp.function)
    sweep.activity.mark(function.parameters, sweep.activity.of(exp.arrays))
    own = [parameter.name for parameter in function.parameters]
    rank = greatest_rank(statement, build.scope)
    body = sweep.swept(build, own, function.body, rank - 1)
    if not body.kept:
        return _Swept(statement, (), function.parameters, body)
    results = (*body.again.result, *[p.name for p in body.kept])
    found = (*function.results, *[p.type for p in body.kept])
    whole = Lambda(function.parameters, Body(body.statements, results), found)
    made = map_(exp.width, exp.arrays, sweep.context.copy(whole))
    arrays = [array_of(p.type, (exp.width,)) for p in body.kept]
    tape = build.parameters(arrays, "tape")
    forward = replace(statement, pattern=(*statement.pattern, *tape), exp=made)
    return _Swept(forward, tuple(p.name for p in tape), function.parameters, body)


@mutable
class _Plan:
    """The map of the return sweep. Its lambda gives the accumulators, then what is
    contributed to the names `summed`, then the adjoints of elements of `mapped`.

    `converted` are the arrays that become accumulators for this map, `accumulated`
    names whose adjoints are accumulators in it, with what goes in: a root, or an
    accumulator of the outside.
    """

    exp: Screma
    given: tuple[Name, ...]
    parameters: list[Param] = field(default_factory=list)
    accumulated: dict[Name, Name] = field(default_factory=dict)
    converted: dict[Name, tuple[AccInput, Param]] = field(default_factory=dict)
    summed: list[Name] = field(default_factory=list)
    mapped: list[Name] = field(default_factory=list)
    function: Lambda | None = None


def _plan(
    exp: Screma,
    swept: _Swept,
    sweep: ReverseSweep,
    build: Builder,
    adjoints: Adjoints,
    results: list[Atom | None],
) -> _Plan:
    """Build the lambda, then see to what it contributes."""
    names = sweep.mentioned(exp.function)
    held = [a for a in dict.fromkeys(exp.arrays) if _holds(build, adjoints, a)]
    names += [array for array in held if array not in names]
    present = [r for r in results if isinstance(r, Name)]
    plan = _Plan(exp, (*exp.arrays, *present, *swept.tape))
    rows = build.parameters([row_type(build.type(r)) for r in present], "adj")
    waiting = iter(rows)
    given = [None if result is None else next(waiting).name for result in results]
    inner, own = build.nested(), adjoints.child(without=names)
    places = {n: _accumulator(plan, sweep, build, adjoints, n) for n in names}
    inside = {n: p for n, p in places.items() if p is not None}
    own.values |= {name: parameter.name for name, parameter in inside.items()}
    swept.body.back(inner, own, given)
    pairs = list(zip(swept.parameters, exp.arrays, strict=True))
    found = [(p.name, array) for p, array in pairs if own.of(p.name) is not None]
    index = build.parameters((I64,), "i") if any(a in held for _, a in found) else ()
    for name, array in found:
        if array in held:
            acc, row, at = own.values[array], own.values[name], (index[0].name,)
            own.values[array] = accumulate(inner, acc, at, row)
    for name in names:
        if name not in inside and own.of(name) is not None:
            plan.summed.append(name)
        elif name in inside and own.values[name] == inside[name].name:
            del plan.accumulated[name]
            plan.converted.pop(name, None)
    kept = [inside[name] for name in plan.accumulated]
    mapped = [(name, array) for name, array in found if array not in held]
    plan.mapped = [array for _, array in mapped]
    atoms: list[Atom] = [own.values[name] for name in plan.accumulated]
    atoms += [own.or_zero(inner, name) for name in plan.summed]
    atoms += [own.or_zero(inner, name) for name, _ in mapped]
    types = inner.types(atoms)
    if index:
        plan.given = (*plan.given, build.iota(exp.width))
    parameters = (*swept.parameters, *rows, *swept.body.kept, *index, *kept)
    plan.function = Lambda(parameters, inner.finish(*atoms), types)
    return plan


def _holds(build: Builder, adjoints: Adjoints, array: Name) -> bool:
    """Whether the adjoint of an array is in an accumulator."""
    adjoint = adjoints.of(array)
    return adjoint is not None and is_accumulator(build, adjoint)


def _accumulator(
    plan: _Plan, sweep: ReverseSweep, build: Builder, adjoints: Adjoints, name: Name
) -> Param | None:
    """The lambda's parameter for the accumulator of a name; None if it has none."""
    before, type_ = adjoints.values.get(name), build.type(name)
    if before is not None and is_accumulator(build, before):
        assert isinstance(before, Name)
        plan.accumulated[name] = before
        return build.parameters((build.type(before),), "acc")[0]
    if not sweep.context.may_accumulate or not isinstance(type_, ArrayType):
        return None
    start = adjoints.or_zero(build, name)
    assert isinstance(start, Name)
    element = element_of(type_)
    nothing = (build.zero(element),)
    item = AccInput(shape_of(type_), (start,), nothing, adder(build, element))
    root = build.accumulator(item)
    build.scope[root.name] = root.type
    plan.converted[name] = item, root
    plan.accumulated[name] = root.name
    return build.parameters((root.type,), "acc")[0]


def _emit(plan: _Plan, build: Builder, adjoints: Adjoints) -> None:
    """The map, inside of a `WithAcc` if arrays become accumulators; the result is
    noted."""
    names = list(plan.accumulated)
    inner = build.nested() if plan.converted else build
    made = list(_map(plan, inner, build))
    if plan.converted:
        order = sorted(range(len(names)), key=lambda n: names[n] not in plan.converted)
        names = [names[n] for n in order]
        result = [*[made[n] for n in order], *made[len(names) :]]
        items, roots = zip(
            *[plan.converted[n] for n in names if n in plan.converted], strict=True
        )
        function = Lambda(roots, inner.finish(*result), inner.types(result))
        made = list(build.let_many(WithAcc(items, function)))
    adjoints.values.update(zip(names, made, strict=False))
    made = made[len(names) :]
    for name, adjoint in zip(plan.summed, made, strict=False):
        summed = total(build, adjoint) if plan.accumulated else adjoint
        adjoints.add(build, name, summed)
    for array, adjoint in zip(plan.mapped, made[len(plan.summed) :], strict=True):
        adjoints.add(build, array, adjoint)


def _map(plan: _Plan, inner: Builder, build: Builder) -> tuple[Name, ...]:
    """The map; without accumulators it sums, too."""
    assert plan.function is not None
    reduces: tuple[Reduce, ...] = ()
    if not plan.accumulated:
        types = build.types(plan.summed)
        reduces = tuple(
            Reduce(adder(build, type_), (build.zero(type_),), commutative=True)
            for type_ in types
        )
    given = (*plan.given, *plan.accumulated.values())
    exp = Screma(plan.exp.width, given, (), reduces, plan.function)
    return inner.let_many(exp)
