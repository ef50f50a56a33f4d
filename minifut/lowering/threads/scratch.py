"""Scratch memory: global memory of each thread for arrays whose sizes the host knows.

    CPU, one point at a time    thread 0's elements, then those of thread 1, ..
    CPU, points in lanes        the same, with room for the arrays of 16 points: lanes
                                have the elements of a place side by side
    GPU                         element 0 of all threads, then element 1, ..

There is room for lanes up to a length: arrays that leave the caches are better used by
one point after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.sizes import ZERO, Size, maximum, minimum, product
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.context import WIDTHS
from minifut.kernel_passes.vectorise.private_arrays import LONGEST_SCRATCH
from minifut.lowering.index_functions import Array, row_major_strides

if TYPE_CHECKING:
    from minifut.lowering.threads.builder import KernelBuilder


def scratch_array(
    k: KernelBuilder, element: ScalarType, shape: tuple[Size, ...], base: str
) -> Array:
    """Global memory of this thread."""
    assert k.thread is not None
    thread, threads = k.thread
    count, strides = product(shape), row_major_strides(shape)
    if k.has_lanes:
        fitting = minimum(count, Size.constant(LONGEST_SCRATCH))
        room = maximum(count, fitting * WIDTHS[0])
        memory = k.host.allocate(element, (threads, room), base).memory
        k.use(memory, written=True)
        mine = kc.Memory(k.names.fresh(base), element)
        k.declared.add(mine.name)
        start = k.size_value(k.as_size(thread, "thread") * room)
        own = k.size_value(count)
        k.prologue.append(kc.DeclarePointer(mine, memory, start, own=own))
        return Array(mine, shape, ZERO, strides)
    memory = k.host.allocate(element, (threads, *shape), base).memory
    k.use(memory, written=True)
    number = k.as_size(thread, "thread")
    if k.host.schedule == "cpu":
        return Array(memory, shape, number * count, strides)
    return Array(memory, shape, number, tuple(s * threads for s in strides))
