"""The bodies of host code: of functions, branches and loops, not those of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from minifut.ir.core import Body, If, Loop, Match, Stm
from minifut.ir.kernels import KernelBody
from minifut.ir.node import replace, same_or
from minifut.ir.traverse import map_children


def map_bodies(node: Any, change: Callable[[Body], Body]) -> Any:
    """Apply `change` to the outermost bodies inside a node of host code; kernels' own
    bodies stay as they are."""
    if isinstance(node, Body):
        return change(node)
    if isinstance(node, KernelBody):
        return node
    return map_children(node, lambda child: map_bodies(child, change))


def map_statements(node: Any, change: Callable[[Stm], Iterable[Stm]]) -> Any:
    """Put what `change` makes of them in the place of the statements of the outermost
    bodies inside a node of host code, or of a tuple of statements."""
    if isinstance(node, tuple):
        return same_or([made for stm in node for made in change(stm)], node)

    def changed(body: Body) -> Body:
        return replace(body, statements=map_statements(body.statements, change))

    return map_bodies(node, changed)


def host_bodies(exp: object) -> tuple[Body, ...]:
    """The bodies of a branch or loop; none of other expressions."""
    match exp:
        case If() | Match():
            return exp.branches
        case Loop():
            return (exp.body,)
    return ()


def host_statements(statements: Iterable[Stm]) -> Iterator[Stm]:
    """The statements and those of loops and branches in them."""
    for statement in statements:
        yield statement
        for body in host_bodies(statement.exp):
            yield from host_statements(body.statements)
