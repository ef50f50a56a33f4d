"""Let go of memory after its last use.

    a = allocate(..)                      a = allocate(..)
    launch(.. a ..)              →        launch(.. a ..)
    b = allocate(..)                      drop a
                                          b = allocate(..)

The runtime counts references: a buffer goes back to the pool when the last variable that
holds it is dropped. So it is enough to drop each variable after the last statement of its
own block that mentions it; loops, ifs and calls need no special care. Parameters are held
by the caller in any case.
"""

from __future__ import annotations

from minifut.ir.core import Atom
from minifut.kernel_code import nodes as kc
from minifut.names import Name


def free_memory(block: kc.HostBlock, results: tuple[Atom, ...]) -> kc.HostBlock:
    """The block with `Drop`s; results are still needed after it."""
    kept = {atom for atom in results if isinstance(atom, Name)}
    return _block(block, kept)


def _block(block: kc.HostBlock, kept: set[Name]) -> kc.HostBlock:
    made = {name for s in block.statements for name in _makes(s)} - kept
    last: dict[Name, int] = {}
    for number, statement in enumerate(block.statements):
        for name in memories_of(statement) & made:
            last[name] = number
    done: dict[int, list[Name]] = {}
    for name, number in last.items():
        done.setdefault(number, []).append(name)
    statements: list[kc.HostStatement] = []
    for number, statement in enumerate(block.statements):
        statements.append(_inside(statement))
        if number in done:
            names = sorted(done[number], key=lambda name: (name.tag, name.base))
            statements.append(kc.Drop(tuple(names)))
    return kc.HostBlock(tuple(statements))


def _inside(statement: kc.HostStatement) -> kc.HostStatement:
    match statement:
        case kc.HostIf(condition, then, otherwise):
            return kc.HostIf(
                condition, _block(then, set()), _block(otherwise, set())
            )
        case kc.HostFor(index, bound, body):
            return kc.HostFor(index, bound, _block(body, set()))
        case kc.HostWhile(condition, body):
            return kc.HostWhile(condition, _block(body, set()))
    return statement


def _makes(statement: kc.HostStatement) -> tuple[Name, ...]:
    """The memories that a statement of this very block brings into being."""
    return (statement.memory.name,) if isinstance(statement, kc.Allocate) else ()


def memories_of(statement: kc.HostStatement) -> set[Name]:
    """All names of memories (and what is moved or passed) in a statement."""
    match statement:
        case kc.Allocate(memory, _):
            return {memory.name}
        case kc.Launch(_, _, _, arguments):
            return {a.name for a in arguments if isinstance(a, kc.Memory)}
        case kc.CopyMemory(target, _, source, _, _):
            return {target.name, source.name}
        case kc.WriteElement(memory, _, _):
            return {memory.name}
        case kc.HostAssign(_, kc.ReadElement(memory, _), _):
            return {memory.name}
        case kc.HostMove(_, sources):
            return {s for s in sources if isinstance(s, Name)}
        case kc.HostCall(_, _, arguments):
            return {a for a in arguments if isinstance(a, Name)}
        case kc.HostIf(_, then, otherwise):
            return _in_blocks(then, otherwise)
        case kc.HostFor(_, _, body) | kc.HostWhile(_, body):
            return _in_blocks(body)
    return set()


def _in_blocks(*blocks: kc.HostBlock) -> set[Name]:
    found: set[Name] = set()
    for block in blocks:
        for statement in block.statements:
            found |= memories_of(statement)
    return found
