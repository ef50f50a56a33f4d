"""The cost model of accesses: bytes moved between memory and the device, by schedule.

GPU     neighbouring work-items differ in the innermost variable. Accesses that are
        contiguous along it (coalesced) move no more bytes than are used, invariant
        ones next to none, and all others a sector for each element.
CPU     a thread processes its points in order: a cache line for each element, unless
        neighbouring points access neighbouring elements. In bodies with loops
        neighbouring points are lanes of vectors, which gather elements that are not
        contiguous. Bodies that are not vectorised execute their loops point by point;
        there the innermost loop counts, and strides cost little compared to the rest
        of such bodies.

A transposition reads and writes the array once.
"""

from __future__ import annotations

from collections.abc import Callable

from minifut.ir import core, kernels
from minifut.ir.core import Stm
from minifut.ir.node import immutable
from minifut.ir.traverse import walk
from minifut.ir.types import ArrayType, Type, element_of, shape_of
from minifut.names import Name
from minifut.passes.layout.accesses import Access, SegmentedOperation, count

SECTOR = 32
"""bytes that a GPU moves at least"""
LINE = 64
"""bytes of a line of a CPU's cache"""
SHARED = 16
"""work-items that share what is the same for them"""
GATHER, STRIDE = 5.0, 1.2
"""relative cost of an element on a CPU, gathered by lanes, or with a stride in a loop;
measured on the default device at 1024 to 4096 squared"""
NEAR = 2.0
"""the same of an element a short stride from the last; other accesses use the rest"""
LAUNCH = 1 << 16
"""bytes that could be moved while a kernel starts"""


@immutable
class Machine:
    """`transposition` is the cost of transposing a byte, `access` the cost of an access
    if a variable of the kernel and a dimension of the array are innermost."""

    schedule: str
    transposition: float
    access: Callable[[Access, Name, int, bool | None], float]

    def transposition_cost(self, type_: Type) -> float:
        """The cost of a copy in another order."""
        nbytes = count(shape_of(type_)) * element_of(type_).bytes
        return LAUNCH + self.transposition * nbytes

    def cost(
        self, access: Access, fastest: Name, innermost: int, vectorised: bool | None
    ) -> float:
        """Bytes moved for one access. `vectorised`: neighbouring points are in
        lanes; None: if that is better."""
        return self.access(access, fastest, innermost, vectorised)


def _gpu(
    access: Access, fastest: Name, innermost: int, vectorised: bool | None
) -> float:
    del vectorised
    nbytes = float(access.elements * access.nbytes)
    if not access.varies_with(fastest):
        return nbytes / SHARED
    if innermost in access.places_along(fastest):
        return nbytes
    return nbytes * max(1, SECTOR // access.nbytes)


def _cpu(
    access: Access, fastest: Name, innermost: int, vectorised: bool | None
) -> float:
    if vectorised is None:
        return min(_cpu(access, fastest, innermost, way) for way in (True, False))
    nbytes = float(access.elements * access.nbytes)
    nearest = access.loops[-1] if access.loops and not vectorised else fastest
    same = not access.varies_with(nearest)
    if same or innermost in access.places_along(nearest):
        return nbytes  # what is the same comes from the cache at the price of the rest
    if not access.loops and access.is_near(nearest, innermost):
        return nbytes * NEAR
    if not access.loops:
        return nbytes * max(1, LINE // access.nbytes)
    return nbytes * (GATHER if vectorised else STRIDE)


GPU = Machine("gpu", 2.5, _gpu)
CPU = Machine("cpu", 2.5, _cpu)
MACHINES = {"cpu": CPU, "gpu": GPU}


def fastest_variables(kernel: SegmentedOperation, machine: Machine) -> list[Name]:
    """The variables that may run fastest, the one that does as written first."""
    indices = kernel.space.indices
    match kernel:
        case kernels.SegMap():
            free = all(isinstance(r, kernels.Returns) for r in kernel.body.result)
            return list(reversed(indices)) if free else [indices[-1]]
        case kernels.SegRed() | kernels.SegScan() if machine.schedule == "cpu":
            return list(reversed(indices[-2:]))
    return [indices[-1]]


def is_vectorised(kernel: SegmentedOperation) -> bool:
    """Whether a CPU may run neighbouring points in the lanes of vectors, however they
    access memory: threads make or copy no arrays, and cannot fail."""
    return (
        cannot_fail(kernel)
        and not any(isinstance(type_, ArrayType) for type_ in kernel.types)
        and not any(
            isinstance(node, Stm)
            and not isinstance(node.exp, core.Index | core.Rearrange | core.Reshape)
            and any(isinstance(p.type, ArrayType) for p in node.pattern)
            for node in walk(kernel.body)
        )
    )


def cannot_fail(kernel: SegmentedOperation) -> bool:
    """Whether points have neither checks nor calls: a CPU runs those that have arrays
    of their own in lanes if they access others along the points."""
    return not any(isinstance(n, core.Assert | core.Apply) for n in walk(kernel.body))
