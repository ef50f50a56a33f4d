"""Rounds of several points, which small divisors of their positions distinguish.

    for (i = 0; i < n; i++)             for (k = 0; k < n / 3; k++) {
        ys[i] = xs[i * 2 / 3]     →         i = 3 * k; ys[i] = xs[i * 2 / 3]
                                            i = 3 * k + 1; ys[i] = xs[i * 2 / 3]
                                            i = 3 * k + 2; ys[i] = xs[i * 2 / 3]
                                        }

`PositionIndices` finds that the places in xs are 2 * k, 2 * k and 2 * k + 1. Loops
inside of few rounds are written out: the places that they read depend on the residue.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minifut.ir.node import replace
from minifut.ir.traverse import map_children, rename_to, walk
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder
from minifut.kernel_ir.powers import shift_or_mask
from minifut.kernel_passes.editor import has_loops, loops_of
from minifut.kernel_passes.position_ranges import (
    MASKS,
    QUOTIENTS,
    RESIDUES,
    PositionIndices,
    divisor,
)
from minifut.kernel_passes.split_loop import is_independent
from minifut.kernel_passes.vectorise.calls import calls_functions

MOST_STATEMENTS = 2400
"""of all copies of a body for residues"""
LARGEST_PERIOD, LARGEST_STRIDED = 4, 8
"""points that a round does of those distinguished by a divisor; of those whose index is
a multiple of the position, so that quotients are no vectors either"""
MOST_ROUNDS = 8
"""of a loop that is written out"""


def period_of_points(loop: kc.For) -> int:
    """The small divisor by which points do something else; 1 if there is none, or if a
    round is not to do several points."""
    if loop.expensive:
        if calls_functions(loop.body) or not all(map(_is_short, loops_of([loop.body]))):
            return 1
    elif not loop.parallel:
        return 1
    nodes = [node for s in loop.body.statements for node in walk(s)]
    if any(isinstance(node, kc.DeclareArray) for node in nodes):
        return 1
    search = PositionIndices(loop)
    found = set()
    branches = any(isinstance(node, kc.Branch) for node in nodes)
    for node in nodes:
        if not isinstance(node, kc.Operation) or len(node.operands) != 2:
            continue
        if (name := node.operator.name) in (*QUOTIENTS, *RESIDUES):
            period = _period_of(node, search)
            if loop.expensive and period == 0:
                return 1
            if period > 1 and (branches or name in QUOTIENTS):
                found.add(period)
    period = math.lcm(*found)
    fits = period * _statements(loop.body.statements) <= MOST_STATEMENTS
    return period if period <= LARGEST_STRIDED and fits else 1


def _period_of(node: kc.Operation, search: PositionIndices) -> int:
    """With how many points a quotient or residue is affine, 1 if it always is; 0 if it
    is divided in each point, which lanes do better."""
    name, (left, right) = node.operator.name, node.operands
    by = divisor(name, right)
    search.looked_into = 0
    index = search.index(left) if by else None
    if index is not None and index.low == index.high:
        period = by // math.gcd(by, index.factor)
        if period <= _largest(index.factor):
            return period
    return int(name in MASKS or shift_or_mask(node.operator, right) is not None)


def _statements(statements: Iterable[kc.Statement]) -> int:
    """How many there are if short loops are written out."""
    total = 0
    for statement in statements:
        inside = sum(_statements(block.statements) for block in kc.blocks_of(statement))
        if isinstance(statement, kc.For) and _is_short(statement):
            inside *= statement.rounds or 0
        total += 1 + inside
    return total


def _largest(factor: int) -> int:
    return LARGEST_PERIOD if factor == 1 else LARGEST_STRIDED


def _is_short(loop: kc.For | kc.While) -> bool:
    """Whether a loop is written out."""
    return (
        isinstance(loop, kc.For)
        and loop.counts_by_ones
        and loop.rounds is not None
        and loop.rounds <= MOST_ROUNDS
        and isinstance(loop.start, kc.Literal)
    )


def _written_out(node: Any, k: CodeBuilder) -> Any:
    """Code without loops of few rounds."""
    node = map_children(node, lambda child: _written_out(child, k))
    if not (isinstance(node, kc.For) and _is_short(node)):
        return node
    assert isinstance(node.start, kc.Literal)
    first, rounds = int(node.start.value), node.rounds or 0
    copies = []
    for number in range(first, first + rounds):
        names = k.fresh_names((node,))
        counter = replace(node.variable, name=names[node.variable.name])
        value = kc.Declare(counter, kc.Literal(number, counter.type))
        copies.append(kc.Block((value, *rename_to(node.body, names).statements)))
    return kc.Block(tuple(copies))


def in_periods(loop: kc.For, period: int, k: CodeBuilder) -> kc.For:
    """The loop whose rounds do that many points each."""
    round_ = k.variable("k", kc.LONG)
    body = _written_out(loop.body, k) if has_loops(loop.body) else loop.body
    copies = []
    for residue in range(period):
        names = k.fresh_names((replace(loop, body=body),))
        first = round_ * period
        at = kc.Variable(names[loop.variable.name], kc.LONG)
        place = kc.Declare(at, first + residue if residue else first)
        copy = rename_to(body, names)
        copies.append(kc.Block((place, *copy.statements)))
    start = loop.start
    if not (isinstance(start, kc.Literal) and int(start.value) == 0):
        start = (start + (period - 1)) // period
    return replace(
        loop,
        variable=round_,
        start=start,
        bound=loop.bound // period,
        body=kc.Block(tuple(copies)),
        parallel=loop.parallel or is_independent(tuple(copies)),
        expensive=False,
    )
