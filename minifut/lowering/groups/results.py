"""The results of groups of a `SegMap`: memory, and the epilogue that stores tiles.

returns x                     out[g] = x, a scalar or an array
tile t of (n by s, m by u)    out[g * s + i, h * u + j] = t[i, j]     where inside
regtile t of (n by b by r)    out[(g * b + i) * r + j] = t[i, j]      where inside

A tile has no dimension for `n by 1`, or for `n by 1 by 1`. What differs between targets
is how the elements of a tile are enumerated: bounded loops, or guarded threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minifut.ir import core, kernels, types
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, ZERO, Size, maximum, minimum
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.host.slices import destination
from minifut.lowering.index_functions import Array
from minifut.lowering.segmap import points as segmap
from minifut.lowering.segmap.writes import write_if_inside
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue
from minifut.lowering.threads.register_tiles import RegisterTile


def output_of(
    host: HostBuilder,
    bound: core.Param,
    result: kernels.KernelResult,
    space: kernels.SegSpace,
) -> Array:
    """The memory of a result."""
    if isinstance(result, kernels.Returns | kernels.WriteReturns):
        return segmap.output_of(host, bound, result, space)
    assert isinstance(bound.type, types.ArrayType)
    made_there = destination(host, bound)
    if made_there is not None and made_there.is_row_major:
        return made_there
    return host.allocate(bound.type.element, host.shape(bound.type), bound.name.base)


@immutable
class TileExtent:
    """The tile of a group in one dimension: element (i, r) is `start` + i * `register`
    + r, if that is below `total`. A tile has no dimension for a single element."""

    total: Size
    block: Size
    register: Size
    start: Size

    @property
    def is_single(self) -> bool:
        return self.block == self.register == ONE


def tile_extents(
    k: KernelBuilder,
    result: kernels.TileReturns | kernels.RegTileReturns,
    at: Sequence[Size],
) -> list[TileExtent]:
    """The tile of the group at some indices, in each dimension of the result."""
    if isinstance(result, kernels.TileReturns):
        dimensions = [(total, size, ONE) for total, size in result.dimensions]
    else:
        dimensions = [*result.dimensions]
    found = []
    for index, sizes in zip(at, dimensions, strict=True):
        total, block, register = (k.resolve(size) for size in sizes)
        found.append(TileExtent(total, block, register, index * block * register))
    return found


def element_places(
    extents: Sequence[TileExtent], threads: Sequence[Size], registers: Sequence[Size]
) -> tuple[Size, ...]:
    """The indices in the result of an element of a tile."""
    places, position = [], 0
    for extent in extents:
        if extent.is_single:
            places.append(extent.start)
            continue
        place = extent.start + threads[position] * extent.register
        places.append(place + registers[position] if registers else place)
        position += 1
    return tuple(places)


WriteTile = Callable[[Any, Array, LoweredValue, Sequence[TileExtent]], None]
"""stores the part of a tile that is inside the result; the builder comes first"""


def write_result(
    k: KernelBuilder,
    result: kernels.KernelResult,
    output: Array,
    at: tuple[Size, ...],
    write_tile: WriteTile,
) -> None:
    """Store a result of the group at some indices."""
    match result:
        case kernels.Returns(atom):
            value = k.atom(atom)
            if isinstance(value, RegisterTile):
                write_tile(k, output.row(at), value, ())
            else:
                k.write(output, at, value)
        case kernels.WriteReturns(_, _, writes):
            for where, atom in writes:
                write_if_inside(k, output, where, atom)
        case kernels.TileReturns(_, tile) | kernels.RegTileReturns(_, tile):
            write_tile(k, output, k.atom(tile), tile_extents(k, result, at))


def write_in_loops(
    k: KernelBuilder, output: Array, tile: LoweredValue, extents: Sequence[TileExtent]
) -> None:
    """Store a tile in memory, with loops bounded by the edges of the result."""
    assert isinstance(tile, Array)
    kept = [extent for extent in extents if not extent.is_single]
    if tile.rank == len(kept):
        inside = tuple(minimum(e.block, e.total - e.start) for e in kept)
        k.each(
            inside,
            lambda at: k.write(
                output, element_places(extents, at, ()), k.read(tile, at)
            ),
        )
        return

    def thread(at: tuple[Size, ...]) -> None:
        inside = tuple(
            maximum(ZERO, minimum(e.register, e.total - (e.start + i * e.register)))
            for e, i in zip(kept, at, strict=True)
        )
        own = tile.row(at)
        k.each(
            inside,
            lambda element: k.write(
                output, element_places(extents, at, element), k.read(own, element)
            ),
        )

    k.each(tuple(extent.block for extent in kept), thread)
