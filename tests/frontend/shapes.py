"""Syntax as short text, so that tests can say how something was read.

`a + b * c` is shown as `(+ a (* b c))`; parentheses of the source as `<e>`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from minifut.errors import Source
from minifut.frontend import syntax as s
from minifut.frontend.parser import parse_program
from tests.frontend.parsing import parse_expression, parse_type


def expression(text: str) -> str:
    return shape(parse_expression(Source("test.fut", text)))


def type_of(text: str) -> str:
    return shape(parse_type(Source("test.fut", text)))


def program(text: str) -> s.Program:
    return parse_program(Source("test.fut", text))


def declaration(text: str) -> Any:
    declarations = program(text).declarations
    assert len(declarations) == 1
    return declarations[0]


def shape(node: Any) -> str:
    match node:
        case None:
            return "none"
        case tuple() | list():
            return f"[{' '.join(map(shape, node))}]"
        case s.Var(name=name) | s.TypeRef(name=name):
            return str(name)
        case s.NamePattern(name=name):
            return name
        case s.Literal(value=value, suffix=suffix):
            return f"{str(value).lower()}{suffix}"
        case s.Parens(inner=inner) | s.TypeParens(inner=inner):
            return f"<{shape(inner)}>"
        case s.BinaryOp(operator=operator, left=left, right=right):
            return f"({shape(operator)} {shape(left)} {shape(right)})"
        case s.Apply(function=function, arguments=arguments):
            return f"({' '.join(map(shape, (function, *arguments)))})"
        case s.Negate(operand=operand):
            return f"(neg {shape(operand)})"
        case s.Not(operand=operand):
            return f"(not {shape(operand)})"
        case s.TypeArrow(parameter=None, argument=argument, result=result):
            return f"({shape(argument)} -> {shape(result)})"
        case s.QualName():
            return str(node)
        case s.Node():
            parts = [
                shape(getattr(node, part.name))
                for part in fields(node)
                if part.init and part.name not in ("location", "attributes", "doc")
            ]
            return f"({' '.join([type(node).__name__, *parts])})"
        case _:
            return str(node)
