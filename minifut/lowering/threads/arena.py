"""Arenas: memory for arrays of threads whose sizes are known in the thread only.

    let part: [k]f32 = ...     start = thread * capacity + used; used += k
                               if (used > capacity) { need = used; return }
                               part is at arena[start]

Each running thread has an arena of `capacity` elements per element type. The need is
not known beforehand, so a thread that runs out records its request and exits, and the
host launches the kernel again with larger arenas. Kernels that use arenas only write
fresh results (or scatter), so they are idempotent; what they add to shared accumulators
is undone before the next launch, from copies.

Allocations of a point are released when the next point starts, and those of an
iteration of a loop when the next iteration does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir import core
from minifut.ir.core import Constant
from minifut.ir.node import immutable
from minifut.ir.scalars import operator
from minifut.ir.sizes import ZERO, Size, maximum
from minifut.ir.types import BOOL, I32, I64, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder
    from minifut.lowering.threads.builder import KernelBuilder

INITIAL_CAPACITY = 1024
"""elements of an arena at the first launch"""
REQUEST_UNIT = 1024
"""requests are counted in units of this many elements, so that an int holds them"""


@immutable
class Arena:
    """The arenas of one element type: `used` is the thread's, `capacity` the host's."""

    memory: kc.Memory
    used: kc.Variable
    capacity: Name
    need: kc.Memory


def arena_of(k: KernelBuilder, element: ScalarType) -> Arena:
    """The arena for an element type, made on first use."""
    found = k.arenas.get(element)
    if found is not None:
        return found
    used = k.variable("used", kc.LONG)
    k.prologue.append(kc.Declare(used, k.used_at_first(element)))
    made = Arena(
        kc.Memory(k.names.fresh("arena"), element),
        used,
        k.names.fresh("capacity"),
        kc.Memory(k.names.fresh("need"), I32),
    )
    k.arenas[element] = made
    return made


def allocate(
    k: KernelBuilder, element: ScalarType, count: Size
) -> tuple[kc.Memory, Size]:
    """Space for `count` elements: the memory and the offset there."""
    arena = arena_of(k, element)
    capacity = k.scalar_parameter(arena.capacity, I64)
    k.use(arena.memory, written=True)
    assert k.thread is not None
    start = k.declare("start", k.thread[0] * capacity + arena.used)
    k.assign(arena.used, arena.used + k.size_value(count))
    with k.branch(arena.used > capacity):
        request = kc.Cast((arena.used + (REQUEST_UNIT - 1)) // REQUEST_UNIT, kc.INT)
        k.atomic("atomic_max", arena.need, 0, request)
        k.emit(kc.Return())
    return arena.memory, Size.of(start.name)


def release_after(k: KernelBuilder, statements: list[kc.Statement]) -> None:
    """Emit statements, then release what they allocated in arenas."""
    marks = {e: k.variable("mark", kc.LONG) for e in k.arenas}
    for element, mark in marks.items():
        k.emit(kc.Declare(mark, k.arenas[element].used))
    k.statements.extend(statements)
    for element, mark in marks.items():
        k.assign(k.arenas[element].used, mark)


def launch_with_arenas(host: HostBuilder, k: KernelBuilder, launch: kc.Launch) -> None:
    """Launch until the arenas are large enough."""
    assert k.thread is not None
    saved = {array: host.copied(array) for array in k.restored}
    arenas = list(k.arenas.values())
    for arena in arenas:
        host.own_scalar(arena.capacity, I64)
        start = Constant(k.first_capacity, I64)
        host.emit(kc.HostAssign(arena.capacity, start, I64))
    again = host.names.fresh("again")
    host.emit(kc.HostAssign(again, Constant(True, BOOL), BOOL))
    with host.nested() as body:
        for arena in arenas:
            size = k.thread[1] * Size.of(arena.capacity)
            host.emit(kc.Allocate(arena.memory, size))
            host.emit(kc.Allocate(arena.need, Size.constant(1)))
            host.emit(kc.WriteElement(arena.need, ZERO, Constant(0, I32)))
        host.emit(launch)
        host.emit(kc.HostAssign(again, Constant(False, BOOL), BOOL))
        for arena in arenas:
            read = host.scalar(kc.ReadElement(arena.need, ZERO), I32, "need")
            request = host.let_size(Size.of(read) * REQUEST_UNIT, "request")
            requested = request.as_name
            assert requested is not None
            less = core.ScalarOp(operator("lt", I64), (arena.capacity, requested))
            short = host.scalar(less, BOOL, "short")
            either = core.ScalarOp(operator("or", BOOL), (again, short))
            host.emit(kc.HostAssign(again, either, BOOL))
            grown = maximum(Size.of(arena.capacity), request + request)
            grow = kc.HostAssign(arena.capacity, core.SizeExp(grown), I64)
            host.emit(kc.HostIf(short, kc.HostBlock((grow,)), kc.HostBlock(())))
        with host.nested() as restore:
            for array, copy in saved.items():
                host.copy(array, copy)
        host.emit(kc.HostIf(again, kc.HostBlock(tuple(restore)), kc.HostBlock(())))
    host.emit(kc.HostWhile(again, kc.HostBlock(tuple(body))))
