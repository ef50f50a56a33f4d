"""Printed IR read back.

    parse("let y: i32 = add_i32(x, 1i32)", "statements")

A name's text is its identity: `x_12` is `Name("x", 12)`, `x` is `Name("x", 0)`; whoever
goes on from parsed IR takes fresh names from `names_after`. Locations are not printed,
so statements come back without.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from minifut.errors import UsageError
from minifut.ir import core
from minifut.ir.parsed_forms import build
from minifut.names import NameSource
from minifut.resources import grammar_text

STARTS = ("program", "function", "statements", "body", "lambda", "_exp", "_type",
          "size", "_atom", "kernel_body", "parameters")  # fmt: skip


def parse_program(text: str) -> core.Program:
    """A whole program; a `UsageError` says where the text is wrong."""
    program: core.Program = parse(text, "program")
    return program


def parse(text: str, start: str = "program") -> Any:
    """A program, or another construct: "statements" (a tuple), "body", "lambda",
    "exp", "type", "size", "atom", "function", "kernel_body" or "parameters"."""
    from lark.exceptions import LarkError, UnexpectedInput

    rule = start if start in STARTS else f"_{start}"
    try:
        tree = _parser().parse(text, start=rule)
    except UnexpectedInput as problem:
        context = problem.get_context(text).rstrip()
        place = f"line {problem.line}, column {problem.column}"
        raise UsageError(f"this is not printed IR ({place}):\n{context}") from problem
    except LarkError as problem:
        raise UsageError(f"this is not printed IR: {problem}") from problem
    return build(tree)


@cache
def _parser() -> Any:
    from lark import Lark

    return Lark(
        grammar_text("ir.lark"),
        parser="lalr",
        start=list(STARTS),
        maybe_placeholders=False,
    )


def names_after(*nodes: object) -> NameSource:
    """Fresh names that do not collide with any in the nodes."""
    from minifut.ir.traverse import bound_names, used_names

    tags = [0]
    for node in nodes:
        tags += [name.tag for name in bound_names(node)]
        tags += [name.tag for name in used_names(node)]
        functions = getattr(node, "functions", ())
        tags += [function.name.tag for function in functions]
    return NameSource(max(tags) + 1)
