"""Splits maps of the host, and clears the pieces of what their positions decide."""

from __future__ import annotations

from typing import Any

from minifut.analysis.facts import Facts
from minifut.ir.core import Assert, Body, Function, If, Loop, Match, Program, Stm
from minifut.ir.node import replace
from minifut.ir.scope import Scope, scope_of
from minifut.ir.soacs import Screma
from minifut.ir.traverse import map_bodies
from minifut.names import NameSource
from minifut.passes.remove_checks.driver import remove_checks
from minifut.passes.remove_checks.rules import FactContext
from minifut.passes.simplify.driver import simplify
from minifut.passes.split.split_map import split_map
from minifut.rewrite.trace import Derivation, Trace


def split_index_sets(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """The program with maps split into pieces of which each does one thing."""
    walk = _Walk(names, scope_of(program), trace or Trace())
    functions = tuple(map(walk.function, program.functions))
    if not walk.changed:
        return program
    program = replace(program, functions=functions)
    return simplify(remove_checks(program, names, trace), names)


class _Walk:
    def __init__(self, names: NameSource, scope: Scope, trace: Trace) -> None:
        self.facts = Facts(scope)
        self.context = FactContext(names, scope, self.facts, Derivation(trace))
        self.changed = False

    def function(self, function: Function) -> Function:
        with self.facts.inner():
            self.facts.natural_sizes(function.parameters, all_sizes=True)
            return replace(function, body=self.body(function.body))

    def body(self, body: Body) -> Body:
        with self.facts.inner():
            made: list[Stm] = []
            for statement in body.statements:
                for new in self.statement(statement):
                    self.facts.define(new)
                    if isinstance(new.exp, Assert):
                        self.facts.assume(new.exp.condition, True, "a check")
                    made.append(new)
            return replace(body, statements=tuple(made))

    def statement(self, statement: Stm) -> tuple[Stm, ...]:
        exp: Any = statement.exp
        if isinstance(exp, If | Loop | Match):
            return (replace(statement, exp=map_bodies(exp, self.body)),)
        if not isinstance(exp, Screma) or statement.attributes:
            return (statement,)
        outcome = split_map(statement, self.context)
        if not isinstance(outcome, tuple):
            return (statement,)
        self.changed = True
        return outcome
