"""What accesses cost: bytes moved between memory and the device, by schedule.

GPU     work-items run side by side along the variable that runs fastest. Neighbours in
        memory along it move no more bytes than are used, an array that is the same
        along it next to none, and all else a sector for each element.
CPU     one thread runs through its points, one after the other: a line of the cache
        for each element, if neighbouring points do not find theirs side by side. In
        bodies with loops neighbouring points lie in the lanes of vectors, which gather
        what is not side by side. Bodies that are not lifted to lanes run through their
        loops point by point; there it is the innermost loop that counts, and strides
        cost little, for all the rest that such bodies do.

An array is turned by reading and writing it once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minifut.ir import core, kernels
from minifut.ir.core import Stm
from minifut.ir.traverse import walk
from minifut.ir.types import ArrayType, Type, element_of, shape_of
from minifut.names import Name
from minifut.passes.layout.accesses import Access, Kernel, count

SECTOR = 32
"""bytes that a GPU moves at least"""
LINE = 64
"""bytes of a line of a CPU's cache"""
SHARED = 16
"""work-items that share what is the same for them"""
GATHER, STRIDE = 5.0, 1.2
"""what an element costs a CPU more, gathered by lanes, or with a stride in a loop;
measured on the default device at 1024 to 4096 squared"""
LAUNCH = 1 << 16
"""bytes that could be moved while a kernel starts"""


@dataclass(frozen=True, slots=True)
class Machine:
    """`turning` is what a byte costs to be turned, `access` what an access costs if a
    variable runs fastest and a dimension lies innermost in memory."""

    schedule: str
    turning: float
    access: Callable[[Access, Name, int, bool], float]

    def turn(self, type_: Type) -> float:
        """Lay an array out anew."""
        nbytes = count(shape_of(type_)) * element_of(type_).bytes
        return LAUNCH + self.turning * nbytes

    def cost(
        self, access: Access, fastest: Name, innermost: int, lifted: bool
    ) -> float:
        """Bytes moved for one access. `lifted`: neighbouring points lie in lanes."""
        return self.access(access, fastest, innermost, lifted)


def _gpu(access: Access, fastest: Name, innermost: int, lifted: bool) -> float:
    del lifted
    nbytes = float(access.elements * access.nbytes)
    if not access.varies_with(fastest):
        return nbytes / SHARED
    if innermost in access.places_along(fastest):
        return nbytes
    return nbytes * max(1, SECTOR // access.nbytes)


def _cpu(access: Access, fastest: Name, innermost: int, lifted: bool) -> float:
    nbytes = float(access.elements * access.nbytes)
    nearest = access.loops[-1] if access.loops and not lifted else fastest
    same = not access.varies_with(nearest)
    if same or innermost in access.places_along(nearest):
        return nbytes  # what is the same comes from the cache at the price of the rest
    if not access.loops:
        return nbytes * max(1, LINE // access.nbytes)
    return nbytes * (GATHER if lifted else STRIDE)


GPU = Machine("gpu", 2.5, _gpu)
CPU = Machine("cpu", 2.5, _cpu)
MACHINES = {"cpu": CPU, "gpu": GPU}


def fastest_variables(kernel: Kernel, machine: Machine) -> list[Name]:
    """The variables that may run fastest, the one that does as written first."""
    indices = kernel.space.indices
    match kernel:
        case kernels.SegMap():
            free = all(isinstance(r, kernels.Returns) for r in kernel.body.result)
            return list(reversed(indices)) if free else [indices[-1]]
        case kernels.SegRed() | kernels.SegScan() if machine.schedule == "cpu":
            return list(reversed(indices[-2:]))
    return [indices[-1]]


def is_lifted(kernel: Kernel) -> bool:
    """Whether a CPU may run neighbouring points in the lanes of vectors: threads make
    or copy no arrays, and cannot fail."""
    if any(isinstance(type_, ArrayType) for type_ in kernel.types):
        return False
    return not any(
        isinstance(node, core.Assert | core.Apply)
        or (
            isinstance(node, Stm)
            and not isinstance(node.exp, core.Index | core.Rearrange | core.Reshape)
            and any(isinstance(p.type, ArrayType) for p in node.pattern)
        )
        for node in walk(kernel.body)
    )
