r"""`vjp` itself: a forward sweep, then a return sweep for the adjoints of the results.

    let (y, xs') = vjp(f, (x), (ys'), [n])   →   the forward sweep of f x, then
                                                 map (\y' -> the return sweep) ys'

With many seeds the forward sweep is run once.
"""

from __future__ import annotations

from minifut.ir.builder import Builder
from minifut.ir.core import Atom
from minifut.ir.derivatives import Vjp
from minifut.names import Name
from minifut.passes.differentiate.context import Context
from minifut.passes.differentiate.reverse.sweep import ReverseSweep, run_back


def apply_vjp(context: Context, build: Builder, exp: Vjp) -> tuple[Atom, ...]:
    """Emits the derivative; the results, then the adjoints of the arguments."""
    sweep = ReverseSweep(context, context.activity())
    start = len(build.statements)
    body = build.bound(exp.function, exp.arguments)
    arguments = [p.name for s in build.statements[start:] for p in s.pattern]
    sweep.activity.names.update(arguments)
    backs = sweep.forward(build, body.statements)

    def back(inner: Builder, *seeds: Atom) -> tuple[Atom, ...]:
        adjoints = sweep.adjoints()
        for atom, seed in zip(body.result, seeds, strict=True):
            adjoints.add(inner, atom, seed)
        run_back(inner, backs, adjoints)
        return tuple(adjoints.or_zero(inner, name) for name in arguments)

    if not exp.shape:
        return (*body.result, *back(build, *exp.seeds))
    seeds = tuple(seed for seed in exp.seeds if isinstance(seed, Name))
    return (*body.result, *build.map(seeds, back))
