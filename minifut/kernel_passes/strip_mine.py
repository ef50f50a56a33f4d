"""Strip-mine loops over points whose body has a period in the index.

    for (i = 0; i < n; i++)                  for (row = 0; row * w < n; row++)
        out[i] = a[i / w] * b[i % w]    →        for (r = 0; r < w; r++)
                                                     out[row * w + r] = a[row] * b[r]

The quotient by w is the same, and the remainder grows by one, for the points between
two multiples of w. For a power of two s the same is so of bits: of i & s, i | s and
i ^ s, which pair the elements of sorting networks and butterflies. So each block of
points reads and writes contiguous elements, without divisions, and branches on the
quotient or the bit are those of a block. The period is known when the kernel runs: if
it is short, or bits are those of no power of two, the loop stays as it was.

Where the device gathers slowly, blocks are shorter, and bits that are shorter still are
constants of loops over vectors (`vectorise.permutations`): of s = 1, 2 and 4, one each.

Source: Allen, Kennedy, "Optimizing Compilers for Modern Architectures" (2001), 9.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minifut.ir.alpha import alpha_equal
from minifut.ir.kernels import Parameter
from minifut.ir.node import replace
from minifut.ir.scalars import operator
from minifut.ir.traverse import map_children, walk
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.context import CodeContext
from minifut.kernel_passes.position_ranges import FAR, PositionIndices, all_of
from minifut.kernel_passes.vectorise.calls import calls_functions
from minifut.kernel_passes.vectorise.context import NotVectorisable
from minifut.kernel_passes.vectorise.division import QUOTIENTS, RESTS
from minifut.kernel_passes.vectorise.statements import vectorise
from minifut.rewrite.rule import Declined, rule

BITS = ("and", "or", "xor")
LEAST = 32
"""points of a block: fewer do not fill vectors"""
LANES = 8
"""of vectors of points that are partners of each other"""
SHORTEST = Parameter(
    "cpu.shortest_period",
    "tile_size",
    (("cpu", LEAST), ("gpu", LEAST), ("avx2", LANES)),
    (LANES, LEAST),
    "points of a block between multiples of a period; if there may be 8, partners at a "
    "distance below it are lanes of a vector",
)
LARGEST = 200
"""nodes of a body that is duplicated"""


@rule(paper="Allen, Kennedy, Optimizing Compilers for Modern Architectures (2001), 9.3")
def strip_mine_by_period(
    loop: kc.Statement, context: CodeContext
) -> tuple[kc.Statement, ...] | Declined | None:
    """Loop over the points between two multiples of a period inside of a loop over
    those.

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
        } else {
            for (long i = 0L; i < n; i++) {
                long row_1 = div_i64(i, w);
                long column = mod_i64(i, w);
                float x = xs[row_1 + column];
                ys[i] = x;
            }
        }
    declines: no index repeats with a period
        given (const float *xs, float *ys, long n)
        for (long i = 0; i < n; i++) {
            float y = xs[i];
            ys[i] = y;
        }
    """
    if not isinstance(loop, kc.For) or not loop.counts_by_ones:
        return None
    if loop.expensive or calls_functions(loop.body):
        return Declined("lanes find quotients of neighbouring indices by steps")
    body = _PeriodicBody(loop)
    if body.period is None:
        return Declined("no index repeats with a period")
    if sum(1 for _ in walk(loop.body)) > LARGEST:
        return Declined("the body is long")
    with context.k.nested() as made:
        _emit_blocks(context.k, loop, body, body.period)
    return tuple(made)


class _PeriodicBody(PositionIndices):
    """The body of a loop over points, and the period of its indices."""

    def __init__(self, loop: kc.For) -> None:
        super().__init__(loop)
        self.period: kc.Expression | None = None
        found = [n for n in walk(loop.body) if isinstance(n, kc.Operation)]
        for node in found:
            length = self.period_of(node)
            short = isinstance(length, kc.Literal) and int(length.value) < LEAST
            # a bit alone is computed in vectors
            if self.period is None and not short and node.operator.name != "and":
                self.period = length
        self.operators = {n.operator.name for n in found if self.has_period(n)}

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

    def in_block(self, node: Any, values: Mapping[str, kc.Expression]) -> Any:
        """The same in a block of points, with the values of operators there."""
        if self.has_period(node):
            return values[node.operator.name]
        return map_children(node, lambda child: self.in_block(child, values))


def _emit_blocks(
    k: CodeBuilder, loop: kc.For, body: _PeriodicBody, length: kc.Expression
) -> None:
    """The loop over blocks, or the one over points if the period is short."""
    zero = kc.Literal(0, kc.LONG)
    start, period = k.named(loop.start, "start"), k.named(length, "period")
    shortest = k.build_constant(SHORTEST)
    fits = [period >= shortest, period <= FAR]
    if not isinstance(start, kc.Literal) or int(start.value) < 0:
        fits.append(start >= 0)
    bits = bool(body.operators & set(BITS))
    if bits:
        fits.append((period & (period - 1)).equals(zero))
    with k.branch(all_of(fits)):
        at = k.declare("at", start)
        row = k.declare("row", start // period)
        with k.while_loop(at < loop.bound):
            base = k.declare("base", row * period)
            end = k.declare("end", kc.Call("min", (base + period, loop.bound), kc.LONG))
            bit = k.declare("bit", base & period) if bits else zero
            rest = k.variable("rest", kc.LONG)
            here, absent = loop.variable, period - bit
            pairs = {"and": bit, "or": here + absent, "xor": here + (absent - bit)}
            whole = dict.fromkeys(QUOTIENTS, row) | dict.fromkeys(RESTS, rest)
            statements = (
                body.in_block(s, {**pairs, **whole}) for s in loop.body.statements
            )
            block = kc.Block((kc.Declare(here, base + rest), *statements))
            ends = {"start": at - base, "bound": end - base}
            k.emit(replace(loop, variable=rest, body=block, **ends))
            k.assign(at, end)
            k.assign(row, row + 1)
    plain = replace(loop, points=False)
    with k.otherwise():
        paired = _emit_pairs(k, plain, body, start, period) if bits else None
        if paired is None:
            k.emit(plain)
        else:
            k.emit(kc.StaticIf(shortest <= LANES, paired, kc.Block((plain,))))


def _emit_pairs(
    k: CodeBuilder,
    loop: kc.For,
    body: _PeriodicBody,
    start: kc.Expression,
    period: kc.Expression,
) -> kc.Block | None:
    """Vectors of points, the first of which is a multiple of the lanes, if the period
    is a power of two below that; points one by one before and behind them. None if
    points have no vectors."""
    if not loop.parallel or not body.operators <= set(BITS):
        return None
    distances = [1 << n for n in range(LANES.bit_length() - 1)]
    with k.nested() as made:
        low, high = k.declare("low", start), k.declare("high", start)
        short = (start >= 0) & (period > 0) & (period < LANES)
        with k.branch(short & (period & (period - 1)).equals(0)):
            up = (start + (LANES - 1)) // LANES * LANES
            k.assign(low, kc.Call("min", (up, loop.bound), kc.LONG))
            down = loop.bound // LANES * LANES
            k.assign(high, kc.Call("max", (low, down), kc.LONG))
            for distance in distances:
                with k.branch(period.equals(distance)):
                    emitted = _emit_vectors(k, loop, body, (low, high), distance)
                if not emitted:
                    return None
        side = k.variable("side", kc.LONG)
        begin = kc.Select(side.equals(0), start, high, kc.LONG)
        end = kc.Select(side.equals(0), low, loop.bound, kc.LONG)
        sides = kc.Block((replace(loop, start=begin, bound=end),))
        zero, one, two = (kc.Literal(n, kc.LONG) for n in range(3))
        k.emit(kc.For(side, zero, two, one, sides))
    return kc.Block(tuple(made))


def _emit_vectors(
    k: CodeBuilder,
    loop: kc.For,
    body: _PeriodicBody,
    ends: tuple[kc.Expression, kc.Expression],
    distance: int,
) -> bool:
    """Vectors of points that are combined with a constant; False if there are none."""
    constant = kc.Literal(distance, kc.LONG)
    values = {
        name: kc.Operation(operator(name, I64), (loop.variable, constant), kc.LONG)
        for name in BITS
    }
    statements = [body.in_block(s, values) for s in loop.body.statements]
    low, high = ends
    with k.loop("block", high, low, LANES) as block:
        at = (block, 1)
        try:
            made = vectorise(
                k, statements, loop.variable, at, LANES, rows=[], aligned=True
            )
        except NotVectorisable:
            return False
        k.statements.extend(made)
    return True
