"""What fusion carries through a program: names, types and the trace of its rules."""

from __future__ import annotations

from dataclasses import dataclass

from minifut.ir.core import Stm
from minifut.ir.scope import Scope
from minifut.names import Name, NameSource
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, Rule
from minifut.rewrite.trace import Trace


@dataclass(frozen=True, slots=True, eq=False)
class Fusing:
    """`attempt` tries a rule on two statements."""

    names: NameSource
    scope: Scope
    trace: Trace

    def attempt(
        self, rule: Rule, statement: Stm, producer: Stm, needed: frozenset[Name]
    ) -> tuple[Stm, ...] | None:
        """What replaces both statements; None if the rule does not fire."""
        definitions = {bound.name: producer for bound in producer.pattern}
        context = StatementContext(self.names, self.scope, definitions, needed=needed)
        outcome: Outcome = rule(statement, context)
        if isinstance(outcome, Declined):
            self.trace.refuse(rule, statement, outcome.reason)
            return None
        return outcome
