"""Distribution of segments over the work-groups of a GPU.

A space of S segments of length L is split into S x C *tasks*: C chunks of each segment,
C > 1 only if there are too few segments to fill the device. A task is executed by t
neighbouring lanes of a group, t the power of two that covers it, at most the group:

    many short segments     C = 1, several tasks in a group
    medium segments         C = 1, a group per segment
    few long segments       C > 1, several groups per segment; another kernel combines

All is computed when the program runs, from S and L; the kernels stay the same. Groups
loop over the tasks with the stride of the grid (grid-stride loop); all loops with
barriers have bounds that are uniform in the group.

Local memory: `SharedOperands` is one local array per operand. A `parallel_region`
contains code in which no work-item depends on another, and which those that fail leave
by a jump to its end: they join the others at barriers, which a pass inserts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from minifut.ir import core
from minifut.ir.kernels import Parameter, SegBinOp, SegSpace, group_size
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, Size, ceil_div, maximum, minimum, product
from minifut.ir.types import I64, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.lowering.groups import gpu_limits as group_limits
from minifut.lowering.positions import unravel
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder
    from minifut.lowering.threads.builder import KernelBuilder

GROUP_SIZE = group_size("fold")
STAGED = Parameter(
    "gpu.fold.staged_elements", "tile_size", (("cpu", 15), ("gpu", 15)), (1, 64)
)
"""Elements per work-item in local memory, where that allows; if odd, the strided
accesses of a group fall into different banks. With 15 of 4 bytes, 8 groups still share
the local memory of a multiprocessor, and barriers and look-back take a tenth of what
the memory needs for a tile"""
ELEMENTS = 8
"""Minimum of elements per work-item for a chunk of a segment"""
LARGEST_GROUP = 1 << 16
GROUPS_PER_CORE = Parameter(
    "gpu.fold.groups_per_core", "num_groups", (("cpu", 8), ("gpu", 8)), (1, 1024)
)
"""Groups that saturate a compute unit"""
STRIDES = 8
"""How many times GROUPS_PER_CORE groups start before groups have several tasks"""

BANKS_BYTES = 128
"""that all banks of local memory hold side by side"""

ElementValues = tuple[kc.Expression, ...]


@immutable
class WorkDistribution:
    """S segments of length L as tasks; sizes are over variables of the host."""

    segments: Size
    length: Size
    chunks: Size
    chunk: Size
    groups: Size
    group: Size

    @property
    def tasks(self) -> Size:
        return self.segments * self.chunks

    @property
    def grid(self) -> Size:
        return self.groups * self.group


def distribute(
    host: HostBuilder, segments: Size, length: Size, group: Size
) -> WorkDistribution:
    """Split S segments of length L for this device."""
    busy = host.cores() * host.parameter(GROUPS_PER_CORE)
    fill = busy // maximum(segments, ONE)
    worth = ceil_div(length, group * ELEMENTS)
    chunks = host.let_size(maximum(ONE, minimum(fill, worth)), "chunks")
    chunk = host.let_size(ceil_div(length, chunks), "chunk")
    return _distribute(host, segments, length, chunks, chunk, group, ONE)


def whole_segments(
    host: HostBuilder, segments: Size, length: Size, group: Size, wanted: Size
) -> WorkDistribution:
    """One task per segment; no groups at all if `wanted` (0 or 1) is 0."""
    return _distribute(host, segments, length, ONE, length, group, wanted)


def later_chunks(host: HostBuilder, cut: WorkDistribution) -> WorkDistribution:
    """The tasks without the first of each segment; as tasks of their own their number
    in the segment is one less."""
    several = minimum(cut.chunks - 1, ONE)
    chunks = host.let_size(cut.chunks - 1, "later")
    groups = host.let_size(cut.groups * several, "groups")
    return WorkDistribution(
        cut.segments, cut.length, chunks, cut.chunk, groups, cut.group
    )


def _distribute(
    host: HostBuilder,
    segments: Size,
    length: Size,
    chunks: Size,
    chunk: Size,
    group: Size,
    wanted: Size,
) -> WorkDistribution:
    lanes = minimum(group, 2 * maximum(chunk, ONE))
    needed = ceil_div(segments * chunks * lanes, group)
    most = host.cores() * host.parameter(GROUPS_PER_CORE) * STRIDES
    groups = host.let_size(minimum(needed, most) * wanted, "groups")
    return WorkDistribution(segments, length, chunks, chunk, groups, group)


def fold_group(
    host: HostBuilder, types: Sequence[ScalarType], per_item: int = 1
) -> Size:
    """Work-items whose `per_item` values of these types, two at least, fit into local
    memory; a power of two where elements are staged, so that each is one of the lanes
    of a task."""
    size = group_limits.group_size(host, GROUP_SIZE, _bytes(types) * max(2, per_item))
    if per_item == 1:
        return size
    group = kc.Covering(size // 2 + 1, Size.constant(LARGEST_GROUP))
    return Size.of(host.scalar(group, I64, "group"))


def staged_elements(
    host: HostBuilder, types: Sequence[ScalarType], group: Size, is_long: Size = ONE
) -> Size:
    """Elements per work-item that fit into local memory beside two values each; one if
    `is_long` is 0, not 1. Kernels are built for it."""
    fitting = group_limits.free_local_bytes(host) // (group * _bytes(types)) - 2
    most = host.let_size(minimum(host.parameter(STAGED), fitting), "staged")
    each = core.SizeExp(ONE + (most - 1) * is_long)
    return Size.of(host.choose_build_constant(each, STAGED, "staged"))


def _bytes(types: Sequence[ScalarType]) -> int:
    return sum(group_limits.local_bytes(type_) for type_ in types)


# --- operators ------------------------------------------------------------------------


def neutral_values(k: KernelBuilder, operators: Sequence[SegBinOp]) -> ElementValues:
    """The neutral elements of all operators."""
    return tuple(k.scalar(atom) for op in operators for atom in op.neutral)


def combine(
    k: KernelBuilder,
    operators: Sequence[SegBinOp],
    left: Sequence[kc.Expression],
    right: Sequence[kc.Expression],
) -> ElementValues:
    """`left op right` of all operators, in variables of their own."""
    results: list[kc.Expression] = []
    at = 0
    for operator in operators:
        end = at + len(operator.neutral)
        operands = (*left[at:end], *right[at:end])
        given = [k.named(value, "operand") for value in operands]
        for value in k.apply(operator.operator, tuple(given)):
            assert isinstance(value, kc.Expression)
            results.append(k.declare("combined", value))
        at = end
    return tuple(results)


# --- local memory and parallel regions ------------------------------------------------


class SharedOperands:
    """An array in local memory per operand, with `count` elements: a host size."""

    def __init__(
        self, k: KernelBuilder, types: Sequence[ScalarType], count: Size, base: str
    ) -> None:
        self.k = k
        self.memories = [k.local_memory(t, count, base) for t in types]

    def put(self, index: kc.Operand, values: Sequence[kc.Expression]) -> None:
        """Store the operands at an index."""
        for memory, value in zip(self.memories, values, strict=True):
            self.k.store(memory, index, value)

    def get(self, index: kc.Operand) -> ElementValues:
        """Load the operands at an index into variables."""
        loads = [self.k.load(memory, index) for memory in self.memories]
        return tuple(self.k.declare("shared", load) for load in loads)

    def put_apart(
        self,
        start: kc.Expression,
        index: kc.Expression,
        values: Sequence[kc.Expression],
    ) -> None:
        """Store the operands at an index behind `start`, where a cell is left out after
        all banks: of four in a row, lanes reach the n-th each in a bank of its own."""
        places = self._places_apart(start, index)
        for memory, place, value in zip(self.memories, places, values, strict=True):
            self.k.store(memory, place, value)

    def get_apart(self, start: kc.Expression, index: kc.Expression) -> ElementValues:
        """Load what `put_apart` stored into variables."""
        places = zip(self.memories, self._places_apart(start, index), strict=True)
        loads = [self.k.load(memory, place) for memory, place in places]
        return tuple(self.k.declare("shared", load) for load in loads)

    def _places_apart(
        self, start: kc.Expression, index: kc.Expression
    ) -> list[kc.Expression]:
        places: dict[int, kc.Expression] = {}
        for memory in self.memories:
            nbytes = group_limits.local_bytes(memory.element)
            if nbytes not in places:
                skipped = index >> (BANKS_BYTES // nbytes).bit_length() - 1
                places[nbytes] = self.k.declare("place", start + index + skipped)
        return [places[group_limits.local_bytes(m.element)] for m in self.memories]


@contextmanager
def parallel_region(
    k: KernelBuilder, repair: Callable[[], None] | None = None
) -> Iterator[None]:
    """Statements in which no work-item depends on another, and which failing ones leave
    by a jump to the end.

    They continue with arbitrary values: the failure is recorded, the results are
    discarded, and every access is checked by itself. (An early return is not possible:
    the barriers behind need all work-items.) `repair` emits what failed work-items do
    in the end, so that the others read no uninitialised memory.
    """
    before = k.fail_label, k.can_fail
    label = str(k.names.fresh("failed"))
    k.fail_label, k.can_fail = label, False
    with k.parallel_region():
        outer = k.statements
        with k.nested() as inside:
            yield
        may_fail = k.can_fail
        k.fail_label, k.can_fail = before[0], before[1] or may_fail
        if may_fail and repair is not None:
            fine = k.declare("fine", kc.Literal(False, kc.TRUTH))
            outer.extend(inside)
            k.assign(fine, kc.Literal(True, kc.TRUTH))
            k.emit(kc.Label(label))
            with k.branch(kc.Call("!", (fine,), kc.TRUTH)):
                repair()
        else:
            outer.extend(inside)
            if may_fail:
                k.emit(kc.Label(label))


# --- tasks -------------------------------------------------------------------------


@immutable
class SegmentTask:
    """The task of a work-item: it is `lane` of `lanes`, work-item `local` of the group;
    the `task` (if `active`) has the elements from `start` up to `end` of `segment`;
    `chunk` is the largest number of elements of any task."""

    lane: kc.Expression
    lanes: kc.Expression
    local: kc.Expression
    task: kc.Expression
    active: kc.Expression
    segment: kc.Expression
    start: kc.Expression
    end: kc.Expression
    chunk: kc.Expression


@contextmanager
def each_task(k: KernelBuilder, of: WorkDistribution) -> Iterator[SegmentTask]:
    """A grid-stride loop over the tasks, uniform in each group."""
    local = k.declare("local", k.identity("get_local_id"))
    group = k.declare("group", k.identity("get_group_id"))
    count = k.declare("groups", k.identity("get_num_groups"))
    k.thread = (k.declare("thread", k.identity("get_global_id")), of.grid)
    chunk, chunks = k.size_value(of.chunk), k.size_value(of.chunks)
    tasks = k.declare("tasks", k.size_value(of.tasks))
    lanes = k.declare("lanes", kc.Literal(1, kc.LONG))
    least = k.size_value(_least_lanes(k.host, of))
    most = k.declare("most", kc.Select(least > 1, k.width, chunk, kc.LONG))
    with k.while_loop((lanes * 2 <= k.width) & (lanes < most)):
        k.assign(lanes, lanes * 2)
    lane = k.declare("lane", local % lanes)
    per_group = k.declare("per_group", k.width // lanes)
    own = k.declare("own", local // lanes)
    bound = k.declare("bound", (tasks + per_group - 1) // per_group)
    with k.loop("round", bound, group, count) as at:
        place = k.declare("place", at * per_group + own)
        active = k.declare("active", (own < per_group) & (place < tasks))
        # a number that is not much too great for work-items without a task
        task = k.declare("task", kc.Call("min", (place, tasks), kc.LONG))
        segment: kc.Expression = task
        start: kc.Expression = kc.Literal(0, kc.LONG)
        if of.chunks != ONE:
            segment = k.declare("segment", task // chunks)
            start = k.declare("start", (task - segment * chunks) * chunk)
        length = k.size_value(of.length)
        least = kc.Call("min", (start + chunk, length), kc.LONG)
        end = k.declare("end", kc.Select(active, least, start, kc.LONG))
        yield SegmentTask(lane, lanes, local, task, active, segment, start, end, chunk)


def _least_lanes(host: HostBuilder, of: WorkDistribution) -> Size:
    """The whole group if a task is as long, else 1: kernels are built for this, so that
    compilers know the lanes of long tasks."""
    is_long = minimum(of.chunk // of.group, ONE)
    exp = core.SizeExp(ONE + (of.group - 1) * is_long)
    return Size.of(host.choose_build_constant(exp, GROUP_SIZE, "least_lanes"))


def bind_segment(
    k: KernelBuilder, space: SegSpace, segment: kc.Expression
) -> tuple[kc.Expression, ...]:
    """Bind the outer indices of a space to those of a segment, and give them."""
    return bind_flat(k, space.indices[:-1], space.sizes[:-1], segment)


def bind_flat(
    k: KernelBuilder, names: Sequence[Name], sizes: Sequence[Size], flat: kc.Expression
) -> tuple[kc.Expression, ...]:
    """Bind index names to the indices of a flat position, and give them."""
    indices = unravel(k, flat, tuple(k.resolve(size) for size in sizes))
    k.bind_all(names, indices)
    return indices


def outer_indices(
    k: KernelBuilder, space: SegSpace, segment: kc.Expression
) -> tuple[kc.Expression, ...]:
    """The outer indices of a segment, without binding them."""
    return unravel(k, segment, tuple(k.resolve(s) for s in space.sizes[:-1]))


def count_segments(host: HostBuilder, space: SegSpace) -> tuple[Size, Size]:
    """How many segments, and how long each is."""
    sizes = [host.size(size) for size in space.sizes]
    segments = product(tuple(sizes[:-1]))
    return host.let_size(segments, "segments"), host.let_size(sizes[-1], "length")


def launch(host: HostBuilder, k: KernelBuilder, over: WorkDistribution) -> None:
    """Launch a kernel over all groups; its results are new arrays."""
    host.launch(k, over.grid, over.group, fresh=True)
