"""Both sweeps of reverse mode over a body.

    a = f x; y = g a     →     a = f x; y = g a;        forward sweep
                               a' = dg a y'; x' = df x a'     return sweep

The forward sweep emits each statement, or what its rule makes of it, and collects what
makes the return sweep, which runs backwards. Bodies inside (of a branch, loop or map)
are run again in the return sweep, where their own two sweeps stand: so nothing inside
them has to be kept, at the cost of one more run for each level of nesting (SC 2022,
section 4). A map keeps what a reduction inside it has found, though (`map`). What is
not needed, later passes drop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minifut.errors import InternalError
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Lambda, Stm
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names
from minifut.names import Name
from minifut.passes.differentiate.activity import Activity
from minifut.passes.differentiate.context import Context, without_checks
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.rules import ReturnSweep, Reversed
from minifut.rewrite.rule import Declined


class ReverseSweep:
    """Makes sweeps; `activity` knows the active names, `maps` which map made an array,
    and as which of its results."""

    def __init__(self, context: Context, activity: Activity) -> None:
        self.context = context
        self.activity = activity
        self.maps: dict[Name, tuple[Screma, int]] = {}

    def builder(self, statement: Stm) -> Builder:
        """A builder whose statements stand where this one does."""
        return self.context.builder(statement)

    def adjoints(self) -> Adjoints:
        """No adjoints yet."""
        return Adjoints(self.context, self.activity)

    def forward(self, build: Builder, statements: Iterable[Stm]) -> list[ReturnSweep]:
        """Emit the forward sweep; what makes the return sweep, in order."""
        found = []
        for statement in statements:
            if any(self.activity.statement(statement)):
                if isinstance(statement.exp, Screma) and statement.exp.is_map:
                    for number, parameter in enumerate(statement.pattern):
                        self.maps[parameter.name] = statement.exp, number
                outcome = self.active(statement)
                build.extend(outcome.forward)
                found.append(outcome.back)
            else:
                build.append(statement)
        return found

    def active(self, statement: Stm) -> Reversed:
        """The sweeps of an active statement, by the first rule that fires."""
        for rule in self.context.reverse.get(type(statement.exp), ()):
            outcome: Reversed | Declined | None = rule.outcome(statement, self)
            if outcome is None:
                continue
            if isinstance(outcome, Declined):
                self.context.note(rule, statement, outcome)
                continue
            self.context.note(rule, statement, outcome.forward)
            return outcome
        kind = type(statement.exp).__name__
        raise InternalError("differentiate", f"no rule of reverse mode for {kind}")

    def through(self, build: Builder, statements: Iterable[Stm]) -> Reversed:
        """Statements that stand for another one, swept in its place."""
        inner = build.nested()
        backs = self.forward(inner, statements)

        def back(build: Builder, adjoints: Adjoints) -> None:
            run_back(build, backs, adjoints)

        return Reversed(tuple(inner.statements), back)

    # --- bodies inside ---

    def again(
        self,
        build: Builder,
        body: Body,
        adjoints: Adjoints,
        results: Sequence[Atom | None],
    ) -> None:
        """Run a body again, for the adjoints of its results; those of what it mentions
        are in `adjoints` afterwards. The body's names must be its own."""
        backs = self.forward(build, body.statements)
        return_sweep(build, backs, adjoints, body.result, results)

    def copy(self, body: Body) -> Body:
        """A copy of a body to run again, without checks."""
        copied: Body = self.context.copy(without_checks(body))
        return copied

    def copy_of_function(self, function: Lambda) -> Lambda:
        """A copy of a lambda to run again, without checks."""
        copied: Lambda = self.context.copy(without_checks(function))
        return copied

    def mentioned(self, *nodes: object) -> list[Name]:
        """The active names that the nodes take from outside, in a fixed order."""
        free: set[Name] = set().union(*[free_names(node) for node in nodes])
        return sorted(free & self.activity.names, key=lambda name: name.tag)


def return_sweep(
    build: Builder,
    backs: Sequence[ReturnSweep],
    adjoints: Adjoints,
    result: Sequence[Atom],
    given: Sequence[Atom | None],
) -> None:
    """The return sweep of a body, with the adjoints `given` of its result."""
    for atom, adjoint in zip(result, given, strict=True):
        adjoints.add(build, atom, adjoint)
    run_back(build, backs, adjoints)


def run_back(build: Builder, backs: Sequence[ReturnSweep], adjoints: Adjoints) -> None:
    """The return sweep of statements in a row."""
    for back in reversed(backs):
        back(build, adjoints)
