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

from minifut.ir.kernels import SegBinOp
from minifut.ir.sizes import Size
from minifut.ir.types import ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.lowering.gpu.work_distribution import (
    SegmentTask,
    SharedOperands,
    Values,
    assign_all,
    barrier_region,
    combine,
    neutral_values,
    staged_elements,
)
from minifut.lowering.threads.builder import KernelBuilder

Element = Callable[[kc.Expression], Values]
"""Emits code for the operands at an index of the innermost dimension"""


@dataclass(frozen=True, slots=True)
class LaneGroup:
    """The lanes of a task with the operators by which they combine, and the local
    memory for that: an element for each work-item of the group."""

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
        k.barrier()
        with self.doubling() as offset:
            takes = (task.lane & (offset * 2 - 1)).equals(0)
            with barrier_region(k), k.branch(takes):
                self.combine_right(own, self.shared.get(task.local + offset))
                self.shared.put(task.local, own)

    def prefixes(self, own: Sequence[kc.Variable]) -> None:
        """Inclusive prefix scan (Hillis and Steele); `shared` then holds it too."""
        k, task = self.k, self.task
        self.shared.put(task.local, own)
        k.barrier()
        with self.doubling() as offset:
            with barrier_region(k), k.branch(task.lane >= offset):
                self.combine_left(self.shared.get(task.local - offset), own)
            self.shared.put(task.local, own)
            k.barrier()

    @contextmanager
    def doubling(self) -> Iterator[kc.Variable]:
        """Offsets 1, 2, 4, ... below the number of lanes."""
        offset = self.k.declare("offset", kc.Literal(1, kc.LONG))
        with self.k.while_loop(offset < self.task.lanes):
            yield offset
            self.k.assign(offset, offset * 2)


def lane_group(
    k: KernelBuilder,
    operators: tuple[SegBinOp, ...],
    types: Sequence[ScalarType],
    task: SegmentTask,
    group: Size,
) -> LaneGroup:
    """The lanes of a task, with local memory of their own."""
    return LaneGroup(
        k, operators, types, task, SharedOperands(k, types, group, "lanes"), group
    )


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
            barrier_region(self.lane_group.k, repair=self.clear),
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
        with k.loop("r", k.declare("mine", least)) as round_:
            yield k.declare("place", self.place + skipped + round_)


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
