"""Segmented reductions under the GPU schedule.

    segred grid (i < n, j < m) {add, 0} { x }  :  [n]t

    first kernel    each piece (see `gpu.spread`) is reduced by its lanes: every lane
                    folds elements into registers, then the lanes meet in a tree in
                    local memory
    second kernel   only if segments were cut into chunks: the chunks' values, in order

A commutative operator lets lane i take the elements i, i + t, ... of its piece. For
the others the order is kept: a tile of elements is read side by side into local memory,
each lane folds neighbours, and a tree that keeps the order gives the value of the tile.
Operators on arrays are left to `cpu.segred`: groups of one work-item, which any device
runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minifut.ir.core import Param
from minifut.ir.kernels import Returns, SegBinOp, SegRed, SegScan
from minifut.ir.sizes import ONE, minimum
from minifut.ir.types import ScalarType, element_of
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.cpu import segred as segred_cpu
from minifut.kernel_code.gpu.group_fold import Element, Team, team, tiles
from minifut.kernel_code.gpu.spread import (
    Piece,
    Spread,
    Values,
    bind_segment,
    count_segments,
    each_piece,
    fold_group,
    launch,
    meeting,
    outer_indices,
    spread,
    whole_segments,
)
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.operators import commutes, works_on_scalars

if TYPE_CHECKING:
    from minifut.kernel_code.host.builder import HostBuilder
    from minifut.kernel_code.threads.builder import KernelBuilder


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegRed) -> None:
    """Reduce every segment; bind the results."""
    if not all(map(works_on_scalars, operation.operators)):
        segred_cpu.lower(host, pattern, operation)
        return
    operators = operation.operators
    count = sum(len(op.neutral) for op in operators)
    types = [element_of(t) for t in operation.types[:count]]
    group = fold_group(host, types, 1 if all(map(commutes, operators)) else 2)
    segments, length = count_segments(host, operation.space)
    cut = spread(host, segments, length, group)
    outer = tuple(host.size(size) for size in operation.space.sizes[:-1])
    results = [
        host.allocate_result(p, t, outer) for t, p in zip(types, pattern, strict=False)
    ]
    mapped = allocate_mapped(host, pattern, operation)
    several = minimum(cut.chunks - 1, ONE)
    partials = [
        host.allocate(t, (cut.pieces * several,), f"{p.name.base}_parts")
        for t, p in zip(types, pattern, strict=False)
    ]
    _first(host, operation, cut, types, results, mapped, partials)
    again = whole_segments(host, segments, cut.chunks, group, several)
    _second(host, operation, again, types, results, partials)
    for param, array in zip(pattern, (*results, *mapped), strict=True):
        host.bind(param, array)


def allocate_mapped(
    host: HostBuilder, pattern: tuple[Param, ...], operation: SegRed | SegScan
) -> list[Array]:
    """Memory for what the body returns besides the operands."""
    count = sum(len(op.neutral) for op in operation.operators)
    return [
        host.allocate_result(p, element_of(p.type), host.shape(p.type))
        for p in pattern[count:]
    ]


def _first(
    host: HostBuilder,
    operation: SegRed,
    cut: Spread,
    types: list[ScalarType],
    results: list[Array],
    mapped: list[Array],
    partials: list[Array],
) -> None:
    k = host.kernel("reduce")
    with each_piece(k, cut) as piece:
        outer = bind_segment(k, operation.space, piece.segment)
        point = body_at(k, operation, outer, mapped)
        total = reduce_piece(k, operation.operators, types, piece, cut, point)
        with k.branch(piece.active & piece.lane.equals(0)):
            with k.branch(k.size_value(cut.chunks).equals(1)):
                for result, value in zip(results, total, strict=True):
                    k.write(result, outer, value)
            with k.otherwise():
                for part, value in zip(partials, total, strict=True):
                    k.write(part, (piece.piece,), value)
    launch(host, k, cut)


def _second(
    host: HostBuilder,
    operation: SegRed,
    cut: Spread,
    types: list[ScalarType],
    results: list[Array],
    partials: list[Array],
) -> None:
    k = host.kernel("reduce_parts")
    with each_piece(k, cut) as piece:
        start = k.declare("first", piece.segment * k.size_value(cut.length))

        def point(at: kc.Expression) -> Values:
            return tuple(k.read(part, (start + at,)) for part in partials)

        total = reduce_piece(k, operation.operators, types, piece, cut, point)
        with k.branch(piece.active & piece.lane.equals(0)):
            outer = outer_indices(k, operation.space, piece.segment)
            for result, value in zip(results, total, strict=True):
                k.write(result, outer, value)
    launch(host, k, cut)


def body_at(
    k: KernelBuilder,
    operation: SegRed | SegScan,
    outer: tuple[kc.Expression, ...],
    mapped: list[Array],
) -> Element:
    """The body as a function of the innermost index."""
    count = sum(len(op.neutral) for op in operation.operators)

    def point(at: kc.Expression) -> Values:
        index = k.bind_index(operation.space.indices[-1], at)
        k.statements_of(operation.body.statements)
        values = []
        for position, result in enumerate(operation.body.result):
            assert isinstance(result, Returns)
            if position < count:
                values.append(k.scalar(result.value))
            else:
                target = mapped[position - count]
                k.write(target, (*outer, index), k.atom(result.value))
        return tuple(values)

    return point


def reduce_piece(
    k: KernelBuilder,
    operators: tuple[SegBinOp, ...],
    types: list[ScalarType],
    piece: Piece,
    cut: Spread,
    point: Element,
) -> Sequence[kc.Expression]:
    """The value of a piece, in the variables of its lane 0."""
    lanes = team(k, operators, types, piece, cut.group)
    if all(map(commutes, operators)):
        return reduce_strided(lanes, point)
    return reduce_in_order(lanes, point)


def reduce_strided(lanes: Team, point: Element) -> list[kc.Variable]:
    """Lane i folds the elements i, i + t, i + 2 t, ... of the piece."""
    k, piece = lanes.k, lanes.piece
    own = lanes.neutral("sum")
    first = piece.start + piece.lane
    with meeting(k), k.loop("at", piece.end, first, piece.lanes) as at:
        lanes.absorb(own, point(at))
    lanes.tree(own)
    return own


def reduce_in_order(lanes: Team, point: Element) -> list[kc.Variable]:
    """Tile after tile; in each, every lane folds consecutive elements."""
    k = lanes.k
    total = lanes.neutral("sum")
    with tiles(lanes) as tile:
        tile.fill(point)
        own = lanes.neutral("own")
        with meeting(k), tile.neighbours() as place:
            lanes.absorb(own, tile.staged.get(place))
        lanes.tree(own)
        with meeting(k):
            lanes.absorb(total, own)
    return total
