"""Flat positions in row-major order, and indices.

rest = at / m; j = at - rest * m          at = i * m + j
"""

from __future__ import annotations

from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_ir.builder import CodeBuilder


def unravel(
    k: CodeBuilder, flat: kc.Expression, shape: tuple[Size, ...]
) -> tuple[kc.Expression, ...]:
    """The indices, outermost first, of a position in row-major order."""
    indices: list[kc.Expression] = []
    rest = flat
    for size in reversed(shape[1:]):
        bound = k.size_value(size)
        above = k.declare("rest", rest // bound)
        indices.append(k.declare("i", rest - above * bound))
        rest = above
    if shape:
        indices.append(k.declare("i", rest))
    return tuple(reversed(indices))
