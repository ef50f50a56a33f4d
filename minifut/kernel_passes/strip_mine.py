"""Strip-mine loops over points whose body has a period in the index.

    for (i = 0; i < n; i++)                  for (row = 0; row * w < n; row++)
        out[i] = a[i / w] * b[i % w]    →        for (r = 0; r < w; r++)
                                                     out[row * w + r] = a[row] * b[r]

The quotient by w is the same, and the remainder grows by one, for the points between
two multiples of w. For a power of two s the same is so of bits: of i & s, i | s and
i ^ s, which pair the elements of sorting networks and butterflies. So each block of
points reads and writes contiguous elements, without divisions, and branches on the
quotient or the bit are those of a block. Other bits of the index, as i & t or
(i >> k) & 1, are the same in all of a block that is no longer than their value, and
blocks become so short. The period is known when the kernel runs: blocks too short for
vectors are done point by point, which is faster than divisions; if bits are short, or
those of no power of two, the loop stays as it was.

Points of a block, whose positions are the block's and theirs, are counted by positions.
Points that read what is combined with bits are vectors of their own (`pairs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from minifut.ir.alpha import alpha_equal
from minifut.ir.kernels import Parameter
from minifut.ir.node import replace
from minifut.ir.scalars import Operator, operator
from minifut.ir.search import nodes_of
from minifut.ir.traverse import map_children, walk
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.assignments import assigned
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes import position_ranges
from minifut.kernel_passes.context import CodeContext, KernelOutcome
from minifut.kernel_passes.pairs import BITS, BitTest, Pairs, emit_pairs, partners_of
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.kernel_passes.vectorise.division import QUOTIENTS, RESTS
from minifut.rewrite.rule import Declined, rule

LEAST = 32
"""points of a block: fewer do not fill vectors"""
SHORTEST_PAIRED = 8
SHORTEST = Parameter(
    "cpu.shortest_period",
    "tile_size",
    (("cpu", SHORTEST_PAIRED), ("gpu", LEAST)),
    (SHORTEST_PAIRED, LEAST),
    "points of a block between multiples of a period; if there may be 8, partners are "
    "in one vector or in two",
)
BELOW = {
    ("lt", "xor"): True, ("le", "xor"): True, ("gt", "xor"): False,
    ("ge", "xor"): False, ("lt", "or"): True, ("ge", "or"): False,
}  # fmt: skip
"""comparisons of an index with a partner, and whether they say that its bit is 0"""
SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
LARGEST = 200
"""nodes of a body that is duplicated"""


@rule(
    kc.For,
    paper="Allen, Kennedy, Optimizing Compilers for Modern Architectures (2001), 9.3",
)
def strip_mine_by_period(loop: kc.For, context: CodeContext) -> KernelOutcome:
    """Loop over the points between two multiples of a period inside a loop over these.

    before:
        given (const float *xs, float *ys, long n, long w)
        for (long i = 0; i < n; i++) {
            long row = div_i64(i, w);
            long column = mod_i64(i, w);
            float x = xs[row + column];
            ys[i] = x;
        }
    after:
        if ((w >= shortest_period) && (w <= 281474976710656L)) {
            long at = 0L;
            long row = 0L / w;
            while (at < n) {
                long base = row * w;
                long end = min((long)(base + w), n);
                for (long rest = at - base; rest < (end - base); rest++) {
                    long i = base + rest;
                    long row_1 = row;
                    long column = rest;
                    float x = xs[row_1 + column];
                    ys[i] = x;
                }
                at = end;
                row = row + 1L;
            }
        } else if ((w >= 1L) && (w <= 281474976710656L)) {
            long at_1 = 0L;
            long row_2 = 0L / w;
            while (at_1 < n) {
                long base_1 = row_2 * w;
                long end_1 = min((long)(base_1 + w), n);
                SCALAR
                for (long rest_1 = at_1 - base_1; rest_1 < (end_1 - base_1); rest_1++) {
                    long i = base_1 + rest_1;
                    long row_1 = row_2;
                    long column = rest_1;
                    float x = xs[row_1 + column];
                    ys[i] = x;
                }
                at_1 = end_1;
                row_2 = row_2 + 1L;
            }
        } else {
            for (long i = 0L; i < n; i++) {
                long row_1 = div_i64(i, w);
                long column = mod_i64(i, w);
                float x = xs[row_1 + column];
                ys[i] = x;
            }
        }
    before:
        like before, with
        long w) => long w, long block)
        for (long i = 0; i < n; i++) {
        => for (long l = 0; l < n; l++) {
        => long i = block + l;
        ys[i] => ys[l]
    after:
        like after, with
        0L => block
        < n => < (block + n)
        , n) => , (long)(block + n))
        if ( => if ((
        281474976710656L)) => 281474976710656L)) && (block >= 0L))
        long row_1 = => long l = i - block; long row_1 =
        ys[i] => ys[l]
    declines: no index repeats with a period
        like before, with
        div_i64 => sub_i64
        mod_i64 => add_i64
    """
    if not loop.counts_by_ones:
        return None
    positions = _over_positions(loop)
    body = _PeriodicBody(positions)
    if body.period is None:
        return Declined("no index repeats with a period")
    if loop.expensive or (positions is loop and calls_functions(loop.body)):
        return Declined("lanes find quotients of neighbouring indices by steps")
    loop = positions
    if sum(1 for _ in walk(loop.body)) > LARGEST:
        return Declined("the body is long")
    with context.k.nested() as made:
        _emit_blocks(context.k, loop, body, body.period)
    return tuple(made)


def _over_positions(loop: kc.For) -> kc.For:
    """The loop over the positions of a block, if it is one over the points in it."""
    match loop.body.statements:
        case (
            kc.Declare(
                kc.Variable() as at, kc.Binary("+", kc.Variable() as base, point)
            ),
            *rest,
        ) if point == loop.variable and {at.name, base.name}.isdisjoint(assigned(rest)):
            body = kc.Block((kc.Declare(loop.variable, at - base), *rest))
            ends = {"start": base + loop.start, "bound": base + loop.bound}
            return replace(loop, variable=at, body=body, **ends)
    return loop


class _PeriodicBody(position_ranges.PositionIndices):
    """The body of a loop over points, and the period of its indices. If that is one of
    bits, `tests` are other bits."""

    def __init__(self, loop: kc.For) -> None:
        super().__init__(loop)
        self.period: kc.Expression | None = None
        found = list(nodes_of(kc.Operation, loop.body))
        for node in found:
            length = self.period_of(node)
            short = isinstance(length, kc.Literal) and int(length.value) < LEAST
            # a bit alone is computed in vectors
            if self.period is None and not short and node.operator.name != "and":
                self.period = length
        found = [] if self.period is None else found
        self.operators = {n.operator.name for n in found if self.has_period(n)}
        self.tests: list[BitTest] = []
        if self.operators <= set(BITS):
            others = (n for n in found if not self.has_period(n))
            self.tests = [test for test in map(self.bit_test, others) if test]

    def bit_test(self, node: kc.Operation) -> BitTest | None:
        """`i & t` or `(i >> k) & c`, with a power of two c."""
        if node.operator.name != "and" or node.type != kc.LONG:
            return None
        for place, operand in enumerate(node.operands):
            other = node.operands[1 - place]
            mask = self.uniform(other) if self.offset(operand) == 0 else None
            if mask is not None:
                if isinstance(mask, kc.Literal):  # of short blocks, or of several bits
                    return None
                return BitTest(node, mask, partial(kc.Expression.__and__, mask))
            match other, self.defined(operand):
                case kc.Literal(int(bit)), kc.Operation(shift, (shifted, count)) if (
                    shift.name == "shr"
                    and 0 < bit < LEAST
                    and not bit & (bit - 1)
                    and self.offset(shifted) == 0
                    and (places := self.uniform(count))
                    and not isinstance(places, kc.Literal)
                ):
                    mask = kc.Operation(operator("shl", I64), (other, places), kc.LONG)
                    return BitTest(node, mask, partial(_shifted, shift, places, bit))
        return None

    def period_of(self, node: kc.Operation) -> kc.Expression | None:
        """What the index is divided by or combined with, in terms of what there is
        before the loop."""
        name = node.operator.name
        if name not in (*QUOTIENTS, *RESTS, *BITS) or node.type != kc.LONG:
            return None
        left, right = node.operands
        if name in BITS and self.offset(right) == 0:
            left, right = right, left
        return self.uniform(right) if self.offset(left) == 0 else None

    def has_period(self, node: object) -> bool:
        """Whether this is an operation on the index with the period of the loop."""
        if not isinstance(node, kc.Operation):
            return False
        length = self.period_of(node)
        return length is not None and alpha_equal(length, self.period)

    def is_below(self, node: object) -> bool | None:
        """Whether this compares the index with a partner of it, such that the result is
        whether the bit of the period is 0, or whether it is 1; None of others."""
        if not isinstance(node, kc.Operation) or node.operator.name not in SWAPPED:
            return None
        name, (left, right) = node.operator.name, node.operands
        if left.type != kc.LONG:
            return None
        if self.offset(left) != 0:
            name, left, right = SWAPPED[name], right, left
        partner = self.defined(right)
        if not isinstance(partner, kc.Operation) or not self.has_period(partner):
            return None
        return (
            BELOW.get((name, partner.operator.name)) if self.offset(left) == 0 else None
        )

    def in_block(
        self,
        node: Any,
        values: Mapping[str, kc.Expression],
        bits: Sequence[kc.Expression] = (),
    ) -> Any:
        """The same in a block of points, with the values of operators and tests
        there."""
        if self.has_period(node):
            return values[node.operator.name]
        if (lacks_bit := self.is_below(node)) is not None:
            unset = values["and"].equals(0)
            return unset if lacks_bit else kc.Call("!", (unset,), kc.TRUTH)
        for test, bit in zip(self.tests, bits, strict=False):
            if node is test.node:
                return bit
        return map_children(node, lambda child: self.in_block(child, values, bits))


def _shifted(
    shift: Operator, places: kc.Expression, bit: int, at: kc.Expression
) -> kc.Expression:
    return kc.Operation(shift, (at, places), kc.LONG) & bit


def _emit_blocks(
    k: CodeBuilder, loop: kc.For, body: _PeriodicBody, period: kc.Expression
) -> None:
    """The loop over blocks, or the one over points if the period is short."""
    start, period = k.named(loop.start, "start"), k.named(period, "period")
    others = dict.fromkeys(test.mask for test in body.tests)
    masks = [k.named(mask, "mask") for mask in others]
    shortest = k.build_constant(SHORTEST)
    bits = bool(body.operators & set(BITS))
    powers = [(each & (each - 1)).equals(0) for each in (period, *masks) if bits]
    loop = replace(loop, start=start)
    if loop.parallel and body.operators <= set(BITS):
        pairs = Pairs(loop, body.in_block, body.tests, period, masks, powers)
        vectors = emit_pairs(k, pairs)
        if vectors is not None:
            code, (low, high) = vectors
            k.emit(kc.StaticIf(shortest <= SHORTEST_PAIRED, code, kc.Block(())))
            with k.loop("side", 2) as side:
                first = side.equals(0)
                begin = k.declare("begin", kc.Select(first, start, high, kc.LONG))
                end = k.declare("end", kc.Select(first, low, loop.bound, kc.LONG))
                rest = replace(loop, start=begin, bound=end)
                _emit_rows(k, rest, body, period, masks, powers, LEAST)
            return
    _emit_rows(k, loop, body, period, masks, powers, LEAST if bits else shortest)


def _emit_rows(
    k: CodeBuilder,
    loop: kc.For,
    body: _PeriodicBody,
    period: kc.Expression,
    masks: Sequence[kc.Expression],
    powers: Sequence[kc.Expression],
    shortest: kc.Operand,
) -> None:
    """The loop over blocks in which quotients, or bits, are the same, or the one over
    points if blocks are short."""
    start, bits = loop.start, bool(powers)
    length = k.named(position_ranges.extreme("min", [period, *masks]), "length")
    fits = [period <= position_ranges.FAR, *powers]
    if not isinstance(start, kc.Literal) or int(start.value) < 0:
        fits.append(start >= 0)

    def blocks(loop: kc.For) -> None:
        at = k.declare("at", start)
        row = k.declare("row", start // length)
        with k.while_loop(at < loop.bound):
            base = k.declare("base", row * length)
            end = k.declare("end", kc.Call("min", (base + length, loop.bound), kc.LONG))
            bit = k.declare("bit", base & period) if bits else kc.Literal(0, kc.LONG)
            tested = [k.declare("tested", test.of(base)) for test in body.tests]
            rest = k.variable("rest", kc.LONG)
            whole = dict.fromkeys(QUOTIENTS, row) | dict.fromkeys(RESTS, rest)
            values = {**partners_of(loop.variable, bit, period), **whole}
            statements = body.in_block(loop.body, values, tested).statements
            block = kc.Block((kc.Declare(loop.variable, base + rest), *statements))
            ends = {"start": at - base, "bound": end - base}
            k.emit(replace(loop, variable=rest, body=block, **ends))
            k.assign(at, end)
            k.assign(row, row + 1)

    with k.branch(kc.all_of([length >= shortest, *fits])):
        blocks(loop)
    rest = replace(loop, points=calls_functions(loop.body))
    with k.otherwise():
        if bits or rest.points:
            k.emit(rest)
            return
        with k.branch(kc.all_of([length >= 1, *fits])):
            blocks(replace(rest, parallel=False, scalar=True))
        with k.otherwise():
            k.emit(rest)
