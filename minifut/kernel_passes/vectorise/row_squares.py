"""Rows that lanes traverse, in squares of as many rounds as there are lanes.

    for (t = 0; t < n; t++)                 for (begin = 0; begin < n; begin += 16)
        s = s * a + xs[i * n + t];     →        own = 16 rows of 16 elements, transposed
                                                for (t = begin; t < begin + 16; t++)
                                                    s = s * a + own[t - begin];

A round that gathers an element of each row touches as many cache lines as there are
rows; where these share their places in the cache (at a distance of 4096 bytes), none
is left for the next round. A square takes whole lines, and half a shuffle an element.
What rounds store in rows is collected in the same way. Measured in C on AVX2, with one
multiply-add a round: 0.6 of the time of gathered elements, 0.2 of rows one by one.

Copies of rows, and other loops that could be vectors along a row, go with a loop of as
many rounds in which each waits for the one before: it gains more than they lose.

Rounds that fill no square gather. Conditions: no loops inside, which would be there
twice; each round does these accesses, so that none is beyond the ends of a row,
and no other access of the loop is to memory that is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minifut.ir.alpha import alpha_equal
from minifut.ir.node import immutable, replace
from minifut.ir.search import contains, nodes_of
from minifut.ir.sizes import Size
from minifut.ir.traverse import children, map_children, rename_to
from minifut.ir.types import BOOL
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned, declared
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_ir.shuffles import SQUARES, join, unpack
from minifut.kernel_passes.context import KernelOutcome
from minifut.kernel_passes.vectorise.affine import Affine, affine, number_of
from minifut.kernel_passes.vectorise.context import LIFT
from minifut.kernel_passes.vectorise.rows import may_traverse, waits_as_often
from minifut.kernel_passes.vectorise.varying import varies
from minifut.names import Name
from minifut.rewrite.rule import rule

if TYPE_CHECKING:
    from minifut.kernel_passes.vectorise.expressions import ExpressionVectoriser
    from minifut.kernel_passes.vectorise.statements import Vectoriser

AHEAD = 2
"""squares from one to its prefetches: there are more rows than hardware follows"""
MOST_ROWS = 4
"""of a point, whose squares leave room in the first cache"""


@immutable
class LaneRow:
    """Elements of a lane that rounds access one after the other, or `backwards`: where
    the first lane does in a round, the step to the next one, and what a lane has of
    them for the rounds of a square."""

    memory: kc.Memory
    index: kc.Expression
    first: kc.Expression
    step: kc.Expression
    backwards: bool
    own: kc.Memory

    def is_of(self, node: object) -> bool:
        return (
            isinstance(node, kc.Load | kc.Store)
            and node.memory == self.memory
            and alpha_equal(node.index, self.index)
        )


@rule(kc.For, label="asVector", paper=LIFT)
def traverse_in_squares(loop: kc.For, vectoriser: Vectoriser) -> KernelOutcome:
    """Load and store the rows of lanes in squares.

    before:
        given (const long *xs, long *ys, long n)
        for (long j = 0; j < 4; j++) {
            long y = 0;
            for (long i = 0; i < n; i++) {
                y = xs[n * j + i] - y;
            }
            ys[j] = y;
        }
    after:
        long4 y = ((long4)(0L));
        long xs_1[16];
        long whole = n - (n % 4L);
        for (long begin = 0L; begin < whole; begin += 4L) {
            for (long lane = 0L; lane < 4L; lane++) {
                PREFETCH_ROW(xs + ((((n * 0L) + begin) + 8L) + (n * lane)));
            }
            for (long lane_1 = 0L; lane_1 < 4L; lane_1 += 4L) {
                for (long after = 0L; after < 4L; after += 2L) {
                    long4 row = JOIN_4X64((*(__global const loose_long2 *)(xs + ((((n *
                    0L) + begin) + after) + (n * lane_1)))), (*(__global const
                    loose_long2 *)(xs + ((((n * 0L) + begin) + after) + (n * (lane_1 +
                    2L))))));
                    long4 row_1 = JOIN_4X64((*(__global const loose_long2 *)(xs +
                    ((((n * 0L) + begin) + after) + (n * (lane_1 + 1L))))), (*(__global
                    const loose_long2 *)(xs + ((((n * 0L) + begin) + after) + (n *
                    (lane_1 + 3L))))));
                    long4 row_2 = UNPACK_LOW_4X64(row, row_1);
                    long4 row_3 = UNPACK_HIGH_4X64(row, row_1);
                    *(__private loose_long4 *)(xs_1 + ((after * 4L) + lane_1)) = row_2;
                    *(__private loose_long4 *)(xs_1 + (((after + 1L) * 4L) + lane_1)) =
                    row_3;
                }
            }
            for (long i = begin; i < (begin + 4L); i++) {
                y = (*(__private const loose_long4 *)(xs_1 + ((i - begin) * 4L))) - y;
            }
        }
        for (long i = whole; i < n; i++) {
            y = ((long4)(xs[((n * 0L) + i) + (n * 0L)], xs[((n * 0L) + i) + n], xs[((n
            * 0L) + i) + (n * 2L)], xs[((n * 0L) + i) + (n * 3L)])) - y;
        }
        *(__global loose_long4 *)(ys + 0L) = y;
    declines: a cast to booleans
        like before, with
        - y; => - (long)((bool)y);
    """
    if not (rows := _rows_of(loop, vectoriser)):
        return None
    lanes, k = vectoriser.lanes, vectoriser.k
    width, bound = lanes.width, loop.bound
    rest = _last_rounds(loop, vectoriser)
    for row in rows:
        lanes.own[row.own] = replace(row.own, name=k.names.like(row.own.name))
    lanes.varying |= {row.own.name for row in rows}
    begin = k.variable("begin", kc.LONG)
    inside = vectoriser.inner(_with_own(loop, rows, begin))
    scalar = replace(loop, parallel=False, points=False)
    squares = Squares(k, lanes, loop.variable, begin)
    stored = {store.memory for store in nodes_of(kc.Store, loop.body)}
    with k.nested() as made:
        for row in rows:
            k.emit(kc.DeclareArray(lanes.own[row.own], Size.constant(width * width)))
        whole = k.declare("whole", bound - (bound - loop.start) % width)
        with k.nested() as body:
            squares.prefetch(rows)
            for row in rows:
                if any(map(row.is_of, nodes_of(kc.Load, loop.body))):
                    squares.load(row)
            k.emit(replace(scalar, start=begin, bound=begin + width, body=inside))
            for row in rows:
                if row.memory in stored:
                    squares.store(row)
        step = kc.as_expression(width)
        k.emit(kc.For(begin, loop.start, whole, step, kc.Block(tuple(body))))
        k.emit(replace(scalar, start=whole, body=rest))
    return tuple(made)


def _last_rounds(loop: kc.For, vectoriser: Vectoriser) -> kc.Block:
    """The body for rounds that fill no square, in which lanes gather."""
    lanes = vectoriser.lanes
    known = lanes.varying, lanes.affine, lanes.steady, lanes.loops
    lanes.affine, lanes.steady = dict(lanes.affine), dict(lanes.steady)
    lanes.loops = [*lanes.loops[:-1], replace(lanes.loops[-1], few=True)]
    body = vectoriser.inner(loop.body)
    lanes.varying, lanes.affine, lanes.steady, lanes.loops = known
    return body


def _rows_of(loop: kc.For, vectoriser: Vectoriser) -> list[LaneRow]:
    """The rows that lanes traverse in all rounds of a loop, if those can be done in
    squares."""
    lanes, body = vectoriser.lanes, loop.body.statements
    few = loop.rounds is not None and loop.rounds < 2 * lanes.width
    if (
        lanes.rows is None
        or lanes.mask is not None
        or few
        or not loop.counts_by_ones
        or loop.variable.type != kc.LONG
        or varies(loop.bound, assigned(body) | declared(body))
        or contains(loop.body, kc.Fail | kc.For | kc.While)
    ):
        return []
    accesses = list(nodes_of(kc.Load | kc.Store, loop.body))
    local = _local_positions(body, lanes)
    rows: list[LaneRow] = []
    for access in _always(body):
        if any(row.is_of(access) for row in rows):
            continue
        row = _in_row(access, local, loop, vectoriser)
        if row is not None and _is_apart(row, accesses, body):
            rows.append(row)
    return rows if len(rows) <= MOST_ROWS else []


def _local_positions(
    body: Sequence[kc.Statement], lanes: ExpressionVectoriser
) -> dict[Name, Affine]:
    """What the rounds of a loop compute of their number, in lanes."""
    changing = assigned(body)
    local: dict[Name, Affine] = {}
    for statement in body:
        match statement:
            case kc.Declare(kc.Variable(name, kc.LONG), kc.Expression() as init):
                known, varying = {**lanes.affine, **local}, lanes.varying | {*local}
                if name not in changing:
                    found = affine(init, known, varying)
                    local |= {} if found is None else {name: found}
    return local


def _in_row(
    access: kc.Load | kc.Store,
    local: dict[Name, Affine],
    loop: kc.For,
    vectoriser: Vectoriser,
) -> LaneRow | None:
    """What rounds access one after the other in rows of the lanes."""
    lanes, memory, counter = vectoriser.lanes, access.memory, loop.variable
    own = SQUARES.get(memory.element.bits)
    if memory in lanes.own or memory.space != "global" or memory.element == BOOL:
        return None
    if own is None or lanes.width % own:
        return None
    at = affine(access.index, {**lanes.affine, **local}, lanes.varying | {*local})
    if at is None or not (
        isinstance(access, kc.Store)
        or may_traverse(access.index, lanes.loops)
        or waits_as_often(lanes.loops, vectoriser.waiting)
    ):
        return None
    body = loop.body.statements
    first, step = at[0], kc.as_expression(at[1])
    fixed = assigned(body) | declared(body)
    if varies(first, fixed) or varies(step, fixed | {counter.name}):
        return None
    moved = affine(first, {counter.name: (counter, 1)}, frozenset({counter.name}))
    sign, distance = moved and number_of(moved[1]), number_of(at[1])
    if sign not in (1, -1) or (distance is not None and abs(distance) < lanes.width):
        return None
    name = vectoriser.k.names.fresh(memory.name.base)
    mine = kc.Memory(name, memory.element, "private")
    return LaneRow(memory, access.index, first, step, sign < 0, mine)


def _is_apart(
    row: LaneRow, accesses: Sequence[kc.Load | kc.Store], body: Sequence[kc.Statement]
) -> bool:
    """Whether a row may be read before all rounds of a square, or stored after."""
    mine = [access for access in accesses if access.memory == row.memory]
    stores = [access for access in mine if isinstance(access, kc.Store)]
    if not stores:
        return True
    always = [access for access in _always(body) if isinstance(access, kc.Store)]
    done = all(any(store is other for other in always) for store in stores)
    return done and all(map(row.is_of, mine))


def _always(statements: Sequence[kc.Statement]) -> Iterator[kc.Load | kc.Store]:
    """The accesses that all rounds with these statements do."""
    for statement in statements:
        match statement:
            case kc.Block(inside) | kc.Reassociate(kc.Block(inside)):
                yield from _always(inside)
            case kc.Declare(_, kc.Expression() as exp) | kc.Assign(_, exp):
                yield from _evaluated(exp)
            case kc.Store(_, _, exp, False, False, None):
                yield statement
                yield from _evaluated(exp)


def _evaluated(exp: kc.Expression) -> Iterator[kc.Load]:
    """The loads that the value of an expression always needs."""
    match exp:
        case kc.Select(condition) | kc.Binary("&&" | "||", condition):
            yield from _evaluated(condition)
            return
        case kc.Operation(operator) if operator.type == BOOL:
            return
        case kc.Load(mask=None):
            yield exp
    for part in children(exp):
        if isinstance(part, kc.Expression):
            yield from _evaluated(part)


def _with_own(loop: kc.For, rows: Sequence[LaneRow], begin: kc.Variable) -> kc.Block:
    """The body of a loop with what each point has of its rows."""

    def change(node: Any) -> Any:
        for row in rows:
            if row.is_of(node):
                node = replace(node, memory=row.own, index=loop.variable - begin)
        return map_children(node, change)

    made: kc.Block = change(loop.body)
    return made


@immutable
class Squares:
    """Copies between rows and what lanes have of them from the round `begin` on."""

    k: CodeBuilder
    lanes: ExpressionVectoriser
    round: kc.Variable
    begin: kc.Variable

    def prefetch(self, rows: Sequence[LaneRow]) -> None:
        """Prefetch the lines of a later square."""
        k, width = self.k, self.lanes.width
        with k.loop("lane", width) as lane:
            for row in rows:
                ahead = -AHEAD * width if row.backwards else AHEAD * width
                place = self.lowest(row, lane, ahead)
                k.emit(kc.Prefetch(row.memory, place, spread=True))

    def lowest(self, row: LaneRow, lane: kc.Operand, more: kc.Operand) -> kc.Expression:
        """So many elements from the first of a lane in memory on."""
        if row.backwards:
            more = more - (self.lanes.width - 1)
        there: kc.Expression = rename_to(row.first, {self.round.name: self.begin.name})
        return there + more + row.step * lane

    def round_at(self, row: LaneRow, number: kc.Operand) -> kc.Operand:
        """The round of an element in the order of memory, or the element of a round."""
        return self.lanes.width - 1 - number if row.backwards else number

    def element(self, lane: kc.Operand, after: kc.Operand) -> kc.Expression:
        """Where a lane has the element of a round so many after the first."""
        return kc.as_expression(after) * self.lanes.width + lane

    def load(self, row: LaneRow) -> None:
        k, width, own = self.k, self.lanes.width, self.lanes.own[row.own]
        few = SQUARES[row.memory.element.bits]

        def from_row(number: int) -> kc.Expression:
            return self.lowest(row, lane + number, after)

        lane_loop, rounds = (
            k.loop("lane", width, 0, few),
            k.loop("after", width, 0, few // 2),
        )
        with lane_loop as lane, rounds as after:
            for n, column in enumerate(transposed(k, row.memory, from_row)):
                at = self.round_at(row, after + n)
                k.emit(kc.Store(own, self.element(lane, at), column))

    def store(self, row: LaneRow) -> None:
        k, width, own = self.k, self.lanes.width, self.lanes.own[row.own]
        few = SQUARES[row.memory.element.bits]

        def from_round(number: int) -> kc.Expression:
            return self.element(lane, self.round_at(row, after + number))

        lane_loop, rounds = (
            k.loop("lane", width, 0, few // 2),
            k.loop("after", width, 0, few),
        )
        with lane_loop as lane, rounds as after:  # whole lines one after the other
            for n, column in enumerate(transposed(k, own, from_round)):
                place = self.lowest(row, lane + n, after)
                k.emit(kc.Store(row.memory, place, column))


def transposed(
    k: CodeBuilder, memory: kc.Memory, place: Callable[[int], kc.Expression]
) -> list[kc.Variable]:
    """The columns of as many rows as a vector of 256 bits has lanes, half as long, that
    begin at places."""
    element = memory.element
    count = SQUARES[element.bits]
    half, whole = kc.VectorType(element, count // 2), kc.VectorType(element, count)

    def both(name: str, *parts: kc.Expression) -> kc.Variable:
        return k.declare("row", kc.Call(name, parts, whole))

    few = half.lanes
    rows = [
        both(
            join(count, element.bits),
            *(kc.Load(memory, place(m), half) for m in (n, n + few)),
        )
        for n in range(few)
    ]
    for _ in range(few.bit_length() - 1):
        rows = [
            both(unpack(part, count, element.bits), *pair)
            for pair in zip(rows, rows[few // 2 :], strict=False)
            for part in ("LOW", "HIGH")
        ]
    return rows
