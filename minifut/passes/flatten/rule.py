r"""Flattening rules: how each is named, shown alone, and traced.

The judgement Σ ⊢ e, "the expression e at each point of the map nest Σ", is itself a
program: `segmap grid Σ { e }`, in which every point runs e in one thread. So each rule
is a rewriting of such a statement, and every step of a derivation is a legal program:

    segmap grid (i < n) { let xs = xss[i]  redomap op f xs }        Σ ⊢ redomap op f xs
    segred grid (i < n, j < m) {op} { let xs = xss[i]  f xs[j] }

    @flattening("Gr", SLIDES)
    def flatten_reduce(site, nest, statement, pattern) -> Answer: ...

The function emits into `site.build` what computes the statement's results in the nest,
bound to `pattern`, and answers True; or `Declined`; or None if the statement is not of
its kind. In the examples of its docstring, what a rule leaves to others stands as the
judgement that is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from minifut.ir.builder import Builder, i64
from minifut.ir.core import Index, Param, Stm
from minifut.ir.kernels import GRID, Returns, SegMap
from minifut.ir.node import replace
from minifut.ir.sizes import ONE
from minifut.ir.types import AccType, array_of
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site, returns
from minifut.passes.flatten.version_names import VersionNames
from minifut.rewrite.rule import Declined, Outcome, Rule, rule
from minifut.rewrite.rule import Site as RewriteSite

SLIDES = "Regular flattening"
FUTHARK = "the Futhark compiler's flattening"
PPOPP = "Incremental flattening for nested data parallelism (PPoPP'19)"

Pattern: TypeAlias = tuple[Param, ...]
Answer: TypeAlias = Literal[True] | Declined | None
Flattening: TypeAlias = Callable[[Site, Nest, Stm, Pattern], Answer]


@dataclass(frozen=True, slots=True, eq=False)
class FlatteningRule:
    """Applies `function` and notes in the trace what came of it."""

    rule: Rule
    function: Flattening

    def __call__(
        self, site: Site, nest: Nest, statement: Stm, pattern: Pattern
    ) -> bool:
        trace = site.trace
        if trace is None:
            return self.function(site, nest, statement, pattern) is True
        before = len(site.build.statements)
        position = len(trace.steps)
        trace.depth += 1
        answer = self.function(site, nest, statement, pattern)
        trace.depth -= 1
        if answer is None:
            return False
        shown = judgement(site, nest, statement, pattern)
        if isinstance(answer, Declined):
            # what it tried on the way came to nothing
            del trace.steps[position:]
            trace.refuse(self.rule, shown, answer.reason)
            return False
        inside = trace.steps[position:]
        del trace.steps[position:]
        trace.fire(self.rule, shown, tuple(site.build.statements[before:]))
        trace.steps.extend(inside)
        return True


def flattening(
    label: str = "", paper: str = FUTHARK, in_full: bool = False
) -> Callable[[Flattening], FlatteningRule]:
    """Enters a function into the registry of rules, as a rewriting of judgements. For
    `in_full` the examples show what all rules together make of what is left."""

    def enter(function: Flattening) -> FlatteningRule:
        def rewrite(statement: Stm, site: RewriteSite) -> Outcome:
            read = read_judgement(statement)
            build = Builder(site.names, site.scope, statement.location)
            known = {
                name: made.exp
                for name, made in site.definitions.items()
                if len(made.pattern) == 1
            }
            inner = Site(build, known, stay, stay, VersionNames())
            if in_full:
                from minifut.passes.flatten.driver import apply_rules, try_rules

                inner = Site(build, known, apply_rules, try_rules, VersionNames())
            answer = function(inner, *read, statement.pattern)
            return tuple(build.statements) if answer is True else answer

        rewrite.__doc__ = function.__doc__
        rewrite.__module__ = function.__module__
        return FlatteningRule(rule(function.__name__, label, paper)(rewrite), function)

    return enter


def read_judgement(statement: Stm) -> tuple[Nest, Stm]:
    """Σ and e of a judgement; an empty Σ if the statement is none."""
    exp = statement.exp
    if isinstance(exp, SegMap) and exp.level == GRID and exp.body.statements:
        *above, last = exp.body.statements
        values = [r.value for r in exp.body.result if isinstance(r, Returns)]
        if values == [p.name for p in last.pattern] and len(values) == len(exp.types):
            bound = frozenset(exp.space.indices)
            nest = Nest(exp.space.indices, exp.space.sizes, (), bound).then(above)
            return nest, last
    return Nest(), statement


def judgement(site: Site, nest: Nest, statement: Stm, pattern: Pattern) -> Stm:
    """Σ ⊢ e as a statement."""
    if not nest.depth:
        return replace(statement, pattern=pattern)
    body = returns(
        (*nest.statements, statement), tuple(p.name for p in statement.pattern)
    )
    types = tuple(p.type for p in statement.pattern)
    kernel = SegMap(site.level, nest.space, body, types)
    return Stm(pattern, kernel, (), statement.location)


def stay(site: Site, nest: Nest, statement: Stm, pattern: Pattern) -> bool:
    """Emit the judgement as it is, also where it is just a statement of the host."""
    if nest.depth:
        return leave(site, nest, statement, pattern)
    site.build.append(replace(statement, pattern=pattern))
    return True


def leave(site: Site, nest: Nest, statement: Stm, pattern: Pattern) -> bool:
    """Emit the judgement as it is: each point of the nest is a thread that runs the
    whole statement; with no nest there is one thread."""
    build = site.build
    own = tuple(replace(p, name=build.names.like(p.name)) for p in statement.pattern)
    build.scope.update((p.name, p.type) for p in own)
    inner = replace(statement, pattern=own)
    if nest.depth:
        kernel = judgement(site, nest, inner, pattern).exp
        site.emit(pattern, kernel)
        return True
    nest = nest.inside(site.fresh_index("i"), ONE)
    boxed = tuple(
        p
        if isinstance(p.type, AccType)
        else Param(build.names.like(p.name), array_of(p.type, (ONE,)))
        for p in pattern
    )
    site.emit(boxed, judgement(site, nest, inner, boxed).exp)
    for bound, box in zip(pattern, boxed, strict=True):
        if bound is not box:
            site.emit((bound,), Index(box.name, (i64(0),)))
    return True
