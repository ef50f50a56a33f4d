"""What statements of kernel code consist of: blocks, expressions, classes of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_args

from minifut.ir.search import nodes_of
from minifut.ir.traverse import children
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
    waiting = [*statements]
    waiting.reverse()
    while waiting:
        statement = waiting.pop()
        yield statement
        for block in reversed(blocks_of(statement)):
            waiting += reversed(block.statements)


def loaded_by(statements: Iterable[Statement]) -> set[Memory]:
    """The memories that statements or their blocks load from."""
    return {node.memory for node in nodes_of(Load, *statements)}


def expressions_of(statement: Statement) -> tuple[Expression, ...]:
    """The expressions right within a statement, such as conditions and bounds."""
    return tuple(node for node in children(statement) if isinstance(node, Expression))
