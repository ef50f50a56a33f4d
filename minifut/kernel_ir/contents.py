"""What statements of kernel code consist of: blocks, expressions, classes of nodes."""

from __future__ import annotations

from minifut.ir.traverse import children
from minifut.kernel_ir.expressions import Expression
from minifut.kernel_ir.statements import Block, Statement


def blocks_of(statement: Statement | Block) -> tuple[Block, ...]:
    """The blocks right within a statement; a block is its own."""
    if isinstance(statement, Block):
        return (statement,)
    return tuple([node for node in children(statement) if type(node) is Block])


def classes_in(block: Block) -> frozenset[type]:
    """The classes of the nodes in a block, which keeps them: passes ask again and again
    for what most blocks do not have."""
    known: frozenset[type] | None = getattr(block, "classes", None)
    if known is None:
        found: set[type] = set()
        waiting: list[object] = list(block.statements)
        while waiting:
            current = waiting.pop()
            found.add(type(current))
            if isinstance(current, Block):
                found |= classes_in(current)
            else:
                waiting += children(current)
        known = frozenset(found)
        object.__setattr__(block, "classes", known)
    return known


def expressions_of(statement: Statement) -> tuple[Expression, ...]:
    """The expressions right within a statement, such as conditions and bounds."""
    return tuple(node for node in children(statement) if isinstance(node, Expression))
