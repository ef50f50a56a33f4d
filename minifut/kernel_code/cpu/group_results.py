"""What the groups of a `SegMap` give back; written under the CPU schedule.

returns x                     out[g] = x, a scalar or an array
tile t of (n by s, m by u)    out[g * s + i, h * u + j] = t[i, j]     where inside
regtile t of (n by b by r)    out[(g * b + i) * r + j] = t[i, j]      where inside

A tile has no dimension for `n by 1`, or for `n by 1 by 1`.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from minifut.ir import kernels
from minifut.ir.core import Param
from minifut.ir.sizes import ONE, ZERO, Size, maximum, minimum
from minifut.ir.types import ArrayType
from minifut.kernel_code import segmap
from minifut.kernel_code.host.builder import HostBuilder
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_ir import nodes as kc

if TYPE_CHECKING:
    from minifut.kernel_code.cpu.group import WorkerBuilder


def output_of(
    host: HostBuilder,
    bound: Param,
    result: kernels.KernelResult,
    space: kernels.SegSpace,
) -> Array:
    """The memory of a result."""
    if isinstance(result, kernels.Returns | kernels.WriteReturns):
        return segmap.output_of(host, bound, result, space)
    assert isinstance(bound.type, ArrayType)
    return host.allocate(bound.type.element, host.shape(bound.type), bound.name.base)


def finish_group(
    k: WorkerBuilder,
    body: kernels.KernelBody,
    outputs: list[Array],
    at: tuple[kc.Expression, ...],
) -> None:
    """The statements of a group, then its results where they belong."""
    indices = tuple(k.as_size(index) for index in at)
    k.statements_of(body.statements)
    for result, output in zip(body.result, outputs, strict=True):
        match result:
            case kernels.Returns(value):
                k.write(output, indices, k.atom(value))
            case kernels.WriteReturns(_, _, writes):
                for where, value in writes:
                    segmap.write_if_inside(k, output, where, value)
            case kernels.TileReturns(dimensions, tile):
                totals = tuple(k.resolve(total) for total, _ in dimensions)
                sizes = tuple(k.resolve(size) for _, size in dimensions)
                write_tile(k, output, k.array(tile), indices, totals, sizes)
            case kernels.RegTileReturns(_, tile) if tile in k.accumulators:
                pass  # stored there by its threads
            case kernels.RegTileReturns(blocked, tile):
                totals = tuple(k.resolve(total) for total, _, _ in blocked)
                registers = tuple(k.resolve(size) for _, _, size in blocked)
                blocks = tuple(k.resolve(size) for _, size, _ in blocked)
                array = k.array(tile)
                write_register_tiles(
                    k, output, array, indices, totals, blocks, registers
                )


def write_tile(
    k: KernelBuilder,
    output: Array,
    tile: Array,
    indices: tuple[Size, ...],
    totals: tuple[Size, ...],
    sizes: tuple[Size, ...],
) -> None:
    """The part of a tile that lies inside the totals."""
    starts = [index * size for index, size in zip(indices, sizes, strict=True)]
    inside = tuple(
        minimum(size, total - start)
        for size, total, start in zip(sizes, totals, starts, strict=True)
    )

    own = [size != ONE for size in sizes]

    def visit(at: tuple[Size, ...]) -> None:
        where = spread(at, own, starts)
        k.write(output, where, k.read(tile, at))

    k.each(tuple(compress(inside, own)), visit)


def write_register_tiles(
    k: KernelBuilder,
    output: Array,
    tile: Array,
    indices: tuple[Size, ...],
    totals: tuple[Size, ...],
    blocks: tuple[Size, ...],
    registers: tuple[Size, ...],
) -> None:
    """The parts of the register tiles of all threads that lie inside the totals."""
    own = [pair != (ONE, ONE) for pair in zip(blocks, registers, strict=True)]
    first = [index * block for index, block in zip(indices, blocks, strict=True)]

    def threads(at: tuple[Size, ...]) -> None:
        starts = [
            thread * register
            for thread, register in zip(spread(at, own, first), registers, strict=True)
        ]
        inside = tuple(
            maximum(ZERO, minimum(register, total - start))
            for register, total, start in zip(registers, totals, starts, strict=True)
        )
        mine = tile.row(at)

        def visit(element: tuple[Size, ...]) -> None:
            k.write(output, spread(element, own, starts), k.read(mine, element))

        k.each(tuple(compress(inside, own)), visit)

    k.each(tuple(compress(blocks, own)), threads)


def spread(
    at: tuple[Size, ...], own: list[bool], starts: list[Size]
) -> tuple[Size, ...]:
    """Indices into a tile as indices into the whole: added to where the tile starts,
    for the dimensions that it has."""
    rest = iter(at)
    return tuple(
        start + next(rest) if there else start
        for there, start in zip(own, starts, strict=True)
    )
