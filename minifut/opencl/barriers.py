"""What stands before barriers, and where there are any."""

from __future__ import annotations

from collections.abc import Iterable

from minifut.kernel_ir import nodes as kc


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
        case kc.Chosen(_, then, otherwise):
            return (then, otherwise)
    return ()


def assigned(statements: Iterable[kc.Statement]) -> list[kc.Variable]:
    """Variables from before loops and branches that these assign to, in order."""
    found: dict[kc.Variable, None] = {}
    waiting = [block for each in statements for block in blocks_of(each)]
    own: set[kc.Variable | kc.Register] = set()
    while waiting:
        block = waiting.pop(0)
        for statement in block.statements:
            match statement:
                case kc.Declare(variable, _):
                    own.add(variable)
                case kc.Assign(kc.Variable() as target, _):
                    found.setdefault(target)
                case kc.For(kc.Variable() as variable):
                    own.add(variable)
            waiting += blocks_of(statement)
    return [variable for variable in found if variable not in own]


def has_barrier(block: kc.Block) -> bool:
    """Whether work-items meet somewhere in the block."""
    for statement in block.statements:
        if isinstance(statement, kc.Barrier | kc.LeaveTogether):
            return True
        if any(has_barrier(inner) for inner in blocks_of(statement)):
            return True
    return False
