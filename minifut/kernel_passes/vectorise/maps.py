"""Loops over points that do not depend on each other, vector by vector: Lift's asVector
with the split that precedes it.

Extremes over all points are collected by lanes apart:

    for (i ..) {                      ulong8 lane = (ulong8)(most);
        d = f(i);                →    for (i .. by 8) lane = max(lane, f(i ..));
        most = max(most, d);          most = max(most, max(lane.s0, max(lane.s1, ..)));
    }

Such are the largest indices of a chunk, which are tested after it. A point may be
repeated: the extreme is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from minifut.ir.node import immutable, mutable, replace
from minifut.ir.search import contains, nodes_of
from minifut.ir.traverse import map_children, rename_to
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import declared
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.context import KernelOutcome, rewritten
from minifut.kernel_passes.index_ranges import IndexRanges
from minifut.kernel_passes.vectorise import private_arrays, shared_rounds
from minifut.kernel_passes.vectorise.context import LIFT, WIDTHS, LoopContext, widths_of
from minifut.kernel_passes.vectorise.jam import Jam, vectors_at_once
from minifut.kernel_passes.vectorise.own_elements import is_distributed, memory_in_place
from minifut.kernel_passes.vectorise.rows import tested_before
from minifut.kernel_passes.vectorise.statements import vectorise
from minifut.rewrite.rule import rule
from minifut.rewrite.trace import untraced

EXTREMES = ("min", "max")


@immutable
class PointExtreme:
    """`variable = function(variable, value)`, the only use of it."""

    variable: kc.Variable
    function: str


def find_extremes(body: Sequence[kc.Statement]) -> tuple[PointExtreme, ...]:
    """The variables from outside that collect the extreme of an integer."""
    uses = Counter(n.name for n in nodes_of(kc.Variable, *body))
    inside = declared(body)
    found = []
    for statement in body:
        if isinstance(statement, kc.Assign) and isinstance(statement.exp, kc.Call):
            place, exp = statement.target, statement.exp
            if (
                isinstance(place, kc.Variable)
                and exp.function in EXTREMES
                and isinstance(exp.operands[0], kc.Variable)
                and exp.operands[0].name == place.name
                and not place.type.scalar.is_float
                and place.name not in inside
                and uses[place.name] == 2
            ):
                found.append(PointExtreme(place, exp.function))
    return tuple(found)


class LaneExtremes:
    """The extremes of lanes, declared for a width, and the body that collects them."""

    def __init__(
        self, k: CodeBuilder, found: Sequence[PointExtreme], width: int
    ) -> None:
        self.k, self.found, self.width = k, found, width
        self.places = [
            k.declare(
                "lane",
                kc.Vector((e.variable,), kc.VectorType(e.variable.type.scalar, width)),
            )
            for e in found
        ]

    def collecting(self, body: Sequence[kc.Statement]) -> tuple[kc.Statement, ...]:
        """The body with the names of the lanes' extremes."""
        names = {
            e.variable.name: lane.name
            for e, lane in zip(self.found, self.places, strict=True)
        }
        return tuple(rename_to(statement, names) for statement in body)

    def combine(self) -> None:
        """The extremes of all lanes become the one."""
        for e, lane in zip(self.found, self.places, strict=True):
            type_ = e.variable.type
            for number in range(self.width):
                own = kc.Component(lane, number, type_)
                self.k.assign(e.variable, kc.Call(e.function, (e.variable, own), type_))


ONE = kc.Literal(1, kc.LONG)
SMALL = 48
"""statements of points for which there may be code of three widths"""


@rule(kc.For, label="asVector", paper=LIFT, remark=widths_of)
def vectorise_map(loop: kc.For, context: LoopContext) -> KernelOutcome:
    """Execute as many points at once as there are lanes; the last vector overlaps the
    one before, whose points are repeated with the same effect. A loop of fewer points
    than lanes is executed point by point (inside of another, by half as many lanes if
    it has as many points; so are points with long arrays of their own, and rows of
    points with loops; of small ones by a quarter, too), and so are the last ones of a
    map that is done in place, of which none may be repeated.

    before:
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            float x = xs[i];
            ys[i] = x < 0.0f ? 0.0f - x : x;
        }
    after:
        long rest = 0L;
        if (n >= 4L) {
            for (long block = 0L; block < n; block += 4L) {
                long first = min(block, (long)(n - 4L));
                float4 x = (*(__global const loose_float4 *)(xs + first));
                *(__global loose_float4 *)(ys + first) = (x < ((float4)(0.0f))) ?
                (((float4)(0.0f)) - x) : x;
            }
            rest = n;
        }
        for (long i = rest; i < n; i++) {
                float x = xs[i];
                ys[i] = (x < 0.0f) ? (0.0f - x) : x;
        }
    declines: points read what they write
        given (float *xs, long n)
        for (long i = 0; i < n; i++) {
            xs[i] = xs[i + 1];
        }
    """
    k, start, stop = context.k, loop.start, loop.bound
    body = loop.body.statements
    rest = k.variable("rest", kc.LONG)
    apart = context.fresh and is_distributed(k, loop)
    own = private_arrays.find_own_arrays(k, loop, apart)

    def ranges() -> IndexRanges:
        return IndexRanges.within(loop, context.around)

    in_place = memory_in_place(body, loop.variable, own, apart, ranges)

    points = _Points(k, loop, context, own, in_place, find_extremes(body))
    is_row = _is_row(loop, context.around)
    is_small = sum(1 for _ in nodes_of(kc.Declare | kc.Assign, loop.body)) <= SMALL

    def blocks(width: int, narrower: bool = True) -> None:
        vectors, conditions = points.in_vectors(width, rest)
        if in_place and not conditions:
            k.statements.extend(vectors)
            return
        with k.branch(kc.all_of([stop - start >= width, *conditions])):
            k.statements.extend(vectors)
        longer = private_arrays.has_scratch(own) and width > WIDTHS[-1]
        is_short = (context.inside or is_row) and width >= WIDTHS[-1]
        if narrower and (longer or is_short):
            with k.otherwise(), untraced(k, True):
                blocks(width // 2, narrower=is_row and is_small)

    chosen = context.by_width(body, blocks)
    few = _left_single(loop.body)
    single = kc.For(loop.variable, rest, stop, ONE, few, loop.parallel)
    return (kc.Declare(rest, start), *chosen.statements, single)


@mutable
class _Points:
    """The points of a loop, with the arrays that each has for itself, the memory that
    they change in place, and the extremes over all of them."""

    k: CodeBuilder
    loop: kc.For
    context: LoopContext
    own: private_arrays.Owned
    in_place: frozenset[kc.Memory]
    extremes: tuple[PointExtreme, ...]

    def in_vectors(
        self, width: int, rest: kc.Variable
    ) -> tuple[list[kc.Statement], list[kc.Expression]]:
        """The points vector by vector, but for those from `rest` on, and what must hold
        for that beside that they fill a vector."""
        k, loop = self.k, self.loop
        start, stop, streams = loop.start, loop.bound, not self.context.inside
        assumed: list[kc.Expression] = []
        with k.nested() as vectors:
            lanes = LaneExtremes(k, self.extremes, width)
            body = kc.Block(tuple(lanes.collecting(loop.body.statements)))
            first = k.variable("first", kc.LONG)
            vector = self.divided(first, body, width, assumed)
            several = self.own or self.extremes
            many = 1 if several else vectors_at_once(vector)
            at = start
            if many > 1:
                jammed = many * width
                ends = stop - (stop - start) % jammed
                middle = k.variable("middle", kc.LONG)
                central = kc.For(loop.variable, middle, middle + jammed, ONE, body)
                if (worth := shared_rounds.shares_most_rounds(central, k)) is not None:
                    k.emit(kc.Declare(middle, (start + stop - jammed) // 2))
                    ends = kc.Select(worth, ends, start, kc.LONG)
                at = k.declare("jammed", ends)
                with k.loop("block", at, start, jammed, streams=streams) as block:
                    both = self.divided(block, body, many * width, assumed)
                    self.visit(both, lanes, assumed, many)
            if self.in_place:
                whole = k.declare("whole", stop - (stop - start) % width)
                with k.loop("block", whole, at, width, streams=streams) as block:
                    named = rename_to(vector, {first.name: block.name})
                    self.visit(named, lanes, assumed)
                k.assign(rest, kc.Call("max", (start, whole), kc.LONG))
            else:
                with k.loop("block", stop, at, width, streams=streams) as block:
                    begin = kc.Call("min", (block, stop - width), kc.LONG)
                    k.emit(kc.Declare(first, begin))
                    self.visit(vector, lanes, assumed)
                k.assign(rest, stop)
            lanes.combine()
        tested = tested_before(assumed, loop.body.statements)
        return vectors, [*private_arrays.fitting(self.own, width), *tested]

    def divided(
        self,
        first: kc.Variable,
        body: kc.Block,
        points: int,
        assumed: list[kc.Expression],
    ) -> kc.For:
        """So many points, with loops of their own for the rounds that all have; what
        must hold for that is added to what is `assumed`."""
        block = kc.For(self.loop.variable, first, first + points, ONE, body)
        (made,) = rewritten(shared_rounds.share_rounds, block, self.context) or (block,)
        assert isinstance(made, kc.For)
        assumed += self.context.assumed
        self.context.assumed.clear()
        return made

    def visit(
        self,
        block: kc.For,
        lanes: LaneExtremes,
        assumed: list[kc.Expression],
        many: int = 1,
    ) -> None:
        """The points of a block in so many vectors; what must hold for that is added to
        what is `assumed`."""
        k, width = self.k, lanes.width
        copies = [
            vectorise(
                k,
                block.body.statements,
                block.variable,
                (block.start + number * width, 1),
                width,
                running=lanes.places,
                arrays=self.own,
                rows=assumed,
            )
            for number in range(many)
        ]
        k.statements += Jam(k, copies).merged(copies)


def _is_row(loop: kc.For, around: Sequence[kc.Statement]) -> bool:
    """Whether the points are those of rows, which may be short, and have loops."""
    return contains(loop.body, kc.For | kc.While) and any(
        inner.variable.name == loop.variable.name
        for rows in nodes_of(kc.While, *around)
        for inner in nodes_of(kc.For, rows.body)
    )


def _left_single(node: Any) -> Any:
    """Code for a few points, in which no loop is worth vectorising."""
    if isinstance(node, kc.For) and node.points:
        node = replace(node, points=False)
    return node if isinstance(node, kc.Expression) else map_children(node, _left_single)
