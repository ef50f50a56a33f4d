"""What stands before barriers, and where there are any."""

from __future__ import annotations

from collections.abc import Iterable

from minifut.kernel_ir import nodes as kc
from minifut.names import Name


def blocks_of(statement: kc.Statement) -> tuple[kc.Block, ...]:
    """The blocks right within a statement."""
    match statement:
        case kc.Block():
            return (statement,)
        case kc.For() | kc.While() | kc.Reassociate():
            return (statement.body,)
        case kc.Branch(_, then, otherwise):
            return (then,) if otherwise is None else (then, otherwise)
        case kc.Unrolled(_, _, body):
            return (body,)
        case kc.StaticIf(_, then, otherwise):
            return (then, otherwise)
    return ()


def assigned(statements: Iterable[kc.Statement]) -> list[kc.Variable]:
    """Variables from before loops and branches that these assign to, in order."""
    found: dict[Name, kc.Variable] = {}
    waiting = [block for each in statements for block in blocks_of(each)]
    own: set[Name] = set()
    while waiting:
        block = waiting.pop(0)
        for statement in block.statements:
            match statement:
                case kc.Declare(kc.Variable(name), _) | kc.For(kc.Variable(name)):
                    own.add(name)
                case kc.Assign(kc.Variable(name) as target, _):
                    found.setdefault(name, target)
            waiting += blocks_of(statement)
    return [variable for name, variable in found.items() if name not in own]


def has_barrier(block: kc.Block) -> bool:
    """Whether work-items meet somewhere in the block."""
    for statement in block.statements:
        if isinstance(statement, kc.Barrier | kc.UniformExit):
            return True
        if any(has_barrier(inner) for inner in blocks_of(statement)):
            return True
    return False
