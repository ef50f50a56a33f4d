r"""Adjoints of maps: a map that runs the lambda again and goes back through it.

    ys = map (\x -> f x a) xs
  →
    (a', xs') = redomap (+) (\x, y' -> the sweeps of f) xs ys'

What the lambda mentions of the outside gets a contribution from every element, summed.
"""

from __future__ import annotations

from minifut.ir import soacs
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Lambda, Stm
from minifut.ir.types import row_type
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import adder, zero
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule


@rule(paper="SC 2022, section 5.4")
def vjp_map(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    """The return sweep is a map, too, over the same arrays and the adjoints of the
    results."""
    exp = statement.exp
    assert isinstance(exp, soacs.Screma)
    if not exp.is_map:
        return None

    def back(build: Builder, adjoints: Adjoints) -> None:
        results = adjoints.of_pattern(statement.pattern)
        present = [result for result in results if isinstance(result, Name)]
        if present:
            _return_sweep(exp, sweep, build, adjoints, results, present)

    return Reversed((statement,), back)


def _return_sweep(
    exp: soacs.Screma,
    sweep: ReverseSweep,
    build: Builder,
    adjoints: Adjoints,
    results: list[Atom | None],
    present: list[Name],
) -> None:
    names = sweep.mentioned(exp.function)
    function = sweep.copy_of_function(exp.function)
    sweep.activity.mark(function.parameters, sweep.activity.of(exp.arrays))
    rows = build.parameters([row_type(build.type(r)) for r in present], "adj")
    waiting = iter(rows)
    given = [None if result is None else next(waiting).name for result in results]
    inner, own = build.nested(), adjoints.child(without=names)
    sweep.again(inner, function.body, own, given)
    changed = [name for name in names if own.of(name) is not None]
    pairs = list(zip(function.parameters, exp.arrays, strict=True))
    mapped = [(p.name, array) for p, array in pairs if own.of(p.name) is not None]
    if not changed and not mapped:
        return
    atoms = [own.or_zero(inner, n) for n in (*changed, *[p for p, _ in mapped])]
    types = inner.types(atoms)
    reduces = tuple(
        soacs.Reduce(adder(build, t), (zero(build, t),), commutative=True)
        for t in build.types(changed)
    )
    soac = soacs.Screma(
        exp.width,
        (*exp.arrays, *present),
        (),
        reduces,
        Lambda((*function.parameters, *rows), inner.finish(*atoms), types),
    )
    made = build.let_many(soac, [f"{n.base}_adj" for n in changed])
    for name, adjoint in zip(changed, made, strict=False):
        adjoints.add(build, name, adjoint)
    for (_, array), adjoint in zip(mapped, made[len(changed) :], strict=True):
        adjoints.add(build, array, adjoint)
