"""Hide from PoCL what values have before barriers.

    while (c) {.. x = 1; }               while (c) {.. x = 1; }
    barrier();                     →     KEEP(x)
                                         barrier();

PoCL divides the code of work-items at barriers. Where a loop or branch before one comes
down to a choice between two constants, all work-items are given the same of them. What
is assigned there is hidden, so that nothing is known of its value at the barrier.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minifut.ir.search import classes_in
from minifut.ir.traverse import map_children
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import targets
from minifut.kernel_passes.editor import KernelEditor
from minifut.names import Name

BARRIERS = (kc.Barrier, kc.UniformExit)
"""what orders the accesses of the work-items of a group"""
MEETINGS = (*BARRIERS, kc.Shuffle)
"""what all work-items of a group must reach"""


def hide_before_barriers(k: KernelEditor) -> None:
    """Hide values in a kernel that has barriers."""
    if has_barrier(kc.Block(tuple(k.statements))):
        k.statements = _hidden(k.statements)


def _hidden(statements: Iterable[kc.Statement]) -> list[kc.Statement]:
    found: list[kc.Statement] = []
    before: list[kc.Statement] = []
    for statement in statements:
        if isinstance(statement, MEETINGS):
            found += [kc.HideValue(variable) for variable in assigned(before)]
            before = []
        else:
            before.append(statement)
        found.append(_with_blocks(statement))
    return found


def _with_blocks(node: Any) -> Any:
    """A statement with the blocks within it done."""
    if isinstance(node, kc.Block):
        return kc.Block(tuple(_hidden(node.statements)))
    if any(map(has_barrier, kc.blocks_of(node))):
        return map_children(node, _with_blocks)
    return node


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
