"""Lane groups: the lanes of a task combine values by trees, prefixes and staged tiles.

    tree        lane i holds x_i   ->  lane 0 holds x_0 op x_1 op ... (in this order)
    prefixes    lane i holds x_i   ->  lane i holds x_0 op ... op x_i
    tiles       a task, `per` elements for each lane at a time: neighbouring lanes
                compute neighbouring elements (coalesced) and stage them in local
                memory, from where every lane reads `per` consecutive ones

Any associative operator will do. The number of lanes is a power of two, each task has
its own, all tasks of a group run in lockstep. A missing element counts as neutral.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from minifut.ir.kernels import SegBinOp
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.lowering.gpu.work_distribution import (
    SegmentTask,
    SharedOperands,
    Values,
    assign_all,
    combine,
    neutral_values,
    parallel_region,
    staged_elements,
)
from minifut.lowering.index_functions import Array
from minifut.lowering.threads.builder import KernelBuilder

RADIX = 4
"""operands that a step of a prefix scan combines"""

Element = Callable[[kc.Expression], Values]
"""Emits code for the operands at an index of the innermost dimension"""


@dataclass(frozen=True, slots=True)
class LaneGroup:
    """The lanes of a task with the operators by which they combine, and the local
    memory for that: an element for each work-item of the group, two for prefixes."""

    k: KernelBuilder
    operators: tuple[SegBinOp, ...]
    types: Sequence[ScalarType]
    task: SegmentTask
    shared: SharedOperands
    group: Size

    def neutral(self, base: str) -> list[kc.Variable]:
        """New variables with the neutral elements."""
        values = neutral_values(self.k, self.operators)
        return [self.k.declare(base, value) for value in values]

    def combine_right(
        self, targets: Sequence[kc.Variable], right: Sequence[kc.Expression]
    ) -> None:
        """`targets = targets op right`."""
        assign_all(self.k, targets, combine(self.k, self.operators, targets, right))

    def combine_left(
        self, left: Sequence[kc.Expression], targets: Sequence[kc.Variable]
    ) -> None:
        """`targets = left op targets`."""
        assign_all(self.k, targets, combine(self.k, self.operators, left, targets))

    def tree(self, own: Sequence[kc.Variable]) -> None:
        """Tree reduction; `shared` then holds lane 0's values at its index."""
        k, task = self.k, self.task
        self.shared.put(task.local, own)
        with self.growing(2) as offset:
            takes = (task.lane & (offset * 2 - 1)).equals(0)
            with parallel_region(k), k.branch(takes):
                self.combine_right(own, self.shared.get(task.local + offset))
                self.shared.put(task.local, own)

    def prefixes(self, own: Sequence[kc.Variable]) -> kc.Variable:
        """Inclusive prefix scan (Hillis and Steele, four operands a step); `shared`
        then holds it from the index on that this gives.

        Steps read one half of `shared` and write the other: a barrier each.
        """
        k, task = self.k, self.task
        half = k.declare("half", kc.Literal(0, kc.LONG))
        self.shared.put(task.local, own)
        with self.growing(RADIX) as offset:
            other = k.declare("other", k.width - half)
            keep = partial(self.shared.put, other + task.local, own)
            with parallel_region(k, repair=keep):
                farthest = kc.Call("min", (task.lane, offset * (RADIX - 1)), kc.LONG)
                bound = k.declare("bound", farthest + 1)
                with k.loop("back", bound, offset, offset) as back:
                    self.combine_left(self.shared.get(half + task.local - back), own)
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
    per_item: int = 1,
) -> LaneGroup:
    """The lanes of a task, with local memory of their own: so many elements for each
    work-item, two for prefixes."""
    shared = SharedOperands(k, types, group * per_item, "lanes")
    return LaneGroup(k, operators, types, task, shared, group)


@dataclass(frozen=True, slots=True)
class StagedTile:
    """Consecutive elements of a task in local memory, `per` for each lane."""

    lane_group: LaneGroup
    staged: SharedOperands
    first: kc.Expression
    place: kc.Expression
    per: kc.Expression

    def fill(self, point: Element) -> None:
        """Compute the elements, neighbouring lanes neighbouring ones; then a
        barrier."""
        with (
            parallel_region(self.lane_group.k, repair=self.clear),
            self.coalesced() as (at, place),
        ):
            self.staged.put(place, point(at))

    def clear(self) -> None:
        """Neutral elements at the indices that `fill` writes."""
        neutral = self.lane_group.neutral("neutral")
        with self.coalesced() as (_, place):
            self.staged.put(place, neutral)

    @contextmanager
    def coalesced(self) -> Iterator[tuple[kc.Expression, kc.Expression]]:
        """Cyclic distribution, for global memory: index of the element and in
        `staged`."""
        k, task = self.lane_group.k, self.lane_group.task
        with k.loop("r", self.per) as round_:
            step = k.declare("step", round_ * task.lanes + task.lane)
            at = k.declare("at", self.first + step)
            with k.branch(at < task.end):
                yield at, self.place + step

    @contextmanager
    def consecutive(self) -> Iterator[kc.Expression]:
        """Block distribution: the indices in `staged` of the elements of this lane."""
        k, task = self.lane_group.k, self.lane_group.task
        skipped = k.declare("skipped", task.lane * self.per)
        left = k.declare("left", task.end - self.first - skipped)
        least = kc.Call("min", (left, self.per), kc.LONG)
        with k.loop("r", k.declare("mine", least), extent=self.per) as round_:
            yield k.declare("place", self.place + skipped + round_)

    def prefixes(self) -> kc.Variable:
        """Inclusive prefixes of what each lane's elements come to; see
        `LaneGroup.prefixes`."""
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

    def write(self, arrays: Sequence[Array], outer: Values) -> None:
        """Copy the tile to global memory."""
        with self.coalesced() as (at, place):
            for array, value in zip(arrays, self.staged.get(place), strict=True):
                self.lane_group.k.write(array, (*outer, at), value)


@contextmanager
def tiles(lane_group: LaneGroup) -> Iterator[StagedTile]:
    """A loop over the tiles of the task, in order."""
    k, task = lane_group.k, lane_group.task
    most = staged_elements(k.host, lane_group.types, lane_group.group)
    staged = SharedOperands(k, lane_group.types, lane_group.group * most, "staged")
    long = task.chunk > k.width
    one, several = kc.Literal(1, kc.LONG), k.size_value(most)
    per = k.declare("per", kc.Select(long, several, one, kc.LONG))
    place = k.declare("tile_place", (task.local - task.lane) * per)
    with k.loop("done", task.chunk, 0, task.lanes * per) as done:
        first = k.declare("first", task.start + done)
        yield StagedTile(lane_group, staged, first, place, per)
