"""Unroll the steps of full blocks of register tiles.

    let deep = min(k - block * 8, 8)         let deep = min(k - block * 8, 8)
    for step = 0 to deep {..}           →    for step = 0 to deep unrolled 8 {..}

All blocks of the common dimension but the last have as many steps as the tile is deep,
a number that is known when the kernel is built, so that NVIDIA's compilers are directed
to do two steps at a time: counter, test and branch are seven of 75 instructions of a
step of 8 x 8 elements, and share the issue slots with multiply-adds. More steps at a
time take more than 128 registers, with which two groups run; AMD's compiler takes 166
then, and issues scalar instructions apart.

Conditions: the loop has the elements of a register tile inside, whose copies are made
when the kernel is built, and its bound is a minimum with a build constant.
"""

from __future__ import annotations

from minifut.ir.node import replace
from minifut.ir.search import classes_in
from minifut.ir.sizes import Extreme, Size
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.editor import KernelEditor, loops_inside
from minifut.names import Name


def unroll_full_blocks(k: KernelEditor) -> None:
    """Unroll the steps of full blocks of register tiles."""
    if kc.Unrolled not in classes_in(k.kernel.body):
        return
    full = _full_sizes(k)
    if not full:
        return

    def change(loop: kc.For) -> tuple[kc.Statement, ...] | None:
        bound = loop.bound
        if not isinstance(bound, kc.Variable) or bound.name not in full:
            return None
        if not any(isinstance(each, kc.Unrolled) for each in loop.body.statements):
            return None
        most = k.size_value(full[bound.name])
        return (replace(loops_inside(loop, change), full=most),)

    k.change_loops(change)


def _full_sizes(k: KernelEditor) -> dict[Name, Size]:
    """For each variable that is a minimum with a build constant, that constant."""
    constants = {constant.name for constant in k.kernel.constants}
    found = {}
    for statement in k.statements:
        for node in walk(statement):
            match node:
                case kc.Declare(kc.Variable(name), kc.SizeValue(size)):
                    for part in _operands_of_minimum(size):
                        if part.names() and part.names() <= constants:
                            found[name] = part
    return found


def _operands_of_minimum(size: Size) -> tuple[Size, ...]:
    match size.terms:
        case (((Extreme(parts, False),), 1),):
            return parts
    return ()
