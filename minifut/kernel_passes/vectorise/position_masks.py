"""Comparisons of positions with what all lanes share.

    i < n         for i = first, first + 1, ..   lane < n - first
    j < n - i     for the same i                 lane < n - first - j

The numbers of lanes are compared, in 32 bits as masks are: a vector of positions is two
of 64 bits, whose comparison is converted. What is farther away than the lanes are is
clamped (by comparisons, as PoCL calls `clamp`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.types import I32, I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.affine import affine, number_of

if TYPE_CHECKING:
    from minifut.kernel_passes.vectorise.expressions import ExpressionVectoriser


def compared_positions(
    lanes: ExpressionVectoriser, symbol: str, left: kc.Expression, right: kc.Expression
) -> kc.Expression | None:
    """The mask of a comparison if one side counts lanes and the other is shared."""
    if left.type.scalar != I64:
        return None
    if not lanes.varies(left):
        left, right, symbol = right, left, kc.MIRRORED[symbol]
    found = affine(left, lanes.affine, lanes.varying)
    step = None if found is None else number_of(found[1])
    if found is None or step not in (-1, 1) or lanes.varies(right):
        return None
    first, width = found[0], lanes.width
    if step == -1:
        first, right, symbol = right, first, kc.MIRRORED[symbol]
    apart = kc.Cast(right, kc.ULONG) - kc.Cast(first, kc.ULONG)
    near = kc.Select(apart < width, kc.Cast(apart, kc.INT), number(width), kc.INT)
    near = kc.Select(right < first, number(-1), near, kc.INT)
    return lanes.compare(symbol, lanes.each(number, I32), lanes.broadcast(near))


def number(value: int) -> kc.Expression:
    return kc.Literal(value, kc.INT)
