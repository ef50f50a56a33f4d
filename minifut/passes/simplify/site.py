"""What a simplification rule may look at, and how it answers.

A rule is a function `rule(site, pattern, exp)`. It answers with another expression for
the same pattern, with `Instead(statements, atoms)` that takes the whole statement's
place, or with a refusal. What it emits into `site.build` comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Copy, Exp, Param, Stm
from minifut.ir.node import replace
from minifut.names import Name
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.rule import Site as RewriteSite


@dataclass(frozen=True, slots=True)
class Instead:
    """These statements, and for each element of the pattern an atom that it equals."""

    statements: tuple[Stm, ...]
    atoms: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """`definitions`: the expressions behind names bound alone by a statement before."""

    build: Builder
    definitions: dict[Name, Exp]

    def definition(self, atom: Atom) -> Exp | None:
        """What a name stands for, if known."""
        return self.definitions.get(atom) if isinstance(atom, Name) else None


Pattern: TypeAlias = tuple[Param, ...]
Answer: TypeAlias = Any
"""an expression, `Instead`, `Declined` or None"""
Simplification: TypeAlias = Callable[[Site, Pattern, Any], Answer]


def simplification(
    kind: type | tuple[type, ...],
) -> Callable[[Simplification], Simplification]:
    """Enters a function for expressions of these classes into the registry of rules;
    it stays the plain function that the sweep calls."""

    def enter(function: Simplification) -> Simplification:
        def rewrite(statement: Stm, site: RewriteSite) -> Outcome:
            if not isinstance(statement.exp, kind):
                return None
            known = {n: s.exp for n, s in site.definitions.items() if _is_alone(s)}
            inner = Site(site.builder(statement), known)
            answer = function(inner, statement.pattern, statement.exp)
            return _outcome(statement, inner, answer)

        rewrite.__doc__ = function.__doc__
        rewrite.__module__ = function.__module__
        rule(function.__name__)(rewrite)
        return function

    return enter


def _is_alone(statement: Stm) -> bool:
    return len(statement.pattern) == 1


def _outcome(statement: Stm, site: Site, answer: Answer) -> Outcome:
    if answer is None or isinstance(answer, Declined):
        return answer
    before = tuple(site.build.statements)
    if not isinstance(answer, Instead):
        return (*before, replace(statement, exp=answer))
    copies = tuple(
        Stm((bound,), Copy(atom))
        for bound, atom in zip(statement.pattern, answer.atoms, strict=True)
        if atom != bound.name
    )
    return (*before, *answer.statements, *copies)
