"""Vectors of points that read what they are combined with a bit.

    for (i = 0; i < n; i++)                 s < 4:   out[i ..] = f(x, SHUFFLE(x))
        out[i] = f(xs[i], xs[i ^ s])   →    else:    out[i ..] = f(x, y)
                                                     out[i + s ..] = f(y, x)
                                            where x = xs[i ..], y = xs[i + s ..]

For a power of two s below the lanes of a vector, a loop each, partners are lanes of one
vector (`vectorise.permutations`); else they are in two, and one loop goes over all
pairs of vectors: i has no bit s. Other bits of the index are the same up to the next
multiple of their values, so they are tested once for all vectors of such a run; those
below the lanes are the same in all vectors.

Source: Hacker's Delight, 7-6 (Warren, 2012), the exchange of bits of an index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minifut.ir.node import immutable
from minifut.ir.scalars import operator
from minifut.ir.search import nodes_of
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_passes.position_ranges import FAR, extreme
from minifut.kernel_passes.vectorise.affine import affine
from minifut.kernel_passes.vectorise.context import NotVectorisable
from minifut.kernel_passes.vectorise.permutations import own_block
from minifut.kernel_passes.vectorise.statements import vectorise
from minifut.kernel_passes.vectorise.varying import find_varying, varies

BITS = ("and", "or", "xor")
BYTES = 64
"""of a vector, as far as it has no more lanes than the most"""
MOST_LANES = 16


@immutable
class BitTest:
    """An expression that is a bit of the index, of the value `mask`, which is in terms
    of what there is before the loop; `of` is it at another index."""

    node: kc.Operation
    mask: kc.Expression
    of: Callable[[kc.Expression], kc.Expression]


@immutable
class Pairs:
    """A loop over points that are combined with the bit `period`; `in_block` gives its
    body with values of these operators and of `tests`, bits with the values `masks`.
    `powers`: that all these are powers of two."""

    loop: kc.For
    in_block: Callable[..., Any]
    tests: Sequence[BitTest]
    period: kc.Expression
    masks: Sequence[kc.Expression]
    powers: Sequence[kc.Expression]

    @property
    def lanes(self) -> int:
        """As many as a vector of the widest elements has."""
        accesses = list(nodes_of(kc.Load | kc.Store, self.loop.body))
        widest = max((n.memory.element.bytes for n in accesses), default=1)
        return min(MOST_LANES, BYTES // widest)


def partners_of(
    index: kc.Variable, bit: kc.Expression, period: kc.Expression
) -> dict[str, kc.Expression]:
    """What an index is combined with its period, of which it has that bit."""
    absent = period - bit
    return {"and": bit, "or": index + absent, "xor": index + (absent - bit)}


def emit_pairs(
    k: CodeBuilder, pairs: Pairs
) -> tuple[kc.Block, tuple[kc.Variable, kc.Variable]] | None:
    """Vectors of the points between two variables, which are both the first point if
    there are none; None if points have no vectors, or load what is scattered."""
    loop, lanes = pairs.loop, pairs.lanes
    if not _reads_vectors(loop):
        return None
    low, high = (k.variable(base, kc.LONG) for base in ("low", "high"))
    with k.nested() as made:
        try:
            _emit_middle(k, pairs, (low, high), lanes)
        except NotVectorisable:
            return None
    for end in (low, high):
        k.emit(kc.Declare(end, loop.start))
    return kc.Block(tuple(made)), (low, high)


def _reads_vectors(loop: kc.For) -> bool:
    """Whether partners are read, elements that other points read as their own."""
    statements, index = loop.body.statements, loop.variable
    own = own_block(statements, index.name, (index, 1)).read
    varying = find_varying(loop.body, [index.name])
    known = {index.name: (index, 1)}
    others = [
        load.memory in own
        for load in nodes_of(kc.Load, loop.body)
        if varies(load.index, varying)
        if load.memory not in own or affine(load.index, known, varying) is None
    ]
    return bool(others) and all(others)


def _emit_middle(
    k: CodeBuilder, pairs: Pairs, ends: tuple[kc.Variable, kc.Variable], lanes: int
) -> None:
    """Vectors of all points that have their partners in the same loop."""
    start, bound, period = pairs.loop.start, pairs.loop.bound, pairs.period
    low, high = ends
    far, some = kc.Literal(FAR, kc.LONG), kc.Literal(lanes, kc.LONG)
    beyond = [kc.Select(mask < some, far, mask, kc.LONG) for mask in pairs.masks]
    same = k.named(extreme("min", [far, *beyond]), "same")
    unit = k.named(kc.Call("max", (some, period + period), kc.LONG), "unit")
    fits = [start >= 0, period > 0, period <= FAR, same >= unit, *pairs.powers]
    with k.branch(kc.all_of(fits)):
        up = (start + (unit - 1)) & (0 - unit)
        k.assign(low, kc.Call("min", (up, bound), kc.LONG))
        k.assign(high, kc.Call("max", (low, bound & (0 - unit)), kc.LONG))
        for distance in (1 << n for n in range(lanes.bit_length() - 1)):
            with k.branch(period.equals(distance)):
                _emit_shuffled(k, pairs, (low, high, same), distance)
        with k.branch(period >= lanes):
            _emit_two(k, pairs, (low, high, same))


def _emit_shuffled(
    k: CodeBuilder, pairs: Pairs, ends: tuple[kc.Expression, ...], distance: int
) -> None:
    """Vectors of which each holds the partners of its lanes."""
    operands = pairs.loop.variable, kc.Literal(distance, kc.LONG)
    values: dict[str, kc.Expression] = {
        name: kc.Operation(operator(name, I64), operands, kc.LONG) for name in BITS
    }
    with _runs(k, pairs, ends) as (first, end, tests):
        statements = pairs.in_block(pairs.loop.body, values, tests).statements
        with k.loop("block", end, first, pairs.lanes) as block:
            _emit_vector(k, pairs, statements, block, tests)


def _emit_two(k: CodeBuilder, pairs: Pairs, ends: tuple[kc.Expression, ...]) -> None:
    """Pairs of vectors that hold the partners of each other."""
    period, index = pairs.period, pairs.loop.variable
    with _runs(k, pairs, ends) as (first, end, tests):
        half = k.named((end - first) // 2, "half")
        with k.loop("pair", half, 0, pairs.lanes) as pair:
            without = k.declare("block", first + pair + (pair & (0 - period)))
            for bit in (kc.Literal(0, kc.LONG), period):
                values = partners_of(index, bit, period)
                body = pairs.in_block(pairs.loop.body, values, tests)
                at = without if isinstance(bit, kc.Literal) else without + bit
                with k.scope():
                    block = k.named(at, "block")
                    _emit_vector(k, pairs, body.statements, block, tests)


@contextmanager
def _runs(
    k: CodeBuilder, pairs: Pairs, ends: tuple[kc.Expression, ...]
) -> Iterator[tuple[kc.Expression, kc.Expression, list[kc.Variable]]]:
    """The runs of vectors in which all tests give the same: the first point, the one
    behind the last, and the tests, variables with a value for each lane."""
    low, high, same = ends
    if not pairs.tests:
        yield low, high, []
        return
    tests = [k.variable("tested", kc.LONG) for _ in pairs.tests]
    at = k.declare("at", low)
    with k.while_loop(at < high):
        behind = k.declare("behind", (at | (same - 1)) + 1)
        # no call of a function: the device's compiler may not inline it
        end = k.declare("end", kc.Select(behind < high, behind, high, kc.LONG))
        values = [
            kc.Declare(variable, test.of(pairs.loop.variable))
            for variable, test in zip(tests, pairs.tests, strict=True)
        ]
        _emit_vector(k, pairs, values, at)
        yield at, end, tests
        k.assign(at, end)


def _emit_vector(
    k: CodeBuilder,
    pairs: Pairs,
    statements: Sequence[kc.Statement],
    first: kc.Expression,
    running: Sequence[kc.Variable] = (),
) -> None:
    """The statements for a vector of points."""
    made = vectorise(
        k,
        statements,
        pairs.loop.variable,
        (first, 1),
        pairs.lanes,
        running,
        rows=[],
        aligned=True,
    )
    k.statements.extend(made)
