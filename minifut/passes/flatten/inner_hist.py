"""A histogram inside a map nest: one segmented histogram.

    before:  nest (i < n) { hist(m, {dest, op}, f, is, vs) }
    after:   seghist grid (i < n, j < m) {dests, op} { f on is[j], vs[j] }

Conditions: as for reductions, and the destinations are known for the whole nest
(`flatten.destinations`).
"""

from __future__ import annotations

from minifut.ir.core import Param, Stm
from minifut.ir.kernels import GRID, SegHist, SegHistOp
from minifut.ir.soacs import Hist
from minifut.passes.flatten.destinations import with_segments
from minifut.passes.flatten.inner_reduce import is_scalar_operator, operator_varies
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site, returns


def flatten_hist(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Make a histogram in a nest a segmented one."""
    exp = statement.exp
    if not isinstance(exp, Hist) or "sequential" in statement.attributes:
        return False
    operators = []
    for op in exp.operators:
        if not is_scalar_operator(op.operator):
            return False
        if operator_varies(nest, op.operator, op.neutral):
            return False
        if any(nest.size_varies(size) for size in op.shape):
            return False
        found = [with_segments(site, nest, array) for array in op.destinations]
        known = tuple(array for array in found if array is not None)
        if len(known) != len(found):
            return False
        operators.append(
            SegHistOp(op.shape, known, op.neutral, site.operator(op.operator))
        )
    index = site.fresh_index("j")
    whole = nest.over(index, exp.width, exp.arrays, exp.function)
    whole = whole.then(exp.function.body.statements)
    body = returns(whole.statements, exp.function.body.result)
    types = exp.function.results
    site.emit(pattern, SegHist(GRID, whole.space, tuple(operators), body, types))
    return True
