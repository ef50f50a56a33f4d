"""The layout of collective copies in local memory: registers read along rows.

    at = y * ry + i     a[at, k]    →    a in [k][at]: a thread's elements are vectors

What the register index of a thread runs along becomes the innermost dimension, so that
its elements are loaded as vectors. Rows of a transposed copy are padded by one vector:
neighbouring threads, that copy along the other dimension, then store to different banks
(8 elements of each of 4 rows), and rows stay aligned.
"""

from __future__ import annotations

from collections import defaultdict

from minifut.ir import core, kernels, search, traverse
from minifut.ir.sizes import ONE, Size
from minifut.names import Name


def innermost_dimensions(body: kernels.KernelBody) -> dict[Name, int]:
    """The dimension of each copy that register indices run along, if there is one, and
    it is not the innermost already."""
    ranks = {
        stm.pattern[0].name: len(stm.pattern[0].type.shape)
        for stm in _statements(body)
        if isinstance(stm.exp, kernels.CollectiveCopy)
        and hasattr(stm.pattern[0].type, "shape")
    }
    found: defaultdict[Name, set[int]] = defaultdict(set)
    for nest in traverse.walk(body):
        if not isinstance(nest, kernels.SegMap) or nest.level != kernels.REGISTER:
            continue
        along = set(nest.space.indices)
        for stm in _statements(nest.body):
            if isinstance(stm.exp, core.SizeExp) and stm.exp.size.names() & along:
                along.add(stm.pattern[0].name)
            elif isinstance(stm.exp, core.Index) and stm.exp.array in ranks:
                for dimension, part in enumerate(stm.exp.slice):
                    if isinstance(part, core.DimSlice) or part in along:
                        found[stm.exp.array].add(dimension)
    return {
        name: next(iter(dimensions))
        for name, dimensions in found.items()
        if len(dimensions) == 1 and max(dimensions) < ranks[name] - 1
    }


def padded_strides(
    shape: tuple[Size, ...], innermost: int, pad: int
) -> tuple[tuple[Size, ...], Size]:
    """Strides with that dimension innermost and its rows padded, and the elements."""
    order = [d for d in range(len(shape)) if d != innermost]
    strides = {innermost: ONE}
    total = shape[innermost] + pad
    for dimension in reversed(order):
        strides[dimension] = total
        total = total * shape[dimension]
    return tuple(strides[d] for d in range(len(shape))), total


def _statements(node: object) -> list[core.Stm]:
    return list(search.nodes_of(core.Stm, node))
