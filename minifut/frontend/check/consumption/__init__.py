"""Consumption: after an array was updated in place or passed as `*`, nothing uses it.

Runs on the checked program, definition by definition, after types are known:

    let b = a            b aliases a
    let a[0] = 1         consumes a, and so b
    in b[0]              error: Using variable "b" ... but this was consumed

What is in the other files: `aliases` (what a value may share memory with), `scope` (the
state), `patterns`, `expressions`, `functions` (bodies and calls), `loops`.
"""

from __future__ import annotations

from minifut.errors import error
from minifut.frontend import syntax, types
from minifut.frontend.check.consumption import functions, patterns, scope
from minifut.frontend.types import Arrow, Type


def _refuse_unique(declared: syntax.TypeExp) -> None:
    """A constant may be used any number of times."""
    if declared.type is None or isinstance(declared.type, types.Sum):
        return
    if types.has_unique(declared.type):
        raise error(
            declared.location,
            "A top-level constant cannot have a unique type.",
            "unique-constant",
            'drop the "*"',
        )


class ConsumptionChecker:
    """Checks definitions in the order they are given, remembering the uniqueness that
    it inferred for results without a declared type."""

    def __init__(self) -> None:
        self.state = scope.State()

    def check_definition(self, definition: syntax.ValueDeclaration) -> None:
        """Check one top-level definition; raises `CompileError`."""
        declared = definition.result
        if declared is not None and not definition.parameters:
            _refuse_unique(declared)
        self.state.table.clear()
        self.state.consumed.clear()
        result, _ = functions.check_body(
            self.state,
            definition.parameters,
            declared,
            definition.body,
            definition.location,
        )
        if definition.name_resolved is None or not definition.parameters:
            return
        if declared is None:
            type_: Type = result
            for pattern in reversed(definition.parameters):
                type_ = Arrow(None, patterns.parameter_type(pattern), type_)
            self.state.inferred[definition.name_resolved] = type_
