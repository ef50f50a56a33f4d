"""The variables that an expression mentions."""

from __future__ import annotations

from minifut.frontend import syntax
from minifut.frontend.syntax.traverse import uses
from minifut.names import Name


def free_variables(exp: syntax.Node) -> list[tuple[str, Name | None]]:
    """Names of unqualified variables in an expression with their unique names; names
    bound within it are included, which does no harm."""
    return [(path[0], resolved) for path, resolved in uses(exp) if len(path) == 1]


def calls_itself(definition: syntax.ValueDeclaration) -> bool:
    """Is it recursive? Its own name may also mean what it means outside."""
    if not definition.parameters:
        return False
    own = definition.name_resolved
    return any(name == own for _, name in free_variables(definition.body))
