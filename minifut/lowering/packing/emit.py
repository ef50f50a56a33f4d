"""Emit collective copies as planned: memory for the packed copy and the loops that fill
it, or an index function in place of the copy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from minifut.ir.core import Param, Stm
from minifut.ir.kernels import CollectiveCopy
from minifut.ir.sizes import ZERO, Size
from minifut.ir.types import ArrayType, ScalarType
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array, row_major_strides
from minifut.lowering.packing.copy_loops import copy_panels, copy_rows, nonempty, zero
from minifut.lowering.packing.facts import InPlace, Panels, Rows
from minifut.lowering.packing.pack_transposed import copy_panels_transposed
from minifut.lowering.packing.packed_arrays import InPlaceArray, PanelArray
from minifut.lowering.packing.regions import CopyRegion, clamped, copy_region

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
    if isinstance(packing, InPlace):
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
        value = zero(made.memory.element)
        k.each(target.shape, lambda at: k.write(target, at, value))
    k.bind(bound.name, made)


def _copy_element(
    k: WorkerBuilder, region: CopyRegion, has_elements: kc.Expression
) -> None:
    bound = region.bound
    assert isinstance(bound.type, ScalarType)
    value = k.declare(bound.name.base, zero(bound.type))
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


def _in_place(region: CopyRegion, packing: InPlace) -> InPlaceArray:
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
    assert isinstance(bound.type, ArrayType)
    shape, element = k.shape(bound.type), bound.type.element
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
