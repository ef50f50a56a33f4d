"""What differentiation carries through a program: names, types, functions, the trace.

A function that is still called inside a derivative (a recursive or large one) gets a
derivative that is a function of its own, made once for each choice of what is active.

Accumulators are made where no reverse mode is to go through them afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field
from typing import Any

from minifut.errors import CompileError, Location
from minifut.ir import core, scalars, traverse
from minifut.ir.builder import Builder
from minifut.ir.core import Body, Function, Program, Stm
from minifut.ir.node import mutable
from minifut.ir.scope import Scope, fresh_copy, scope_of
from minifut.names import Name, NameSource
from minifut.passes.differentiate.activity import Activity, Calls
from minifut.rewrite.rule import Declined, Rule
from minifut.rewrite.trace import Trace as Derivation


@mutable
class Context:
    """`derived` are functions that differentiation has made, by what they derive."""

    names: NameSource
    scope: Scope
    functions: dict[Name, Function]
    trace: Derivation
    calls: Calls
    may_accumulate: bool
    forward: Mapping[type, tuple[Rule, ...]]
    reverse: Mapping[type, tuple[Rule, ...]]
    derived: dict[Hashable, Name] = field(default_factory=dict)
    made: list[Function] = field(default_factory=list)

    @staticmethod
    def of(program: Program, names: NameSource, trace: Derivation | None) -> Context:
        """For a program."""
        from minifut.passes.differentiate.tables import FORWARD, REVERSE

        functions = {function.name: function for function in program.functions}
        return Context(
            names,
            scope_of(program),
            functions,
            trace or Derivation(),
            Calls(functions),
            True,
            FORWARD,
            REVERSE,
        )

    def builder(self, statement: Stm | None = None) -> Builder:
        """A builder whose statements stand where this one does."""
        if statement is None:
            return Builder(self.names, self.scope)
        return Builder(self.names, self.scope, statement.location, statement.attributes)

    def activity(self) -> Activity:
        """Nothing is active yet."""
        return Activity(self.calls)

    def copy(self, node: Any) -> Any:
        """A copy with fresh names, entered into the scope."""
        return fresh_copy(node, self.names, self.scope)

    def derivative(
        self, key: Hashable, base: Name, make: Callable[[Name], Function]
    ) -> Name:
        """The name of the function for this key; `make(name)` is called at most once,
        and may require the same key."""
        if key not in self.derived:
            name = self.derived[key] = self.names.like(base)
            self.made.append(make(name))
        return self.derived[key]

    def note(
        self, rule: Rule, statement: Stm, outcome: tuple[Stm, ...] | Declined
    ) -> None:
        """Enter what a rule did into the trace."""
        if isinstance(outcome, Declined):
            self.trace.decline(rule, statement, outcome.reason)
        else:
            self.trace.fire(rule, statement, outcome)


def without_checks(node: Any) -> Any:
    """What has been run before runs again without its checks and its output."""
    if isinstance(node, Body):
        kept = tuple(
            without_checks(statement)
            for statement in node.statements
            if not isinstance(statement.exp, core.Assert)
        )
        return Body(kept, node.result)
    if isinstance(node, core.Trace):
        return core.Copy(node.atom)
    return traverse.map_children(node, without_checks)


def known_partials(statement: Stm) -> tuple[str, ...]:
    """The formulas of the partial derivatives of a scalar operator. Raises
    `CompileError` where there are none."""
    exp = statement.exp_of(core.ScalarOp)
    formulas = scalars.partials(exp.operator)
    if formulas is None:
        message = f"{exp.operator.name} has no derivative that is known"
        raise refuse(statement.location, message)
    return formulas


def refuse(
    location: Location | None, message: str, hint: str | None = None
) -> CompileError:
    """What cannot be differentiated, located."""
    return CompileError(location, message, hint, anchor="not-differentiable")
