"""Release memory after its last use (liveness of buffers).

    a = allocate(..)                      a = allocate(..)
    launch(.. a ..)              →        launch(.. a ..)
    b = allocate(..)                      drop a
                                          b = allocate(..)

The runtime counts references: a buffer goes back to the pool when the last variable
that holds it is dropped. So it is enough to drop each variable after the last statement
of its own block that mentions it; loops, ifs and calls need no special care. Parameters
belong to the caller in any case.
"""

from __future__ import annotations

from minifut.ir.core import Atom
from minifut.kernel_ir import nodes as kc
from minifut.names import Name


def free_memory(block: kc.HostBlock, results: tuple[Atom, ...]) -> kc.HostBlock:
    """The block with `Drop`s; results are still needed after it."""
    kept = {atom for atom in results if isinstance(atom, Name)}
    return _block(block, kept, _memories(block))


def _memories(block: kc.HostBlock) -> set[Name]:
    """All variables that hold memories: those used as such, and what they move to."""
    found: set[Name] = set()
    moves: list[tuple[Name, Atom]] = []
    waiting = [block]
    while waiting:
        for statement in waiting.pop().statements:
            inner = _blocks(statement)
            waiting.extend(inner)
            if isinstance(statement, kc.HostMove):
                moves.extend(zip(statement.targets, statement.sources, strict=True))
            elif not inner and not isinstance(statement, kc.HostCall):
                found |= memories_of(statement)
    size = -1
    while size != len(found):
        size = len(found)
        for target, source in moves:
            if isinstance(source, Name) and (target in found or source in found):
                found |= {target, source}
    return found


def _block(
    block: kc.HostBlock, outside: set[Name], memories: set[Name]
) -> kc.HostBlock:
    made = {name for s in block.statements for name in _makes(s)} & memories
    made -= outside
    last: dict[Name, int] = {}
    for number, statement in enumerate(block.statements if made else ()):
        for name in (memories_of(statement) | set(_makes(statement))) & made:
            last[name] = number
    done: dict[int, list[Name]] = {}
    for name, number in last.items():
        done.setdefault(number, []).append(name)
    statements: list[kc.HostStatement] = []
    for number, statement in enumerate(block.statements):
        statements.append(_inside(statement, outside | made, memories))
        if number in done:
            names = sorted(done[number], key=lambda name: (name.tag, name.base))
            statements.append(kc.Drop(tuple(names)))
    return kc.HostBlock(tuple(statements))


def _inside(
    statement: kc.HostStatement, outside: set[Name], memories: set[Name]
) -> kc.HostStatement:
    match statement:
        case kc.HostIf(condition, then, otherwise):
            return kc.HostIf(
                condition,
                _block(then, outside, memories),
                _block(otherwise, outside, memories),
            )
        case kc.HostFor(index, bound, body):
            return kc.HostFor(index, bound, _block(body, outside, memories))
        case kc.HostWhile(condition, body):
            return kc.HostWhile(condition, _block(body, outside, memories))
    return statement


def _blocks(statement: kc.HostStatement) -> tuple[kc.HostBlock, ...]:
    match statement:
        case kc.HostIf(_, then, otherwise):
            return (then, otherwise)
        case kc.HostFor(_, _, body) | kc.HostWhile(_, body):
            return (body,)
    return ()


def _makes(statement: kc.HostStatement) -> tuple[Name, ...]:
    """The variables that a statement declares in its own block; those of an
    if are what its branches end by moving to."""
    match statement:
        case kc.Allocate(memory, _):
            return (memory.name,)
        case kc.HostMove(targets, _) | kc.HostCall(targets, _, _):
            return targets
        case kc.HostIf(_, then, _) if then.statements:
            last = then.statements[-1]
            if isinstance(last, kc.HostMove):
                return last.targets
            return _makes(last) if isinstance(last, kc.HostIf) else ()
    return ()


def memories_of(statement: kc.HostStatement) -> set[Name]:
    """All names of memories (and what is moved or passed) in a statement."""
    match statement:
        case (
            kc.Allocate(memory, _)
            | kc.WriteElement(memory, _, _)
            | kc.WriteConstants(memory, _)
        ):
            return {memory.name}
        case kc.Launch(_, _, _, arguments):
            return {a.name for a in arguments if isinstance(a, kc.Memory)}
        case kc.CopyMemory(target, _, source, _, _):
            return {target.name, source.name}
        case kc.HostAssign(_, kc.ReadElement(memory, _), _):
            return {memory.name}
        case kc.HostMove(_, sources):
            return {s for s in sources if isinstance(s, Name)}
        case kc.HostCall(_, _, arguments):
            return {a for a in arguments if isinstance(a, Name)}
    found: set[Name] = set()
    for block in _blocks(statement):
        for inner in block.statements:
            found |= memories_of(inner)
    return found
