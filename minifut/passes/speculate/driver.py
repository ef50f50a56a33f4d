"""Tries the branches of all functions of SOACs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minifut.ir.core import If, Iota, Lambda, Loop, Program, Stm
from minifut.ir.node import replace
from minifut.ir.scope import scope_of
from minifut.ir.search import nodes_of
from minifut.names import Name, NameSource
from minifut.passes.flatten.cheap import is_scalar_code
from minifut.passes.remove_checks.driver import FactsWalk
from minifut.passes.simplify.driver import simplify
from minifut.passes.speculate import folds
from minifut.passes.speculate.branches import is_short_branch, pays, speculate_branch
from minifut.rewrite.rule import Rule
from minifut.rewrite.trace import Trace

LARGEST = 400
"""statements of a function of which vectors are made"""


def speculate(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Compute both sides of short branches where all elements exist that these read."""
    if not any(
        is_short_branch(n) or folds.folded_side(n) for n in nodes_of(If, program)
    ):
        return program
    sweep = _Walk(names, scope_of(program), trace or Trace())
    functions = tuple(map(sweep.function, program.functions))
    if not sweep.changed:
        return program
    return simplify(replace(program, functions=functions), names)


class _Walk(FactsWalk):
    """Tries branches of the functions of SOACs, inner ones first."""

    rules: Mapping[type, tuple[Rule, ...]] = {}
    finds_invariants = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.own: set[Name] = set()
        self.numbers: frozenset[Name] = frozenset()
        self.in_vectors = False
        """whether the function of the SOAC is scalar code, of which vectors are made"""
        self.changed = False

    def statement(self, statement: Stm) -> tuple[Stm, ...]:
        statement = replace(statement, exp=self.inside(statement.exp))
        self.own.update(p.name for p in statement.pattern)
        exp = statement.exp
        if isinstance(exp, If) and exp.condition in self.own:
            cheap = pays(exp, self.in_vectors)
            outcome = speculate_branch(statement, self.context) if cheap else None
            if not isinstance(outcome, tuple) and folds.is_for_all_but_one(
                exp, self.facts, self.numbers
            ):
                outcome = folds.fold_before_branch(statement, self.context)
            if isinstance(outcome, tuple):
                self.changed = True
                return outcome
        return (statement,)

    def combinator(self, exp: Any) -> Any:
        numbers = self.numbers
        self.numbers = frozenset(
            parameter.name
            for parameter, array in zip(
                exp.function.parameters, exp.arrays, strict=True
            )
            if isinstance(self.facts.definition(array), Iota)
        )
        changed = super().combinator(exp)
        self.numbers = numbers
        return changed

    def node(self, node: Any) -> Any:
        own = self.own
        if isinstance(node, Lambda):
            self.own = {p.name for p in node.parameters}
        changed = super().node(node)
        self.own = own
        return changed

    def of_points(self, function: Lambda) -> Lambda:
        own, in_vectors = self.own, self.in_vectors
        self.own = {p.name for p in function.parameters}
        self.in_vectors = is_scalar_code(function.body.statements, LARGEST)
        changed = super().of_points(function)
        self.own, self.in_vectors = own, in_vectors
        return changed

    def loop(self, exp: Loop) -> Loop:
        own, self.own = self.own, set()
        changed = super().loop(exp)
        self.own = own
        return changed
