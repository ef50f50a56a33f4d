r"""Judgements: flattening rules as rewritings, and how a judgement is read and left.

The judgement Σ ⊢ e, "the expression e at each point of the map nest Σ", is itself a
program: `segmap grid Σ { e }`, in which every point runs e in one thread. So each rule
is a rewriting of such a statement, and every step of a derivation is a legal program:

    segmap grid (i < n) { let xs = xss[i]  redomap op f xs }        Σ ⊢ redomap op f xs
    segred grid (i < n, j < m) {op} { let xs = xss[i]  f xs[j] }

    @rule(label="Gr", paper=SLIDES)
    def flatten_reduce(judgement: Judgement, context: NestContext) -> Answer: ...

The rule emits into `context.build` what computes the statement's results in the nest,
bound to the pattern. In the examples of its docstring, what a rule leaves to others
is shown as the judgement that is left.
"""

from __future__ import annotations

from typing import TypeAlias

from minifut.ir import builder, core, types
from minifut.ir.node import replace
from minifut.ir.sizes import ONE
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.rewrite.rule import Declined, Emitted

SLIDES = "Regular flattening"
FUTHARK = "the Futhark compiler's flattening"
PPOPP = "Incremental flattening for nested data parallelism (PPoPP'19)"

Answer: TypeAlias = Emitted | Declined | None


def leave(judgement: Judgement, context: NestContext) -> bool:
    """Emit the judgement as it is: each point of the nest is a thread that runs the
    whole statement; with no nest there is one thread."""
    nest, statement, pattern = judgement
    build = context.build
    own = tuple(replace(p, name=build.names.like(p.name)) for p in statement.pattern)
    build.scope.update((p.name, p.type) for p in own)
    inner = replace(statement, pattern=own)
    if nest.depth:
        kernel = Judgement(nest, inner, pattern).as_statement(context).exp
        context.emit(pattern, kernel)
        return True
    nest = nest.inside(context.fresh_index("i"), ONE)
    boxed = tuple(
        p
        if isinstance(p.type, types.AccType)
        else core.Param(build.names.like(p.name), types.array_of(p.type, (ONE,)))
        for p in pattern
    )
    context.emit(boxed, Judgement(nest, inner, boxed).as_statement(context).exp)
    for bound, box in zip(pattern, boxed, strict=True):
        if bound is not box:
            context.emit((bound,), core.Index(box.name, (builder.i64(0),)))
    return True
