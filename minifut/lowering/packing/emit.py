"""Emit collective copies as planned: memory for the packed copy and the loops that fill
it, or an index function in place of the copy.

The loops of copies into panels from an array with unit stride across the panels.

    bs[k, x * rx + j] from b[j, k]      squares of 16 x 16 transposed in registers,
                                        the remainder element by element

The elements of one k are contiguous in a panel, those of one j in the source: with the
transposition both loads and stores are vectors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from minifut.ir.core import Param, Stm
from minifut.ir.kernels import CollectiveCopy
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.ir.types import ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array, row_major_strides
from minifut.lowering.packing.copy_loops import copy_panels, copy_rows, nonempty
from minifut.lowering.packing.facts import (
    CopyRegion,
    DimRange,
    Panels,
    Rows,
    Unpacked,
    clamped,
    copy_region,
)
from minifut.lowering.packing.packed_arrays import InPlaceArray, PanelArray
from minifut.lowering.threads.builder import KernelBuilder
from minifut.lowering.transposition.cpu import transpose_square
from minifut.lowering.transposition.planes import Plane

if TYPE_CHECKING:
    from minifut.lowering.groups.cpu import WorkerBuilder


PADDING = 16
"""elements between padded rows"""


def copy_collectively(k: WorkerBuilder, stm: Stm, exp: CollectiveCopy) -> None:
    """Bind the copy of a region, or its index function if it is read in place; a single
    element becomes a variable."""
    bound = stm.pattern[0]
    region = copy_region(bound, exp, k.array(exp.array), k.index, k.resolve)
    plan = k.plan.copies.get(bound.name)
    region = _without_unread(k, region, () if plan is None else plan.limits)
    has_elements = nonempty(k, region.source)
    if isinstance(bound.type, ScalarType):
        _copy_element(k, region, has_elements)
        return
    packing = Rows(region.innermost, padded=False) if plan is None else plan.packing
    if isinstance(packing, Unpacked):
        k.bind(bound.name, _in_place(region, packing))
        return
    made = _memory(k, bound, packing)
    with k.branch(has_elements):
        match packing:
            case Panels(transposed=transposed):
                assert isinstance(made, PanelArray)
                copy = copy_panels_transposed if transposed else copy_panels
                copy(k, made, region)
            case Rows(innermost, _):
                copy_rows(k, made, region, innermost)
    target = made.panel_view if isinstance(made, PanelArray) else made
    with k.otherwise():
        value = kc.zero(made.memory.element)
        k.each(target.shape, lambda at: k.write(target, at, value))
    k.bind(bound.name, made)


def _copy_element(
    k: WorkerBuilder, region: CopyRegion, has_elements: kc.Expression
) -> None:
    bound = region.bound
    assert isinstance(bound.type, ScalarType)
    value = k.declare(bound.name.base, kc.zero(bound.type))
    with k.branch(has_elements):
        where = tuple(clamped(k, dim, dim.start) for dim in region.ranges)
        k.assign(value, k.read(region.source, where))
    k.bind(bound.name, value)


def _without_unread(
    k: WorkerBuilder, region: CopyRegion, limits: tuple[tuple[int, Size], ...]
) -> CopyRegion:
    """The region without elements that no reader uses."""
    ranges = [*region.ranges]
    for dimension, limit in limits:
        at = region.kept[dimension]
        length = k.named(k.size_value(k.full_size(limit)), "length")
        ranges[at] = replace(ranges[at], length=k.as_size(length))
    return replace(region, ranges=ranges)


def _in_place(region: CopyRegion, packing: Unpacked) -> InPlaceArray:
    source = region.source
    places = tuple(
        (
            dim.start,
            None if dim.length is None else dim.step,
            dim.extent - 1 if is_clamped else None,
        )
        for dim, is_clamped in zip(region.ranges, packing.clamped, strict=True)
    )
    return InPlaceArray(
        source.memory, source.shape, source.offset, source.strides, places
    )


def _memory(k: WorkerBuilder, bound: Param, packing: Panels | Rows) -> Array:
    """Memory of the group for a copy."""
    shape, element = k.shape(bound.type), element_of(bound.type)
    match packing:
        case Panels(dimension, width, _):
            plain = PanelArray(
                kc.Memory(bound.name, element),
                shape,
                ZERO,
                row_major_strides(shape),
                dimension,
                k.resolve(width),
            )
            made = k.new_array(element, plain.panel_view.shape, bound.name.base)
            return replace(plain, memory=made.memory, offset=made.offset)
        case Rows(innermost, padded=True):
            order = [i for i in range(len(shape)) if i != innermost] + [innermost]
            ordered = tuple(shape[i] for i in order)
            padded = (*ordered[:-1], ordered[-1] + PADDING)
            rows = k.new_array(element, padded, bound.name.base)
            made = Array(rows.memory, ordered, rows.offset, rows.strides)
            return made.rearrange(tuple(order.index(i) for i in range(len(shape))))
        case Rows():
            return k.fresh(bound)


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
            transpose_square(k, plane, (), i, j, width, packing=True)

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
    total = k.size_value(dim.extent)
    ends = (k.size_value(first), last)
    return kc.all_of(test for end in ends for test in (end >= 0, end < total))


def _whole(
    k: KernelBuilder, length: Size, width: int, inside: kc.Expression
) -> kc.Variable:
    """The number of elements that whole squares cover."""
    covered = k.declare("whole", kc.Literal(0, kc.LONG))
    with k.branch(inside):
        k.assign(covered, k.size_value(length // width * width))
    return covered
