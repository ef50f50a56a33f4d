"""Which pointers of a kernel are `restrict`.

    kernel f (global xs, written global ys) .. fresh    →    xs *restrict, ys *restrict
    .. barrier; .. ys[i] ..                             →    xs *restrict, ys *

What a fresh kernel writes is no other parameter: a new array, or one that its statement
updates in place and reads nowhere else (`analysis.in_place`). Work-items that exchange
values in global memory update it by atomics, or write it before a barrier or an atomic
and read it behind.
LLVM assumes that no call changes memory behind a `restrict` parameter, a barrier
neither, and may move accesses across it: such memories are not `restrict`.
"""

from __future__ import annotations

from collections.abc import Set

from minifut.ir.search import classes_in
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.barriers import BARRIERS
from minifut.names import Name

SYNCHRONISING = (*BARRIERS, kc.AtomicUpdate, kc.DetectLastGroup)

READING = {kc.Load, kc.AtomicUpdate, kc.DeclarePointer, kc.CallFunction}


def unaliased_memories(kernel: kc.Kernel) -> Set[Name]:
    """The memories of a kernel whose pointers are `restrict`."""
    if not kernel.fresh:
        return frozenset()
    found = [p for p in kernel.parameters if isinstance(p, kc.MemoryParameter)]
    read: set[Name] = set()
    if not classes_in(kernel.body).isdisjoint(SYNCHRONISING):
        for node in [n for n in walk(kernel.body) if type(n) in READING]:
            match node:
                case kc.Load(memory) | kc.AtomicUpdate(memory=memory):
                    read.add(memory.name)
                case kc.DeclarePointer(_, memory):
                    read.add(memory.name)
                case kc.CallFunction(arguments=arguments):
                    read |= {a.name for a in arguments if isinstance(a, kc.Memory)}
    return {p.memory.name for p in found if not (p.written and p.memory.name in read)}
