"""Sizes of work-groups of a GPU, and the local memory that they need.

    size = host.parameter(gpu.fold.group_size)
    size = min(size, (device.local_memory - 16) / bytes of a work-item)
    run.check_group(size, bytes of all local arrays, {"gpu.fold.group_size": 256})

The size is a number of the host, which a launch gives: kernels are built for it. It is
a parameter, at most what the device allows; where each work-item needs local memory,
there are no more than fit. What a kernel needs in the end is checked before each
launch, since not every device would say so by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.kernels import LOCAL_MEMORY, Parameter
from minifut.ir.sizes import ONE, Size, maximum, minimum
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder
    from minifut.lowering.threads.builder import KernelBuilder

STATIC_BYTES = 16
"""local memory that a kernel has besides its arrays: the cell for failures"""


def free_local_bytes(host: HostBuilder) -> Size:
    """The bytes that the arrays of a group may take."""
    return host.parameter(LOCAL_MEMORY) - STATIC_BYTES


def group_size(host: HostBuilder, parameter: Parameter, nbytes: int = 0) -> Size:
    """The work-items of a group, each of which needs that many bytes."""
    size = host.parameter(parameter)
    if not nbytes:
        return size
    return maximum(ONE, minimum(size, free_local_bytes(host) // nbytes))


def check_group(host: HostBuilder, k: KernelBuilder, group: Size) -> None:
    """Emit the check that the device can run the kernel in such groups."""
    nbytes = Size.constant(STATIC_BYTES)
    for parameter in k.parameters.values():
        if isinstance(parameter, kc.LocalParameter):
            element = parameter.memory.element
            nbytes = nbytes + parameter.count * local_bytes(element)
    for statement in k.prologue:
        if isinstance(statement, kc.DeclareArray) and statement.memory.space == "local":
            element = statement.memory.element
            nbytes = nbytes + statement.count * local_bytes(element)
    host.emit(kc.CheckGroup(group, nbytes, k.settable_constants()))


def check_requested_tiles(host: HostBuilder, nbytes: Size) -> None:
    """Emit the check that explicitly requested tile sizes fit into local memory."""
    constants = host.build.parameters
    named = {constants[name].name: name for name in nbytes.names()}
    host.emit(kc.CheckRequestedTiles(nbytes, tuple(sorted(named.items()))))


def local_bytes(element: ScalarType) -> int:
    """Bytes of an element in local memory, where f16 is a float."""
    return 4 if element.name == "f16" else element.bytes
