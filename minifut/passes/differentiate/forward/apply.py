r"""`jvp` itself: the function's statements with those of the tangents.

let (y, ys') = jvp(f, (x), (xs'), [n])   →   let y = f x
                                             let ys' = map (\x' -> f' x x') xs'
"""

from __future__ import annotations

from minifut.ir.builder import Builder
from minifut.ir.core import Atom
from minifut.ir.derivatives import Jvp
from minifut.names import Name
from minifut.passes.differentiate.arithmetic import fit
from minifut.passes.differentiate.context import Context, without_checks
from minifut.passes.differentiate.forward.sweep import Tangents


def apply_jvp(context: Context, build: Builder, exp: Jvp) -> tuple[Atom, ...]:
    """Emits the derivative; its results, then their tangents."""
    if not exp.shape:
        return _single(context, build, exp, exp.seeds)
    body = build.bound(exp.function, exp.arguments)
    build.extend(body.statements)
    silent = Jvp(without_checks(exp.function), exp.arguments, exp.seeds)
    seeds = [seed for seed in exp.seeds if isinstance(seed, Name)]

    def tangents(inner: Builder, *rows: Name) -> tuple[Atom, ...]:
        found = _single(context, inner, silent, rows)
        pairs = zip(found[len(body.result) :], build.types(body.result), strict=True)
        return tuple(fit(inner, atom, type_) for atom, type_ in pairs)

    return (*body.result, *build.map(seeds, tangents))


def _single(
    context: Context, build: Builder, exp: Jvp, seeds: tuple[Atom, ...]
) -> tuple[Atom, ...]:
    """One tangent for each result."""
    sweep = Tangents(context, context.activity())
    start = len(build.statements)
    body = build.bound(exp.function, exp.arguments)
    names = [p for s in build.statements[start:] for p in s.pattern]
    sweep.activity.mark(names, [True] * len(names))
    for parameter, seed in zip(names, seeds, strict=True):
        sweep.values[parameter.name] = fit(build, seed, parameter.type)
    sweep.statements(build, body.statements)
    return (*body.result, *sweep.results(build, body.result, [True] * len(body.result)))
