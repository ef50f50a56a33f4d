"""Collective copies into panels from an array that lies the other way round.

    bs[k, x * rx + j] from b[j, k]      squares of 16 x 16 turned in registers,
                                        what is left over element by element

A panel has the elements of one k side by side; if the source has those of one j side by
side instead, each is read with vectors and written with vectors.
"""

from __future__ import annotations

from minifut.ir.sizes import ONE, ZERO, Size
from minifut.kernel_code.copy_regions import Stretch, clamped
from minifut.kernel_code.cpu.tile_layouts import PanelArray
from minifut.kernel_code.cpu.transposition import transpose_square
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_code.transposition import Plane
from minifut.kernel_ir import nodes as kc


def fill_turned(
    k: KernelBuilder, made: PanelArray, source: Array, parts: list[Stretch]
) -> None:
    """Copy panel by panel."""
    kept = [part for part in parts if part.length is not None]
    across, along = kept[made.dimension], kept[1 - made.dimension]
    view = source.slice(
        tuple(
            clamped(k, part, part.start)
            if part.length is None
            else (ZERO, part.total, ONE)
            for part in parts
        )
    )
    if made.dimension == 0:
        view = view.rearrange((1, 0))
    opened = made.opened if made.dimension == 1 else made.opened.rearrange((1, 0, 2))
    width = 8 if made.memory.element.bytes == 8 else 16
    assert along.length is not None
    depth = k.size_value(along.length)
    last = k.size_value(along.start + along.length - 1)
    whole_depth = _whole(k, along.length, width, _inside(k, along, along.start, last))
    with k.loop("panel", k.size_value(opened.shape[1])) as panel:
        number = Size.of(panel.name)
        first = across.start + number * made.width * across.step
        end = k.size_value(first + (made.width - 1) * across.step)
        whole = _whole(k, made.width, width, _inside(k, across, first, end))
        target = Array(
            opened.memory,
            (opened.shape[0], made.width),
            opened.offset + number * opened.strides[1],
            (opened.strides[0], ONE),
        )
        part = Array(
            view.memory,
            (along.length, made.width),
            view.position((along.start, first)),
            (view.strides[0], view.strides[1] * across.step),
        )
        plane = Plane(target, part)
        across_squares = k.loop("j", whole, step=width)
        with across_squares as j, k.loop("i", whole_depth, step=width) as i:
            transpose_square(k, plane, (), i, j, width, False)

        def element(i: kc.Variable, j: kc.Variable) -> None:
            across_at = clamped(k, across, first + Size.of(j.name) * across.step)
            along_at = clamped(k, along, along.start + Size.of(i.name))
            k.write(target, (i, j), k.read(view, (along_at, across_at)))

        rest = k.loop("j", k.size_value(made.width), whole)
        with k.loop("i", depth) as i, rest as j:
            element(i, j)
        with k.loop("i", depth, whole_depth) as i, k.loop("j", whole) as j:
            element(i, j)


def _inside(
    k: KernelBuilder, part: Stretch, first: Size, last: kc.Expression
) -> kc.Expression:
    """Whether all positions are in the array."""
    test: kc.Expression = kc.Literal(True, kc.TRUTH)
    total = k.size_value(part.total)
    for value in (k.size_value(first), last):
        for bound in (value >= 0, value < total):
            test = kc.Binary("&&", test, bound, kc.TRUTH)
    return test


def _whole(
    k: KernelBuilder, length: Size, width: int, inside: kc.Expression
) -> kc.Variable:
    """How many elements squares can cover."""
    covered = k.declare("whole", kc.Literal(0, kc.LONG))
    with k.branch(inside):
        k.assign(covered, k.size_value(length // width * width))
    return covered
