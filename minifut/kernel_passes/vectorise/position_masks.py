"""Comparisons of positions with what all lanes share.

    i < n    for i = first, first + 1, ..        lane < n - first

The numbers of lanes are compared, in 32 bits as masks are: a vector of positions is two
of 64 bits, whose comparison is converted. What is farther away than the lanes are is
clamped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.ir.types import I32, I64
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.affine import affine, number_of

if TYPE_CHECKING:
    from minifut.kernel_passes.vectorise.expressions import ExpressionVectoriser

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def compared_positions(
    lanes: ExpressionVectoriser,
    symbol: str,
    left: kc.Expression,
    right: kc.Expression,
) -> kc.Expression | None:
    """The mask of a comparison if one side counts lanes and the other is shared."""
    if left.type.scalar != I64:
        return None
    if not lanes.varies(left):
        left, right, symbol = right, left, MIRRORED[symbol]
    found = affine(left, lanes.affine, lanes.varying)
    if found is None or number_of(found[1]) != 1 or lanes.varies(right):
        return None
    apart = kc.Call("sub_sat", (right, found[0]), kc.LONG)
    least, most = kc.Literal(-1, kc.LONG), kc.Literal(lanes.width, kc.LONG)
    near = kc.Call("clamp", (apart, least, most), kc.LONG)
    numbers = lanes.each(lambda n: kc.Literal(n, kc.INT), I32)
    return lanes.compare(symbol, numbers, lanes.broadcast(kc.Cast(near, kc.INT)))
