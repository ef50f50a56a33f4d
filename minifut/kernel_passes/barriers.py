"""Hide from PoCL what values have before barriers.

    while (c) {.. x = 1; }               while (c) {.. x = 1; }
    barrier();                     →     KEEP(x)
                                         barrier();

PoCL divides the code of work-items at barriers. Where a loop or branch before one comes
down to a choice between two constants, all work-items are given the same of them. What
is assigned there is hidden, so that nothing is known of its value at the barrier.

    for (b = 0; b < 1; b++) {            for (b = 0; b < 1; b++) {
        ..                         →         KEEP(b)  ..
        barrier();                           barrier();

A loop around a barrier whose rounds are known when the kernel is built becomes its
rounds one after the other, in which PoCL finds no place for what lives from one to the
next, and ends the process. So its counter is hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

from minifut.ir.node import replace
from minifut.ir.search import classes_in
from minifut.ir.traverse import map_children, used_names
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import targets
from minifut.kernel_passes.editor import KernelEditor
from minifut.names import Name

BARRIERS = (kc.Barrier, kc.UniformExit)
"""what orders the accesses of the work-items of a group"""
MEETINGS = (*BARRIERS, kc.Shuffle)
"""what all work-items of a group must reach"""


def hide_before_barriers(k: KernelEditor) -> None:
    """Hide from PoCL what values have before barriers."""
    if has_barrier(kc.Block(tuple(k.statements))):
        k.statements = _hidden(k.statements, frozenset(k.constants))


def _hidden(
    statements: Iterable[kc.Statement], constants: Set[Name]
) -> list[kc.Statement]:
    found: list[kc.Statement] = []
    before: list[kc.Statement] = []
    for statement in statements:
        if isinstance(statement, MEETINGS):
            found += [kc.HideValue(variable) for variable in assigned(before)]
            before = []
        else:
            before.append(statement)
        found.append(_with_blocks(statement, constants))
    return found


def _with_blocks(node: Any, constants: Set[Name]) -> Any:
    """A statement with the blocks within it done."""
    if isinstance(node, kc.Block):
        return kc.Block(tuple(_hidden(node.statements, constants)))
    if not any(map(has_barrier, kc.blocks_of(node))):
        return node
    made = map_children(node, lambda child: _with_blocks(child, constants))
    if isinstance(made, kc.For) and _ends(made) <= constants:
        counter = kc.HideValue(made.variable)
        return replace(made, body=kc.Block((counter, *made.body.statements)))
    return made


def _ends(loop: kc.For) -> set[Name]:
    """The names on which the number of rounds depends."""
    return used_names(loop.start) | used_names(loop.bound) | used_names(loop.step)


def assigned(statements: Iterable[kc.Statement]) -> list[kc.Variable]:
    """Variables from before loops and branches that these assign to, in order."""
    found: dict[Name, kc.Variable] = {}
    waiting = [block for each in statements for block in kc.blocks_of(each)]
    own: set[Name] = set()
    while waiting:
        block = waiting.pop(0)
        for statement in block.statements:
            match statement:
                case kc.Declare(kc.Variable(name), _) | kc.For(kc.Variable(name)):
                    own.add(name)
                case _:
                    for target in targets(statement):
                        if isinstance(target, kc.Variable):
                            found.setdefault(target.name, target)
            waiting += kc.blocks_of(statement)
    return [variable for name, variable in found.items() if name not in own]


def has_barrier(block: kc.Block) -> bool:
    """Whether work-items synchronise somewhere in the block."""
    return not classes_in(block).isdisjoint(MEETINGS)
