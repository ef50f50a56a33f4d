"""A kernel of one work-item that stores scalars, each in a memory of its own.

    kernel main_store(value: f32, to: [f32])    { store to[0] = value }

What the host would compute of the values, the kernel computes from what they are
computed from (`emit.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from minifut.ir.sizes import ONE, ZERO
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.names import Name, NameSource


def storing(name: str, types: Sequence[ScalarType], names: NameSource) -> kc.Kernel:
    """The kernel, with a value and a memory of each type as parameters."""
    parameters: list[kc.Parameter] = []
    stores: list[kc.Statement] = []
    for type_ in types:
        value = kc.Variable(names.fresh("value"), kc.VectorType(type_))
        to = kc.Memory(names.fresh("to"), type_)
        parameters.append(kc.ScalarParameter(value.name, type_))
        parameters.append(kc.MemoryParameter(to, True))
        stores.append(kc.Store(to, kc.SizeValue(ZERO), value))
    return kc.Kernel(
        name, tuple(parameters), kc.Block(tuple(stores)), (1,), False, True
    )


def launch_of(kernel: kc.Kernel, stored: Sequence[tuple[Name, kc.Memory]]) -> kc.Launch:
    """The launch that stores these values there."""
    arguments = tuple(each for pair in stored for each in pair)
    return kc.Launch(kernel.name, (ONE,), (ONE,), arguments, work=ONE)
