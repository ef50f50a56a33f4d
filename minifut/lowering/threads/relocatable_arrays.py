"""Relocatable arrays of a thread: their sizes change from iteration to iteration.

    loop (k, xs: [k]t) = (n, ys) while .. do      xs is in the thread's arena, at an
      let (k', zs: [k']t) = filter ..             offset that is a variable; zs stays
      in {k', zs}                                 where it was made, and xs moves there

So the arena fills up with garbage of earlier iterations. When it is half full, the
arrays that the loop carries are compacted: copied to the arena's end, then moved down,
all at once, to where the loop began. There are two copies, as source and target may
overlap (Lisp 2's mark-compact, with the loop parameters as the only roots).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minifut.ir.core import Param
from minifut.ir.node import immutable
from minifut.ir.sizes import product
from minifut.ir.types import I64, ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array
from minifut.lowering.threads.arena import Arena, allocate, arena_of
from minifut.lowering.threads.builder import KernelBuilder, NotInKernel

if TYPE_CHECKING:
    Carried = tuple[Param, "RelocatableArray"]


@immutable
class RelocatableArray:
    """An array whose size, and so whose address in the arena, changes: its offset is a
    variable."""

    memory: kc.Memory
    offset: kc.Variable


def relocatable_array(k: KernelBuilder, bound: Param) -> RelocatableArray:
    """A relocatable array for a pattern element or a parameter of a loop."""
    if not k.repeatable:
        raise NotInKernel(f"the size of {bound.name.base} changes")
    memory = arena_of(k, element_of(bound.type)).memory
    k.use(memory, written=True)
    return RelocatableArray(memory, k.declare(bound.name.base, type_=kc.LONG))


def offset_in_arena(
    k: KernelBuilder, place: RelocatableArray, value: Array, copied: bool = False
) -> kc.Expression:
    """The offset of the value in the arena; it is copied there if it is elsewhere, or
    if it must be."""
    if copied or value.memory != place.memory or not value.is_row_major:
        copy = k.arena_array(place.memory.element, value.shape, "copy")
        k.copy(copy, value)
        value = copy
    return k.size_value(value.offset)


def arena_marks(
    k: KernelBuilder, outside: list[kc.Statement]
) -> dict[ScalarType, kc.Variable]:
    """The fill level of each arena before a loop, in variables declared there."""
    found: dict[ScalarType, kc.Variable] = {}
    for element, arena in k.arenas.items():
        found[element] = k.variable("floor", kc.LONG)
        outside.append(kc.Declare(found[element], arena.used))
    return found


def reclaim(
    k: KernelBuilder,
    carried: Sequence[Carried],
    arena_marks: dict[ScalarType, kc.Variable],
) -> None:
    """At the end of an iteration: release all but the loop-carried arrays."""
    for element, floor in arena_marks.items():
        own = [(p, r) for p, r in carried if r.memory.element == element]
        arena = k.arenas[element]
        if own:
            _compact(k, arena, element, own, floor)
        else:
            k.assign(arena.used, floor)


def _compact(
    k: KernelBuilder,
    arena: Arena,
    element: ScalarType,
    carried: Sequence[Carried],
    floor: kc.Variable,
) -> None:
    capacity = k.scalar_parameter(arena.capacity, I64)
    assert k.thread is not None
    with k.branch((arena.used - floor) * 2 > capacity - floor):
        base = k.declare("base", k.thread[0] * capacity)
        ground = k.declare("ground", base + floor)
        top = k.declare("top", base + arena.used)
        for bound, place in carried:
            with k.branch(place.offset >= ground):
                count = product(k.shape(bound.type))
                memory, start = allocate(k, element, count)
                to = k.size_value(start)
                with k.loop("i", k.size_value(count)) as i:
                    k.store(memory, to + i, k.load(memory, place.offset + i))
                k.assign(place.offset, ground + (to - top))
        length = k.declare("length", base + arena.used - top)
        with k.loop("i", length) as i:
            k.store(arena.memory, ground + i, k.load(arena.memory, top + i))
        k.assign(arena.used, floor + length)
