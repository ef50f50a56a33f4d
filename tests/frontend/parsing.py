"""Parts of programs, parsed."""

from __future__ import annotations

from minifut.errors import Source
from minifut.frontend.parser import parse
from minifut.frontend.syntax import Exp, TypeExp


def parse_expression(source: Source) -> Exp:
    """A single expression, as for tests and sizes. Raises CompileError."""
    expression: Exp = parse(source, "exp")
    return expression


def parse_type(source: Source) -> TypeExp:
    """A single type. Raises CompileError."""
    type_expression: TypeExp = parse(source, "type")
    return type_expression
