"""The sweep of forward mode: each statement with its tangents, in order.

    let a = x * x          →   let a = x * x;  let a' = 2 * x * x'
    let b = floor a        →   let b = floor a

A name that is not active has no tangent; where one is needed all the same (one branch
of two, an operand of a fold), it is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minifut.errors import InternalError
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Param, Stm
from minifut.ir.node import replace
from minifut.ir.scope import add_parameters
from minifut.ir.types import AccType, Type
from minifut.names import Name
from minifut.passes.differentiate.activity import Activity
from minifut.passes.differentiate.context import Context
from minifut.rewrite.rule import Declined


class Tangents:
    """The tangents of active names."""

    def __init__(self, context: Context, activity: Activity) -> None:
        self.context = context
        self.activity = activity
        self.values: dict[Name, Atom] = {}
        self.roots: dict[Name, Name] = {}
        """of accumulators, to the roots of those of their tangents"""

    def type(self, type_: Type) -> Type:
        """The type of a tangent: an accumulator has one of its own."""
        if isinstance(type_, AccType):
            return replace(type_, root=self.roots[type_.root])
        return type_

    def builder(self, statement: Stm) -> Builder:
        """A builder whose statements stand where this one does."""
        return self.context.builder(statement)

    def of(self, atom: Atom) -> Atom | None:
        """The tangent, if the atom is active."""
        return self.values.get(atom) if isinstance(atom, Name) else None

    def or_zero(self, build: Builder, atom: Atom) -> Atom:
        """The tangent, or 0."""
        found = self.of(atom)
        return build.zero(build.type(atom)) if found is None else found

    def parameters(
        self, parameters: Sequence[Param], flags: Iterable[bool]
    ) -> tuple[Param, ...]:
        """Tangent parameters for the flagged ones, noted as their tangents."""
        made = []
        for parameter, flag in zip(parameters, flags, strict=True):
            if flag:
                name = self.context.names.fresh(f"{parameter.name.base}_tan")
                made.append(Param(name, self.type(parameter.type)))
                self.values[parameter.name] = name
        self.activity.mark(parameters, flags)
        add_parameters(self.context.scope, made)
        return tuple(made)

    # --- sweeping ---

    def statements(self, build: Builder, statements: Iterable[Stm]) -> None:
        """Emit statements with their tangents."""
        for statement in statements:
            if any(self.activity.statement(statement)):
                for new in self.active(statement):
                    build.append(new)
            else:
                build.append(statement)

    def active(self, statement: Stm) -> tuple[Stm, ...]:
        """An active statement with its tangents, by the first rule that fires."""
        for rule in self.context.forward.get(type(statement.exp), ()):
            outcome: tuple[Stm, ...] | Declined | None = rule.outcome(statement, self)
            if outcome is None:
                continue
            self.context.note(rule, statement, outcome)
            if not isinstance(outcome, Declined):
                return outcome
        kind = type(statement.exp).__name__
        raise InternalError("differentiate", f"no rule of forward mode for {kind}")

    def body(self, build: Builder, body: Body, flags: Sequence[bool]) -> Body:
        """A body that gives its results, then the tangents of the flagged ones."""
        inner = build.nested()
        self.statements(inner, body.statements)
        return inner.finish(*body.result, *self.results(inner, body.result, flags))

    def results(
        self, build: Builder, atoms: Iterable[Atom], flags: Iterable[bool]
    ) -> list[Atom]:
        """The tangents of the flagged atoms."""
        pairs = zip(atoms, flags, strict=True)
        return [self.or_zero(build, atom) for atom, flag in pairs if flag]

    def arrays(
        self, build: Builder, names: Iterable[Name], flags: Iterable[bool]
    ) -> list[Name]:
        """The tangents of the flagged arrays."""
        found = self.results(build, names, flags)
        return [tangent for tangent in found if isinstance(tangent, Name)]
