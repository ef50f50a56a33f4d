"""Arrays that each point has for itself, with the lanes of an element side by side.

    float own[5];                          float own[5 * 16];
    own[k] = x;                     →      *(float16 *)(own + k * 16) = x;
    y = own[k + 1];                        y = *(float16 *)(own + (k + 1) * 16);

An element of all points is a vector then, at indices that are the same for all points,
and the device's compiler keeps short arrays in registers. Conditions: what points store
in is theirs (they are independent), its size is a small constant, and no index varies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from minifut.ir.sizes import Size
from minifut.ir.traverse import walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder

LONGEST = 64
"""elements of an array"""


def find_own_arrays(
    k: CodeBuilder, statements: Sequence[kc.Statement]
) -> Mapping[kc.Memory, int]:
    """The private arrays that points store in, with their sizes; those that are too
    large, or of a format of its own, are left out."""
    stored = {
        node.memory
        for statement in statements
        for node in walk(statement)
        if isinstance(node, kc.Store) and node.memory.space == "private"
    }
    sizes: dict[kc.Memory, int] = {}
    for statement in (*k.prologue, *k.statements):
        match statement:
            case kc.DeclareArray(memory, count) if memory in stored:
                known = count.as_constant or LONGEST + 1
                if known <= LONGEST and memory.element.name != "f16":
                    sizes[memory] = known
    return sizes


def declare_in_lanes(
    k: CodeBuilder, sizes: Mapping[kc.Memory, int], width: int
) -> tuple[dict[kc.Memory, kc.Memory], Iterable[kc.Statement]]:
    """For each array the one that has `width` lanes, and what declares them."""
    found = {
        memory: kc.Memory(k.names.fresh(memory.name.base), memory.element, "private")
        for memory in sizes
    }
    declared = [
        kc.DeclareArray(found[memory], Size.constant(count * width))
        for memory, count in sizes.items()
    ]
    return found, declared
