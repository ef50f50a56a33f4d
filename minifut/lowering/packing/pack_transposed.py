"""The loops of copies into panels from an array with unit stride across the panels.

    bs[k, x * rx + j] from b[j, k]      squares of 16 x 16 transposed in registers,
                                        the remainder element by element

The elements of one k are contiguous in a panel, those of one j in the source: with the
transposition both loads and stores are vectors.
"""

from __future__ import annotations

from minifut.ir.sizes import ONE, ZERO, Size
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array
from minifut.lowering.packing.packed_arrays import PanelArray
from minifut.lowering.packing.regions import CopyRegion, DimRange, clamped
from minifut.lowering.threads.builder import KernelBuilder
from minifut.lowering.transposition.cpu import transpose_square
from minifut.lowering.transposition.planes import Plane


def copy_panels_transposed(
    k: KernelBuilder, made: PanelArray, region: CopyRegion
) -> None:
    """Copy panel by panel."""
    kept = [region.ranges[i] for i in region.kept]
    across, along = kept[made.dimension], kept[1 - made.dimension]
    entries = (
        clamped(k, dim, dim.start) if dim.length is None else (ZERO, dim.extent, ONE)
        for dim in region.ranges
    )
    view, panel_view = region.source.slice(tuple(entries)), made.panel_view
    if made.dimension == 0:
        view, panel_view = view.rearrange((1, 0)), panel_view.rearrange((1, 0, 2))
    width = 8 if made.memory.element.bytes == 8 else 16
    assert along.length is not None
    depth = k.size_value(along.length)
    last = k.size_value(along.start + along.length - 1)
    whole_depth = _whole(k, along.length, width, _inside(k, along, along.start, last))
    with k.loop("panel", k.size_value(panel_view.shape[1])) as panel:
        number = Size.of(panel.name)
        first = across.start + number * made.width * across.step
        end = k.size_value(first + (made.width - 1) * across.step)
        whole = _whole(k, made.width, width, _inside(k, across, first, end))
        target = Array(
            panel_view.memory,
            (panel_view.shape[0], made.width),
            panel_view.offset + number * panel_view.strides[1],
            (panel_view.strides[0], ONE),
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
    k: KernelBuilder, dim: DimRange, first: Size, last: kc.Expression
) -> kc.Expression:
    """Whether all positions are in bounds."""
    test: kc.Expression = kc.Literal(True, kc.TRUTH)
    total = k.size_value(dim.extent)
    for value in (k.size_value(first), last):
        for bound in (value >= 0, value < total):
            test = kc.Binary("&&", test, bound, kc.TRUTH)
    return test


def _whole(
    k: KernelBuilder, length: Size, width: int, inside: kc.Expression
) -> kc.Variable:
    """The number of elements that whole squares cover."""
    covered = k.declare("whole", kc.Literal(0, kc.LONG))
    with k.branch(inside):
        k.assign(covered, k.size_value(length // width * width))
    return covered
