"""What statements of kernel code consist of: blocks, expressions, classes of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from minifut.ir.fields import lister_of
from minifut.ir.traverse import children, walk
from minifut.kernel_ir.expressions import Expression, Load, Memory
from minifut.kernel_ir.statements import Block, Statement, Structured

STRUCTURED = frozenset(get_args(Structured))
"""the classes of statements that have blocks"""


def blocks_of(statement: Statement | Block) -> tuple[Block, ...]:
    """The blocks right within a statement; a block is its own."""
    if isinstance(statement, Block):
        return (statement,)
    if type(statement) not in STRUCTURED:
        return ()
    return tuple([node for node in children(statement) if type(node) is Block])


def each_statement(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements and those in their blocks, in order."""
    for statement in statements:
        yield statement
        for block in blocks_of(statement):
            yield from each_statement(block.statements)


def classes_in(block: Block) -> frozenset[type]:
    """The classes of the nodes in a block, which keeps them: passes query it again and
    again for what most blocks do not have."""
    known: frozenset[type] | None = getattr(block, "classes", None)
    if known is None:
        found: set[type] = set()
        waiting: list[Any] = list(block.statements)
        for current in waiting:
            cls = type(current)
            found.add(cls)
            if cls is Block:
                found |= classes_in(current)
            elif (children_of := lister_of(cls)) is not None:
                waiting += children_of(current)
        known = frozenset(found)
        object.__setattr__(block, "classes", known)
    return known


def loaded_by(statements: Iterable[Statement]) -> set[Memory]:
    """The memories that statements or their blocks load from."""
    return {
        node.memory
        for statement in statements
        for node in walk(statement)
        if isinstance(node, Load)
    }


def expressions_of(statement: Statement) -> tuple[Expression, ...]:
    """The expressions right within a statement, such as conditions and bounds."""
    return tuple(node for node in children(statement) if isinstance(node, Expression))
