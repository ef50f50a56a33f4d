"""A scan inside a map nest: one segmented scan.

    before:  nest (i < n) { scanomap(m, xs, op, f) }
    after:   segscan grid (i < n, j < m) {op} { f on xs[j] }

Conditions as for reductions.
"""

from __future__ import annotations

from minifut.ir.core import Param, Stm
from minifut.ir.kernels import GRID, SegBinOp, SegScan
from minifut.ir.soacs import Screma
from minifut.passes.flatten.inner_reduce import is_scalar_operator, operator_varies
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site, returns


def flatten_scan(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Make a scanomap in a nest a segmented scan."""
    exp = statement.exp
    if not isinstance(exp, Screma) or not exp.is_scanomap:
        return False
    if "sequential" in statement.attributes:
        return False
    for scan in exp.scans:
        if not is_scalar_operator(scan.operator):
            return False
        if operator_varies(nest, scan.operator, scan.neutral):
            return False
    index = site.fresh_index("j")
    whole = nest.over(index, exp.width, exp.arrays, exp.function)
    whole = whole.then(exp.function.body.statements)
    operators = tuple(
        SegBinOp(site.operator(scan.operator), scan.neutral) for scan in exp.scans
    )
    body = returns(whole.statements, exp.function.body.result)
    types = exp.function.results
    site.emit(pattern, SegScan(GRID, whole.space, operators, body, types))
    return True
