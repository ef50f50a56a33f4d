r"""The adjoint of a map of whose results one element counts (`vjp_reduce_extreme`).

    ys = map f xs; y = ys[i]   →   xs'[i] += the return sweep of f xs[i]

Adjoints of the other elements are 0, so that `f` is swept once, not for each of them.
(Schenck et al., SC 2022, section 5.1; sparse adjoints.)
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.accumulators import AccInput
from minifut.ir.builder import Builder
from minifut.ir.core import Atom
from minifut.ir.soacs import Screma
from minifut.ir.types import element_of, shape_of
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import adder
from minifut.passes.differentiate.reverse.adjoints import (
    Adjoints,
    accumulate,
    is_accumulator,
)
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.sequential_parts import in_bounds


def add_through_element(
    sweep: ReverseSweep,
    build: Builder,
    adjoints: Adjoints,
    made: tuple[Screma, int],
    place: Name,
    adjoint: Atom,
) -> None:
    """Contribute to what a result of a map is computed from, where `adjoint` is that of
    its element at `place`; outside of bounds, nothing. `made` is the map and the number
    of the result."""
    exp, number = made
    function = sweep.copy_of_function(exp.function)
    sweep.activity.mark(function.parameters, sweep.activity.of(exp.arrays))
    inside = in_bounds(build, (place,), (exp.width,))
    then, otherwise, own = build.nested(), build.nested(), adjoints.child()
    for parameter, array in zip(function.parameters, exp.arrays, strict=True):
        then.bind((parameter,), core.Index(array, (place,)))
    results: list[Atom | None] = [None] * len(function.results)
    results[number] = adjoint
    sweep.again(then, function.body, own, results)
    names = adjoints.changed(own, sweep.mentioned(exp.function))
    pairs = list(zip(function.parameters, exp.arrays, strict=True))
    rows = [(p, array) for p, array in pairs if own.of(p.name) is not None]
    found = [own.or_zero(then, name) for name in names]
    found += [own.or_zero(then, p.name) for p, _ in rows]
    nothing = [adjoints.or_zero(otherwise, name) for name in names]
    nothing += [otherwise.zero(p.type) for p, _ in rows]
    if not found:
        return
    pattern = build.parameters(build.types(found), "adj")
    branches = then.finish(*found), otherwise.finish(*nothing)
    made_names = build.bind(pattern, core.If(inside, *branches))
    adjoints.values.update(zip(names, made_names, strict=False))
    for (_, array), row in zip(rows, made_names[len(names) :], strict=True):
        _add_row(build, adjoints, array, place, row)


def _add_row(
    build: Builder, adjoints: Adjoints, array: Name, place: Name, row: Name
) -> None:
    """Contribute to a row of an array; outside of bounds, nothing."""
    start = adjoints.or_zero(build, array)
    assert isinstance(start, Name)
    if is_accumulator(build, start):
        adjoints.values[array] = accumulate(build, start, (place,), row)
        return
    type_ = build.type(array)
    element = element_of(type_)
    nothing = (build.zero(element),)
    item = AccInput(shape_of(type_), (start,), nothing, adder(build, element))
    (adjoints.values[array],) = build.with_acc(
        [item], lambda inner, acc: [accumulate(inner, acc, (place,), row)]
    )
