"""Reductions and prefixes of the lanes of a task by shuffles.

    within a subgroup     offset = 1, 2, 4, ..: combine with the lane that far away
    if a task has more    a lane of each stores in local memory what it comes to
                          barrier
                          lane n of each loads that of the n-th; within a subgroup again

So a task takes one barrier, or none if it is within a subgroup, where steps in local
memory take one each. All subgroups do the second part alike, instead of one that would
have to give its results to the others behind another barrier.

A subgroup is `device.subgroup` neighbouring work-items, a power of two like the lanes
of a task. Values move as words of 32 or 64 bits. Lanes that fail go on with arbitrary
values, so that all take part in each shuffle.

Source: Harris, Sengupta and Owens, "Parallel prefix sum (scan) with CUDA" (2007), for
scans of subgroups before those of groups; Luitjens, "Faster parallel reductions on
Kepler" (2014), for reductions by shuffles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from minifut.ir.kernels import SUBGROUP, SegBinOp
from minifut.ir.node import immutable
from minifut.ir.types import element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.atomic_cells import from_word, to_word, word_of
from minifut.lowering.gpu.work_distribution import parallel_region
from minifut.lowering.threads.builder import KernelBuilder
from minifut.rewrite.context import Context
from minifut.rewrite.rule import Declined, Remark, decision

if TYPE_CHECKING:
    from minifut.lowering.gpu.lane_groups import LaneGroup

MOST_WORDS = 8
"""of 32 bits that are moved for each element: four values of 64 bits"""


@immutable
class Prefixes:
    """What the lanes of a task before this one come to (neutral for the first), and all
    of them."""

    before: Sequence[kc.Variable]
    total: Sequence[kc.Variable]


@decision(
    paper="Parallel prefix sum (scan) with CUDA (Harris et al., 2007)",
    remark=lambda *_: Remark(("shuffles, where a device has them",), (SUBGROUP,)),
)
def exchange_by_shuffles(
    operators: Sequence[SegBinOp], context: Context
) -> bool | Declined:
    """Let the lanes of a task exchange values by shuffles on devices that have them.

    before:
        like before of distribute_cyclically
    after:
        $if ((SUBGROUP > 1) and (((WORK_ITEMS & (WORK_ITEMS - 1)) == 0) and
        ..
        SHUFFLE_32(down, moved, word, (uint)offset);
        int other = ((int)moved);
        ..
        barrier(CLK_LOCAL_MEM_FENCE);
        ..
        $else
        ..
        $end
    declines: the operands have too many words
        given (n: i64, xs: [n]i64)
        let (a: i64, b: i64, c: i64, d: i64, e: i64) = segred grid (i < n)
            operator(add_i64, (0i64), []) operator(add_i64, (0i64), [])
            operator(add_i64, (0i64), []) operator(add_i64, (0i64), [])
            operator(add_i64, (0i64), []) -> (i64, i64, i64, i64, i64) {
          let x: i64 = xs[i]
          return returns x, returns x, returns x, returns x, returns x
        }
    """
    types = [element_of(t) for op in operators for t in op.operator.results]
    if sum(word_of(type_).bits // 32 for type_ in types) > MOST_WORDS:
        return Declined("the operands have too many words")
    return True


@immutable
class SubgroupLanes:
    """What the lanes of a subgroup do: this is its lane `number`, in a part of `most`
    lanes, a power of two, in which values are combined (i32)."""

    group: LaneGroup
    width: kc.Expression
    number: kc.Expression
    most: kc.Expression
    place: kc.Expression

    def shuffled(
        self, values: Sequence[kc.Expression], lane: kc.Expression, mode: str = "idx"
    ) -> list[kc.Expression]:
        """The values of a lane of the subgroup."""
        k = self.group.k
        source = k.named(lane, "from")
        found: list[kc.Expression] = []
        for value, type_ in zip(values, self.group.types, strict=True):
            word = k.named(to_word(value, type_), "word")
            moved = k.declare("moved", type_=word.type)
            k.emit(kc.Shuffle(mode, moved, word, source, self.width))
            found.append(k.declare("other", from_word(moved, type_)))
        return found

    def reduce(self, own: Sequence[kc.Variable]) -> None:
        """Combine the values of a part in its first lane."""
        k = self.group.k
        with self._growing() as offset:
            right = self.shuffled(own, offset, "down")
            inside = (self.place & (offset * 2 - 1)).equals(0)
            with parallel_region(k), k.branch(inside):
                self.group.combine_right(own, right)

    def scan(self, own: Sequence[kc.Variable]) -> None:
        """Prefixes of the values of a part."""
        k = self.group.k
        with self._growing() as offset:
            left = self.shuffled(own, offset, "up")
            with parallel_region(k), k.branch(self.place >= offset):
                self.group.combine_left(left, own)

    @contextmanager
    def _growing(self) -> Iterator[kc.Variable]:
        k = self.group.k
        offset = k.declare("offset", kc.Literal(1, kc.INT))
        with k.while_loop(offset < self.most):
            yield offset
            k.assign(offset, offset * 2)


@immutable
class Subgroups:
    """The lanes of tasks in subgroups: `each` has up to `width` lanes of a task; lane n
    of `all_` has what the n-th subgroup of its task comes to. This one is number `mine`
    of the group, the `first` of its task is before."""

    each: SubgroupLanes
    all_: SubgroupLanes
    mine: kc.Expression
    first: kc.Expression

    @property
    def are_several(self) -> kc.Expression:
        """Whether a task has more lanes than a subgroup."""
        group = self.each.group
        return group.task.lanes > group.k.build_constant(SUBGROUP)

    def put(self, own: Sequence[kc.Variable], number: kc.Expression) -> None:
        """Let others see what this subgroup comes to, which that lane has."""
        group = self.each.group
        with parallel_region(group.k), group.k.branch(self.each.number.equals(number)):
            group.shared.put(self.mine, own)

    def parts(self) -> list[kc.Variable]:
        """What the subgroup whose number in the task is that of the lane comes to."""
        group = self.each.group
        found = group.shared.get(self.first + self.all_.place)
        return [group.k.declare("part", value) for value in found]


def can_shuffle(k: KernelBuilder) -> kc.Expression:
    """Whether the device has shuffles, and the subgroups of a group of a power of two
    are no more than the lanes of one; known when the kernel is built."""
    width = k.build_constant(SUBGROUP)
    is_power = (k.width & (k.width - 1)).equals(0)
    fits = kc.all_of((is_power, width * width >= k.width))
    return kc.all_of((width > 1, fits))


def _subgroups(group: LaneGroup) -> Subgroups:
    k, task = group.k, group.task
    width = kc.Cast(k.build_constant(SUBGROUP), kc.INT)
    local = k.declare("own", kc.Cast(task.local, kc.INT))
    lanes = k.declare("lanes", kc.Cast(task.lanes, kc.INT))
    number = k.declare("number", local & (width - 1))
    most = k.declare("most", kc.Select(lanes < width, lanes, width, kc.INT))
    each = SubgroupLanes(
        group, width, number, most, k.declare("place", number & (most - 1))
    )
    count = k.declare("count", (lanes + width - 1) // width)
    place = k.declare("place", number & (count - 1))
    mine = k.declare("subgroup", local // width)
    first = k.declare("first", mine - (mine & (count - 1)))
    return Subgroups(
        each, SubgroupLanes(group, width, number, count, place), mine, first
    )


def reduced(
    group: LaneGroup, own: Sequence[kc.Variable], everywhere: bool
) -> list[kc.Variable]:
    """The lanes' values combined in order: in lane 0 of a task, or `everywhere`."""
    k, task, subgroups = group.k, group.task, _subgroups(group)
    each, all_ = subgroups.each, subgroups.all_
    each.reduce(own)
    total = group.neutral("total")
    zero = kc.Literal(0, kc.INT)
    if task.lane == task.local:
        subgroups.put(own, zero)
        with parallel_region(k), k.loop("at", all_.most, type_=kc.INT) as at:
            group.combine_right(total, group.shared.get(at))
        return total
    with k.branch(subgroups.are_several):
        subgroups.put(own, zero)
        part = subgroups.parts()
        all_.reduce(part)
        first = all_.number - all_.place
        k.assign_all(total, all_.shuffled(part, first) if everywhere else part)
    with k.otherwise():
        first = each.number - each.place
        k.assign_all(total, each.shuffled(own, first) if everywhere else own)
    return total


def scanned(group: LaneGroup, own: Sequence[kc.Variable], made: Prefixes) -> None:
    """Prefixes of the lanes' values, whose variables are neutral before. The barrier is
    there for tasks within a subgroup, too, so that another behind it is not needed."""
    k, subgroups = group.k, _subgroups(group)
    each, all_ = subgroups.each, subgroups.all_
    each.scan(own)
    left = each.shuffled(own, kc.Literal(1, kc.INT), "up")
    subgroups.put(own, each.width - 1)
    part = subgroups.parts()
    all_.scan(part)
    last = subgroups.mine - subgroups.first - 1
    earlier = all_.shuffled(part, last)
    with k.branch(last >= 0):
        k.assign_all(made.before, earlier)
    with k.branch(each.most < each.width):
        end = each.number - each.place + each.most - 1
        k.assign_all(made.total, each.shuffled(own, end))
    with k.otherwise():
        k.assign_all(made.total, all_.shuffled(part, all_.most - 1))
    with parallel_region(k), k.branch(each.place > 0):
        group.combine_right(made.before, left)
