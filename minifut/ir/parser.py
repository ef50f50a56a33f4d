"""Printed IR read back.

    parse("let y: i32 = add_i32(x, 1i32)", "statements")

A name's text is its identity: `x_12` is `Name("x", 12)`, `x` is `Name("x", 0)`; a
pass over parsed IR takes fresh names from `names_after`. Locations are not printed,
so parsed statements have none. Nodes are read by their forms (`ir.forms`).
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from minifut.ir import core, expressions, kernels, reader, sizes, types
from minifut.names import NameSource

STARTS = {
    "function": core.Function,
    "body": core.Body,
    "lambda": core.Lambda,
    "exp": expressions.Exp,
    "type": types.Type,
    "size": sizes.Size,
    "atom": core.Atom,
    "kernel_body": kernels.KernelBody,
    "parameters": tuple[core.Param, ...],
    "program": core.Program,
    "statements": tuple[core.Stm, ...],
}


def parse_program(text: str) -> core.Program:
    """A whole program; a `UsageError` says where the text is wrong."""
    program: core.Program = parse(text, "program")
    return program


def parse(text: str, start: str = "program") -> Any:
    """A program, or another construct: "statements" (a tuple), "body", "lambda",
    "exp", "type", "size", "atom", "function", "kernel_body" or "parameters"."""
    return reader.Reader(text).whole(STARTS[start])


def names_after(*nodes: object) -> NameSource:
    """Fresh names that do not collide with any in the nodes."""
    from minifut.ir.traverse import bound_types, used_names

    functions = chain(*[getattr(node, "functions", ()) for node in nodes])
    names = chain(
        bound_types(nodes), *map(used_names, nodes), (f.name for f in functions)
    )
    return NameSource(max((name.tag for name in names), default=0) + 1)
