"""Integers that the program clamps: they grow by one from lane to lane, or stay.

    long k = max(0, min(n - 1, i + t));    k in the first lane, k in the last

Where they differ by the number of lanes less one, an access through them is contiguous
(`load_within_edges`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.sizes import Size
from minifut.ir.types import I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.affine import (
    affine,
    is_steady,
    number_of,
    size_in_lane,
)

if TYPE_CHECKING:
    from minifut.kernel_passes.vectorise.expressions import ExpressionVectoriser

Ends = tuple[kc.Expression, kc.Expression]
"""the values in the first and in the last lane"""


def clamped_ends(exp: kc.Expression, lanes: ExpressionVectoriser) -> Ends | None:
    """The ends of a minimum or maximum with what is the same in all lanes."""
    match exp:
        case kc.Operation(operator, (left, right), _) if (
            operator.name in ("min", "max") and operator.result == I64
        ):
            is_left = lanes.varies(left)
            if is_left == lanes.varies(right):
                return None
            inner, limit = (left, right) if is_left else (right, left)
            ends = _steady_ends(inner, lanes)
            if ends is None:
                return None
            first, last = (kc.Operation(operator, (e, limit), exp.type) for e in ends)
            return first, last
    return None


def _steady_ends(exp: kc.Expression, lanes: ExpressionVectoriser) -> Ends | None:
    if isinstance(exp, kc.Variable) and exp.name in lanes.steady:
        return lanes.steady[exp.name]
    found = affine(exp, lanes.affine, lanes.varying)
    if found is None:
        return clamped_ends(exp, lanes)
    base, step = found
    return (base, base + (lanes.width - 1)) if number_of(step) == 1 else None


def ends_of_index(index: kc.Expression, lanes: ExpressionVectoriser) -> Ends | None:
    """An index in the first and in the last lane, if it is clamped itself or made of
    clamped variables, and what is the same in all lanes."""
    if isinstance(index, kc.Variable):
        return lanes.steady.get(index.name)
    if not isinstance(index, kc.SizeValue):
        return None
    moving = index.size.names() & lanes.varying
    if not moving or not is_steady(index.size, moving):
        return None
    ends: list[kc.Expression] = []
    for end, lane in enumerate((0, lanes.width - 1)):
        clamped = moving & lanes.steady.keys()
        known = {name: Size.of(lanes.steady[name][end].name) for name in clamped}
        size: Size | None = index.size.substitute(known)
        if size is not None and clamped < moving:
            size = size_in_lane(size, lanes.affine, lanes.varying, lane)
        if size is None:
            return None
        ends.append(kc.SizeValue(size))
    return ends[0], ends[1]
