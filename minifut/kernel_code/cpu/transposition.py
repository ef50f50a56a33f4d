"""Transposition under the CPU schedule: squares of 16 x 16 turned in registers.

    16 rows r0 .. r15 of the source, as vectors
    4 times:  (r0, r8, r1, r9, ..) → interleaved, low halves and high halves
    16 rows of the target

A group takes a block of 256 x 256, which touches few pages. Each row of a square is a
line of the cache: a result too large for the caches is written around them, if its rows
are aligned. What is left at the edges goes element by element. Elements of 8 bytes are
turned in squares of 8 x 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minifut.ir.sizes import Size, ceil_div, product
from minifut.ir.types import BOOL, U8
from minifut.kernel_code import nodes as kc
from minifut.kernel_code.cpu.streaming import LARGE, STREAMABLE
from minifut.kernel_code.cpu.units import smaller
from minifut.kernel_code.host.builder import HostBuilder
from minifut.kernel_code.positions import unravel
from minifut.kernel_code.shuffles import interleave
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_code.transposition import Plane

BLOCK = 256


def copy_turned(host: HostBuilder, plane: Plane) -> None:
    """One work-group of one work-item for each block of the plane."""
    rows, columns = plane.sides
    blocks = (*plane.outer, ceil_div(rows, BLOCK), ceil_div(columns, BLOCK))
    count = host.let_size(product(blocks), "blocks")
    k = host.kernel("transpose")
    number = k.declare("block", k.identity("get_global_id"))
    *outer, row, column = unravel(k, number, blocks)
    width = 8 if plane.source.memory.element.bytes == 8 else 16
    ends = []
    for index, side in ((row, rows), (column, columns)):
        first = k.named(index * BLOCK, "first")
        last = k.named(smaller(first + BLOCK, k.size_value(side)), "last")
        whole = k.named(last - (last - first) % width, "whole")
        ends.append((first, whole, last))
    (i0, i1, i2), (j0, j1, j2) = ends

    def squares(streaming: bool) -> None:
        with k.loop("i", i1, i0, width) as i, k.loop("j", j1, j0, width) as j:
            turn_square(k, plane, outer, i, j, width, streaming)

    if plane.target.memory.element in STREAMABLE:
        with k.branch(_may_stream(k, plane, width)):
            squares(streaming=True)
        with k.otherwise():
            squares(streaming=False)
    else:
        squares(streaming=False)
    _elements(k, plane, outer, (i1, i2), (j0, j2))
    _elements(k, plane, outer, (i0, i1), (j1, j2))
    host.launch(k, count, 1, fresh=True)


def _may_stream(k: KernelBuilder, plane: Plane, width: int) -> kc.Expression:
    """Whether the result is too large for the caches, and its rows are aligned."""
    target = plane.target
    steps = (target.offset, *target.strides[:-1])
    wanted: kc.Expression = k.size_value(target.count) >= LARGE
    for step in steps:
        aligned = (k.size_value(step) % width).equals(0)
        wanted = kc.Binary("&&", wanted, aligned, kc.TRUTH)
    return wanted


def turn_square(
    k: KernelBuilder,
    plane: Plane,
    outer: Sequence[kc.Expression],
    i: kc.Expression,
    j: kc.Expression,
    width: int,
    streaming: bool,
) -> None:
    """Turn the square that starts at (i, j)."""
    element = plane.source.memory.element
    type_ = kc.VectorType(U8 if element == BOOL else element, width)
    rows = []
    for number in range(width):
        at = _position(k, plane.source.position, (*outer, i, j + number))
        k.use(plane.source.memory)
        rows.append(k.declare("row", kc.Load(plane.source.memory, at, type_)))
    half = width // 2
    for _ in range(width.bit_length() - 1):
        turned = []
        for a, b in zip(rows[:half], rows[half:], strict=True):
            for part in ("LOW", "HIGH"):
                # A half is a float while in a register.
                bits = max(32, element.bits) if element.is_float else type_.scalar.bits
                name = interleave(part, width, bits)
                mixed = kc.Call(name, (a, b), type_)
                turned.append(k.declare("row", mixed))
        rows = turned
    k.use(plane.target.memory, written=True)
    for number, row in enumerate(rows):
        at = _position(k, plane.target.position, (*outer, i + number, j))
        k.emit(kc.Store(plane.target.memory, at, row, streaming))


def _position(
    k: KernelBuilder,
    position: Callable[[tuple[Size, ...]], Size],
    indices: tuple[kc.Expression, ...],
) -> kc.Expression:
    found = position(tuple(k.as_size(index, "at") for index in indices))
    return k.size_value(found)


def _elements(
    k: KernelBuilder,
    plane: Plane,
    outer: Sequence[kc.Expression],
    rows: tuple[kc.Expression, kc.Expression],
    columns: tuple[kc.Expression, kc.Expression],
) -> None:
    """A part of the block, element by element."""
    with k.loop("i", rows[1], rows[0]) as i, k.loop("j", columns[1], columns[0]) as j:
        k.write(plane.target, (*outer, i, j), k.read(plane.source, (*outer, i, j)))
