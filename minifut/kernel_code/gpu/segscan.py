"""Segmented inclusive scans under the GPU schedule.

    segscan grid (i < n, j < m) {add, 0} { x }  :  [n][m]t

    first kernel    each piece (see `gpu.spread`) is scanned by its lanes, tile after
                    tile: every lane folds consecutive elements in local memory, the
                    lanes find the prefixes of those, a carry goes from tile to tile
    second kernel   only if segments were cut into chunks: each chunk but the first
                    folds what came before it and puts that in front of its elements

Nothing waits for another group, so no progress between groups is needed. Operators on
arrays are left to `cpu.segscan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.core import Param
from minifut.ir.kernels import SegScan
from minifut.ir.sizes import ONE, minimum
from minifut.ir.types import ScalarType, element_of
from minifut.kernel_code.cpu import segscan as segscan_cpu
from minifut.kernel_code.gpu.group_fold import Team, Tile, team, tiles
from minifut.kernel_code.gpu.segred import allocate_mapped, body_at
from minifut.kernel_code.gpu.spread import (
    Spread,
    bind_segment,
    combine,
    count_segments,
    each_piece,
    fold_group,
    later_chunks,
    launch,
    meeting,
    outer_indices,
    spread,
)
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.operators import works_on_scalars
from minifut.kernel_ir import nodes as kc

if TYPE_CHECKING:
    from minifut.kernel_code.host.builder import HostBuilder


def lower(host: HostBuilder, pattern: tuple[Param, ...], operation: SegScan) -> None:
    """Scan every segment; bind the results."""
    if not all(map(works_on_scalars, operation.operators)):
        segscan_cpu.lower(host, pattern, operation)
        return
    count = sum(len(op.neutral) for op in operation.operators)
    types = [element_of(t) for t in operation.types[:count]]
    group = fold_group(host, types, 2)
    segments, length = count_segments(host, operation.space)
    cut = spread(host, segments, length, group)
    shape = host.sizes(operation.space.sizes)
    several = minimum(cut.chunks - 1, ONE)
    results, carries = [], []
    for type_, bound in zip(types, pattern, strict=False):
        results.append(host.allocate_result(bound, type_, shape))
        base = f"{bound.name.base}_carry"
        carries.append(host.allocate(type_, (cut.pieces * several,), base))
    mapped = allocate_mapped(host, pattern, operation)
    _first(host, operation, cut, types, results, mapped, carries)
    _second(host, operation, cut, types, results, carries)
    for bound, array in zip(pattern, (*results, *mapped), strict=True):
        host.bind(bound, array)


def _first(
    host: HostBuilder,
    operation: SegScan,
    cut: Spread,
    types: list[ScalarType],
    results: list[Array],
    mapped: list[Array],
    carries: list[Array],
) -> None:
    k = host.kernel("scan")
    with each_piece(k, cut) as piece:
        outer = bind_segment(k, operation.space, piece.segment)
        point = body_at(k, operation, outer, mapped)
        lanes = team(k, operation.operators, types, piece, cut.group)
        carry = lanes.neutral("carry")
        with tiles(lanes) as tile:
            tile.fill(point)
            scan_tile(lanes, tile, carry)
            with tile.side_by_side() as (at, place):
                values = tile.staged.get(place)
                for result, value in zip(results, values, strict=True):
                    k.write(result, (*outer, at), value)
        last = piece.active & piece.lane.equals(0)
        with k.branch(last & (k.size_value(cut.chunks) > 1)):
            for array, value in zip(carries, carry, strict=True):
                k.write(array, (piece.piece,), value)
    launch(host, k, cut)


def scan_tile(lanes: Team, tile: Tile, carry: list[kc.Variable]) -> None:
    """Scan the elements of a tile where they lie, after what `carry` holds; then a
    barrier, and `carry` is what the tile ends with."""
    k, piece = lanes.k, lanes.piece
    own = lanes.neutral("own")
    with meeting(k), tile.neighbours() as place:
        lanes.absorb(own, tile.staged.get(place))
    lanes.prefixes(own)
    before = [k.declare("before", value) for value in carry]
    with meeting(k):
        with k.branch(piece.lane > 0):
            lanes.absorb(before, lanes.shared.get(piece.local - 1))
        with tile.neighbours() as place:
            lanes.absorb(before, tile.staged.get(place))
            tile.staged.put(place, before)
        last = piece.local - piece.lane + piece.lanes - 1
        lanes.absorb(carry, lanes.shared.get(last))


def _second(
    host: HostBuilder,
    operation: SegScan,
    cut: Spread,
    types: list[ScalarType],
    results: list[Array],
    carries: list[Array],
) -> None:
    k = host.kernel("scan_carry")
    over = later_chunks(host, cut)
    with each_piece(k, over) as piece:
        outer = outer_indices(k, operation.space, piece.segment)
        chunks = k.size_value(cut.chunks)
        number = k.declare("number", piece.piece - piece.segment * (chunks - 1) + 1)
        row = k.declare("row", piece.segment * chunks)
        lanes = team(k, operation.operators, types, piece, cut.group)
        _fold_before(lanes, carries, row, number)
        carry = lanes.shared.get(piece.local - piece.lane)
        first = k.declare("start", number * piece.chunk)
        full = kc.Call("min", (first + piece.chunk, k.size_value(cut.length)), kc.LONG)
        end = k.declare("end", kc.Select(piece.active, full, first, kc.LONG))
        own = first + piece.lane
        with meeting(k), k.loop("at", end, own, piece.lanes) as at:
            old = [k.declare("old", k.read(r, (*outer, at))) for r in results]
            new = combine(k, operation.operators, carry, old)
            for result, value in zip(results, new, strict=True):
                k.write(result, (*outer, at), value)
    launch(host, k, over)


def _fold_before(
    lanes: Team, carries: list[Array], row: kc.Expression, number: kc.Expression
) -> None:
    """Leave what the chunks before `number` end with in the shared place of lane 0."""
    k, piece = lanes.k, lanes.piece
    own = lanes.neutral("own")
    share = k.declare("share", (number + piece.lanes - 1) // piece.lanes)
    begin = k.declare("begin", piece.lane * share)
    stop = kc.Call("min", (begin + share, number), kc.LONG)
    end = k.declare("stop", kc.Select(piece.active, stop, begin, kc.LONG))
    with meeting(k), k.loop("at", end, begin) as at:
        place = row + at
        lanes.absorb(own, [k.read(array, (place,)) for array in carries])
    lanes.tree(own)
