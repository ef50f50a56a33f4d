"""A scatter inside a map nest: one segmented map whose points write.

    before:  nest (i < n) { scatter(m, dest, is, vs) }
    after:   segmap grid (i < n, j < m) { ... write dests at [i, is[j]] vs[j] }

Condition: the destinations are known for the whole nest (`flatten.destinations`).
"""

from __future__ import annotations

from minifut.ir.core import Param, Stm
from minifut.ir.kernels import GRID, KernelBody, SegMap, WriteReturns
from minifut.ir.scope import array_type
from minifut.ir.soacs import Scatter
from minifut.passes.flatten.destinations import with_segments
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site


def flatten_scatter(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Make a scatter in a nest a segmented map that writes."""
    exp = statement.exp
    if not isinstance(exp, Scatter) or "sequential" in statement.attributes:
        return False
    arrays = []
    for destination in exp.destinations:
        array = with_segments(site, nest, destination.array)
        if array is None:
            return False
        arrays.append(array)
    index = site.fresh_index("j")
    whole = nest.over(index, exp.width, exp.arrays, exp.function)
    whole = whole.then(exp.function.body.statements)
    values = exp.function.body.result
    at, where = 0, sum(d.rank * d.count for d in exp.destinations)
    results, types = [], []
    for destination, array in zip(exp.destinations, arrays, strict=True):
        writes = []
        types.append(exp.function.results[where])
        for _ in range(destination.count):
            inner = values[at : at + destination.rank]
            writes.append(((*nest.indices, *inner), values[where]))
            at, where = at + destination.rank, where + 1
        shape = array_type(array, site.build.scope).shape
        results.append(WriteReturns(array, shape, tuple(writes)))
    body = KernelBody(whole.statements, tuple(results))
    site.emit(pattern, SegMap(GRID, whole.space, body, tuple(types)))
    return True
