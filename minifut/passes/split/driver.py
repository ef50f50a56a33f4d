"""Splits maps, and clears the pieces of what their positions decide."""

from __future__ import annotations

from typing import Any

from minifut.ir.core import Function, If, Loop, Match, Program, Stm
from minifut.ir.node import replace
from minifut.ir.scope import Scope, scope_of
from minifut.ir.search import contains, nodes_of
from minifut.ir.soacs import Screma
from minifut.names import NameSource
from minifut.passes.remove_checks.driver import FactsWalk
from minifut.passes.simplify.driver import simplify
from minifut.passes.split.split_map import selects, split_map
from minifut.rewrite.trace import Trace


def split_index_sets(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Split maps that select by position into an interior and borders."""
    walk = _Walk(names, scope_of(program), trace or Trace())
    functions = tuple(map(walk.function, program.functions))
    if not walk.changed:
        return program
    return simplify(replace(program, functions=functions), names)


class _Walk(FactsWalk):
    """Splits the maps that the host runs, and those that a loop in a map runs again and
    again; the other maps inside of maps stay, as they are dimensions of one space."""

    sought = (Screma,)
    changed = False
    splits = True

    def __init__(self, names: NameSource, scope: Scope, trace: Trace) -> None:
        super().__init__(names, scope, trace)
        self.clear = FactsWalk(names, scope, trace)
        self.clear.facts, self.clear.context = self.facts, self.context

    def function(self, function: Function) -> Function:
        chosen = any(map(selects, nodes_of(Screma, function)))
        return super().function(function) if chosen else function

    def statement(self, statement: Stm) -> tuple[Stm, ...]:
        exp: Any = statement.exp
        if isinstance(exp, If | Loop | Match):
            return (self.within(statement, self.splits or isinstance(exp, Loop)),)
        if not isinstance(exp, Screma) or statement.attributes:
            return (statement,)
        outcome = split_map(statement, self.context) if self.splits else None
        if not isinstance(outcome, tuple):
            # maps of loops alone are split there
            inner = contains(exp, Loop)
            return (self.within(statement, False) if inner else statement,)
        self.changed = True
        return self.cleared(outcome)

    def cleared(self, pieces: tuple[Stm, ...]) -> tuple[Stm, ...]:
        """The pieces without the checks and branches that their positions decide."""
        self.context.scope.update(scope_of(*pieces))
        with self.facts.inner():
            return self.clear.statements(pieces)

    def within(self, statement: Stm, splits: bool) -> Stm:
        """The statement with its bodies walked, and maps in them split or not."""
        around, self.splits = self.splits, splits
        inside = self.inside(statement.exp)
        self.splits = around
        return replace(statement, exp=inside)
