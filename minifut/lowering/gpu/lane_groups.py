"""Lane groups: the lanes of a task combine values by trees, prefixes and staged tiles.

    tree        lane i holds x_i   ->  lane 0 holds x_0 op x_1 op ... (in this order)
    prefixes    lane i holds x_i   ->  lane i holds x_0 op ... op x_i
    tiles       a task, `per` elements for each lane at a time: neighbouring lanes
                compute neighbouring elements (coalesced) and stage them in local
                memory, from where every lane reads `per` consecutive ones

Any associative operator will do. The number of lanes is a power of two, each task has
its own, all tasks of a group run in lockstep. A missing element counts as neutral.

Kernels are built for `per`, and full tiles have loops of their own, without tests of
each element: compilers unroll both, and have as many loads in flight as elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from minifut.ir.kernels import SegBinOp
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, Size, minimum
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.lowering.gpu import subgroups
from minifut.lowering.gpu.work_distribution import (
    ElementValues,
    SegmentTask,
    SharedOperands,
    combine,
    neutral_values,
    parallel_region,
    staged_elements,
)
from minifut.lowering.index_functions import Array
from minifut.lowering.threads.builder import KernelBuilder

RADIX = 4
"""operands that a step of a prefix scan combines"""

Element = Callable[[kc.Expression], ElementValues]
"""Emits code for the operands at an index of the innermost dimension"""


@immutable
class LaneGroup:
    """The lanes of a task with the operators by which they combine, and the local
    memory for that: an element for each work-item of the group, two for prefixes."""

    k: KernelBuilder
    operators: tuple[SegBinOp, ...]
    types: Sequence[ScalarType]
    task: SegmentTask
    shared: SharedOperands
    group: Size
    shuffles: bool
    """whether there is code with shuffles for devices that have them"""

    def neutral(self, base: str) -> list[kc.Variable]:
        """New variables with the neutral elements."""
        values = neutral_values(self.k, self.operators)
        return [self.k.declare(base, value) for value in values]

    def combine_right(
        self, targets: Sequence[kc.Variable], right: Sequence[kc.Expression]
    ) -> None:
        """`targets = targets op right`."""
        self.k.assign_all(targets, combine(self.k, self.operators, targets, right))

    def combine_left(
        self, left: Sequence[kc.Expression], targets: Sequence[kc.Variable]
    ) -> None:
        """`targets = left op targets`."""
        self.k.assign_all(targets, combine(self.k, self.operators, left, targets))

    def tree(
        self, own: Sequence[kc.Variable], everywhere: bool = False
    ) -> ElementValues:
        """Tree reduction of the lanes' values; the result, which lane 0 of a task has,
        or all have it `everywhere` and if one task is all of the group: then it is
        uniform."""
        total = self.neutral("total")
        self.by_shuffles(
            lambda: self.k.assign_all(total, subgroups.reduced(self, own, everywhere)),
            lambda: self.k.assign_all(total, self._tree(own)),
        )
        return tuple(total)

    def by_shuffles(
        self, shuffle: Callable[[], None], exchange: Callable[[], None]
    ) -> None:
        """Code with shuffles for devices that have them, or in local memory."""
        k = self.k
        if not self.shuffles:
            exchange()
            return
        with k.nested() as first:
            shuffle()
        with k.nested() as second:
            exchange()
        blocks = kc.Block(tuple(first)), kc.Block(tuple(second))
        k.emit(kc.StaticIf(subgroups.can_shuffle(k), *blocks))

    def _tree(self, own: Sequence[kc.Variable]) -> ElementValues:
        """The same in local memory.

        Each step combines four neighbouring values, and leaves the results side by
        side: whole warps have nothing to do, instead of some lanes of each.
        """
        k, local, lane = self.k, self.task.local, self.task.lane
        is_only = lane == local
        zero, one, two = (kc.Literal(n, kc.LONG) for n in range(3))
        source = k.declare("source", zero)
        behind = k.declare("behind", k.width + (k.width >> 3))
        left = k.declare("left", k.width)
        count = k.declare("count", self.task.lanes)
        number = k.declare("number", zero if is_only else local - lane)
        self.shared.put_apart(source, local, own)
        with k.while_loop(count > 1):
            bits = k.declare("bits", kc.Select(count > 2, two, one, kc.LONG))
            first = k.declare("first", local << bits)
            beyond = k.declare("beyond", (local + 1) << bits)
            target = k.declare("target", behind - source)
            keep = partial(self.shared.put_apart, target, local, own)
            with parallel_region(k, repair=keep), k.branch(beyond <= left):
                k.assign_all(own, self.shared.get_apart(source, first))
                with k.loop("right", beyond, first + 1) as right:
                    self.combine_right(own, self.shared.get_apart(source, right))
                keep()
            k.assign(source, target)
            for halved in (left, count, number):
                k.assign(halved, halved >> bits)
        return self.shared.get_apart(source, number)

    def prefixes(self, own: Sequence[kc.Variable]) -> subgroups.Prefixes:
        """Prefix scan of the lanes' values."""
        made = subgroups.Prefixes(self.neutral("before"), self.neutral("total"))
        self.by_shuffles(
            lambda: subgroups.scanned(self, own, made), lambda: self._scan(own, made)
        )
        return made

    def _scan(self, own: Sequence[kc.Variable], made: subgroups.Prefixes) -> None:
        """Prefixes by local memory."""
        k, task = self.k, self.task
        half = self._inclusive(own)
        with k.branch(task.lane > 0):
            k.assign_all(made.before, self.shared.get(half + task.local - 1))
        last = task.local - task.lane + task.lanes - 1
        k.assign_all(made.total, self.shared.get(half + last))

    def _inclusive(self, own: Sequence[kc.Variable]) -> kc.Variable:
        """Inclusive prefix scan (Hillis and Steele, four operands a step); `shared`
        then holds it from the index on that this gives.

        Steps read one half of `shared` and write the other: a barrier each.
        """
        k, task = self.k, self.task
        half = k.declare("half", kc.Literal(0, kc.LONG))
        self.shared.put(task.local, own)
        with self.growing(RADIX) as offset:
            first = half.equals(0)
            zero = kc.Literal(0, kc.LONG)
            other = k.declare("other", kc.Select(first, k.width, zero, kc.LONG))
            keep = partial(self.shared.put, other + task.local, own)
            with parallel_region(k, repair=keep):
                with k.loop("times", RADIX, 1) as times:
                    back = k.declare("back", offset * times)
                    with k.branch(task.lane >= back):
                        left = self.shared.get(half + task.local - back)
                        self.combine_left(left, own)
                keep()
            k.assign(half, other)
        return half

    @contextmanager
    def growing(self, factor: int) -> Iterator[kc.Variable]:
        """Offsets 1, factor, factor * factor, ... below the number of lanes."""
        offset = self.k.declare("offset", kc.Literal(1, kc.LONG))
        with self.k.while_loop(offset < self.task.lanes):
            yield offset
            self.k.assign(offset, offset * factor)


def lane_group(
    k: KernelBuilder,
    operators: tuple[SegBinOp, ...],
    types: Sequence[ScalarType],
    task: SegmentTask,
    group: Size,
) -> LaneGroup:
    """The lanes of a task, with local memory of their own: two elements for each
    work-item."""
    shared = SharedOperands(k, types, group * 2, "lanes")
    shuffles = subgroups.exchange_by_shuffles.fires(operators, k)
    return LaneGroup(k, operators, types, task, shared, group, shuffles)


@immutable
class StagedTile:
    """Consecutive elements of a task in local memory, `per` for each lane; those beyond
    its end are neutral. `full`: there are none of these."""

    lane_group: LaneGroup
    staged: SharedOperands
    first: kc.Expression
    place: kc.Expression
    per: kc.Expression
    full: kc.Expression

    def fill(self, point: Element, light: bool) -> None:
        """Compute the elements, neighbouring lanes neighbouring ones. Code that is
        `light` is emitted twice, for full tiles and others."""
        k, end = self.lane_group.k, self.lane_group.task.end
        neutral = self.lane_group.neutral("neutral")

        def guarded(at: kc.Expression, place: kc.Expression) -> None:
            with k.branch(at < end):
                self.staged.put(place, point(at))
            with k.otherwise():
                self.staged.put(place, neutral)

        def clear() -> None:
            self._coalesced(lambda _, place: self.staged.put(place, neutral))

        with parallel_region(k, repair=clear):
            if light:
                with k.branch(self.full):
                    self._coalesced(lambda at, place: self.staged.put(place, point(at)))
                with k.otherwise():
                    self._coalesced(guarded)
            else:
                self._coalesced(guarded)

    def _coalesced(self, visit: Callable[[kc.Expression, kc.Expression], None]) -> None:
        """Cyclic distribution, for global memory: index of the element and in
        `staged`."""
        k, task = self.lane_group.k, self.lane_group.task
        with k.loop("r", self.per) as round_:
            step = k.declare("step", round_ * task.lanes + task.lane)
            visit(k.declare("at", self.first + step), self.place + step)

    @contextmanager
    def consecutive(self) -> Iterator[kc.Expression]:
        """Block distribution: the indices in `staged` of the elements of this lane."""
        k, task = self.lane_group.k, self.lane_group.task
        skipped = k.declare("skipped", self.place + task.lane * self.per)
        with k.loop("r", self.per) as round_:
            yield k.declare("place", skipped + round_)

    def prefixes(self) -> subgroups.Prefixes:
        """Prefixes of what each lane's elements come to; see `LaneGroup.prefixes`."""
        lanes = self.lane_group
        own = lanes.neutral("own")
        with parallel_region(lanes.k), self.consecutive() as place:
            lanes.combine_right(own, self.staged.get(place))
        return lanes.prefixes(own)

    def scan(self, before: Sequence[kc.Variable]) -> None:
        """Replace the elements of this lane by their prefixes, starting from
        `before`."""
        with self.consecutive() as place:
            self.lane_group.combine_right(before, self.staged.get(place))
            self.staged.put(place, before)

    def write(self, arrays: Sequence[Array], outer: ElementValues) -> None:
        """Copy the tile to global memory."""
        k, end = self.lane_group.k, self.lane_group.task.end

        def copy(at: kc.Expression, place: kc.Expression) -> None:
            for array, value in zip(arrays, self.staged.get(place), strict=True):
                k.write(array, (*outer, at), value)

        def guarded(at: kc.Expression, place: kc.Expression) -> None:
            with k.branch(at < end):
                copy(at, place)

        with k.branch(self.full):
            self._coalesced(copy)
        with k.otherwise():
            self._coalesced(guarded)


def staged_tile(
    lane_group: LaneGroup,
    staged: SharedOperands,
    first: kc.Expression,
    place: kc.Expression,
    per: kc.Expression,
) -> StagedTile:
    """The tile of the elements from `first` on, staged from `place` on."""
    k, task = lane_group.k, lane_group.task
    full = k.declare("full", first + task.lanes * per <= task.end)
    return StagedTile(lane_group, staged, first, place, per, full)


@contextmanager
def tiles(lane_group: LaneGroup) -> Iterator[StagedTile]:
    """A loop over the tiles of the task, in order."""
    k, task, group = lane_group.k, lane_group.task, lane_group.group
    is_long = minimum(k.as_size(task.chunk) // (group + 1), ONE)
    each = staged_elements(k.host, lane_group.types, group, is_long)
    staged = SharedOperands(k, lane_group.types, group * each, "staged")
    per = k.size_value(each)
    place = k.declare("tile_place", (task.local - task.lane) * per)
    with k.loop("done", task.chunk, 0, task.lanes * per) as done:
        first = k.declare("first", task.start + done)
        yield staged_tile(lane_group, staged, first, place, per)
