"""The variables that an expression mentions."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from minifut.frontend import syntax
from minifut.names import Name


@cache
def _child_fields(cls: Any) -> tuple[str, ...]:
    skipped = {"location", "type", "exts", "instance"}
    return tuple(f.name for f in fields(cls) if f.name not in skipped)


def free_variables(exp: object) -> list[tuple[str, Name | None]]:
    """Names of unqualified variables in an expression with their unique names; names
    bound within it are included, which does no harm to those who ask."""
    found: list[tuple[str, Name | None]] = []
    waiting: list[object] = [exp]
    while waiting:
        part = waiting.pop()
        if isinstance(part, syntax.Var):
            if not part.name.qualifiers:
                found.append((part.name.name, part.name_resolved))
        elif isinstance(part, syntax.Node):
            fields_ = _child_fields(type(part))  # type: ignore[arg-type]
            waiting.extend(getattr(part, name) for name in fields_)
        elif isinstance(part, tuple):
            waiting.extend(part)
    return found


def calls_itself(definition: syntax.ValueDeclaration) -> bool:
    """Is it recursive? Its own name may also mean what it means outside."""
    if not definition.parameters:
        return False
    own = definition.name_resolved
    return any(name == own for _, name in free_variables(definition.body))
