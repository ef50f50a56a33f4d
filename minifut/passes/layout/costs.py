"""The cost model of accesses: bytes moved between memory and the device, by schedule.

GPU     neighbouring work-items differ in the innermost variable. Accesses that are
        contiguous along it (coalesced) move no more bytes than are used, invariant
        ones next to none, and all others a sector for each element.
CPU     a thread processes its points in order: a cache line for each element, unless
        neighbouring points access neighbouring elements. In bodies with loops
        neighbouring points are lanes of vectors, which gather elements that are not
        contiguous. Where the device's compiler makes vectors along rows instead
        (`rounds`), the innermost loop counts. It also does in bodies that are not
        vectorised, which execute their loops point by point; strides cost little
        compared to the rest of such bodies.

A transposition reads and writes the array once.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from minifut.analysis.simple_points import makes_arrays
from minifut.ir import core, kernels, search, types
from minifut.ir.node import immutable
from minifut.names import Name
from minifut.passes.layout.accesses import SegmentedOperation, count
from minifut.passes.layout.places import Access
from minifut.passes.layout.rounds import folds_in_vectors

SECTOR = 32
"""bytes that a GPU moves at least"""
LINE = 64
"""bytes of a line of a CPU's cache"""
SHARED = 16
"""work-items that share what is the same for them"""
GATHER, STRIDE = 5.0, 1.2
"""relative cost of an element on a CPU, gathered by lanes, or with a stride in a loop;
measured on the default device at 1024 to 4096 squared"""
SQUARE = 2.0
"""the same of an element of a row that lanes traverse in squares"""
NEAR = 2.0
"""the same of an element a short stride from the last; other accesses use the rest"""
ALONG_ROWS = 1.25
"""the same of an element in a vector along a row, as each row ends with a part of a
vector and the sum of lanes: what is read ten times is rather transposed for points"""
IN_THREAD = 2.5
"""the same of a row in a product of matrices in one thread, where lanes are no elements
of the result: 100 of 32 x 64 and 64 x 64 take 0.71 ms, and 0.28 of columns"""
LAUNCH = 1 << 16
"""bytes that could be moved while a kernel starts"""


class Lanes(Enum):
    """What a CPU does in the lanes of vectors: neighbouring points, rounds of the
    innermost loops, nothing, or points if that is better than nothing."""

    POINTS = "points"
    ROUNDS = "rounds"
    NONE = "none"
    EITHER = "either"


@immutable
class Machine:
    """`transposition` is the cost of transposing a byte, `access` the cost of an access
    if a variable of the kernel and a dimension of the array are innermost."""

    schedule: str
    transposition: float
    access: Callable[[Access, Name, int, Lanes], float]

    def transposition_cost(self, type_: types.Type) -> float:
        """The cost of a copy in another order."""
        nbytes = count(types.shape_of(type_)) * types.element_of(type_).bytes
        return LAUNCH + self.transposition * nbytes

    def cost(
        self, access: Access, fastest: Name, innermost: int, lanes: Lanes
    ) -> float:
        """Bytes moved for one access."""
        return self.access(access, fastest, innermost, lanes)


def _gpu(access: Access, fastest: Name, innermost: int, lanes: Lanes) -> float:
    del lanes
    nbytes = float(access.elements * access.nbytes)
    if not access.varies_with(fastest):
        return nbytes / SHARED
    if innermost in access.places_along(fastest):
        return nbytes
    return nbytes * max(1, SECTOR // access.nbytes)


def _cpu(access: Access, fastest: Name, innermost: int, lanes: Lanes) -> float:
    if lanes is Lanes.EITHER:
        ways = Lanes.POINTS, Lanes.NONE
        return min(_cpu(access, fastest, innermost, way) for way in ways)
    nbytes = float(access.elements * access.nbytes)
    if access.folded is not None:
        in_lanes = innermost in access.places_along(access.folded)
        return nbytes * (1 if in_lanes else IN_THREAD)
    in_loop = access.loops and lanes is not Lanes.POINTS
    nearest = access.loops[-1] if in_loop else fastest
    same = not access.varies_with(nearest)
    if same or innermost in access.places_along(nearest):
        # what is the same comes from the cache at the price of the rest
        return nbytes * (ALONG_ROWS if in_loop and lanes is Lanes.ROUNDS else 1)
    if not access.loops and access.is_near(nearest, innermost):
        return nbytes * NEAR
    if not access.loops:
        return nbytes * max(1, LINE // access.nbytes)
    in_square = access.waits and access.nbytes in (4, 8) and lanes is Lanes.POINTS
    if in_square and innermost in access.places_along(access.loops[-1]):
        return nbytes * SQUARE
    return nbytes * (STRIDE if lanes is Lanes.NONE else GATHER)


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


def ways_of(kernel: SegmentedOperation, machine: Machine) -> tuple[Lanes, ...]:
    """What may be in lanes, each with layouts of its own."""
    if not cannot_fail(kernel):
        return (Lanes.NONE,)
    if not is_vectorised(kernel):
        return (Lanes.EITHER,)
    if machine.schedule == "cpu" and folds_in_vectors(kernel):
        return (Lanes.POINTS, Lanes.ROUNDS)
    return (Lanes.POINTS,)


def is_vectorised(kernel: SegmentedOperation) -> bool:
    """Whether a CPU may run neighbouring points in the lanes of vectors, however they
    access memory: threads make or copy no arrays."""
    returns_arrays = any(isinstance(type_, types.ArrayType) for type_ in kernel.types)
    return not returns_arrays and not makes_arrays(kernel.body)


def cannot_fail(kernel: SegmentedOperation) -> bool:
    """Whether points have neither checks nor calls: a CPU runs those that have arrays
    of their own in lanes if they access others along the points."""
    return not search.contains(kernel.body, core.Assert | core.Apply)
