"""A reduction inside a map nest: one segmented reduction.

    before:  nest (i < n) { redomap(m, xs, op, f) }
    after:   segred grid (i < n, j < m) {op} { f on xs[j] }

Conditions: the operators work on scalars; operators and neutral elements are the same
for all points of the nest. Source: "Regular flattening", rule G3 for redomap.
"""

from __future__ import annotations

from minifut.ir.core import Atom, Lambda, Param, Stm
from minifut.ir.kernels import GRID, SegBinOp, SegRed
from minifut.ir.soacs import Screma
from minifut.ir.types import ArrayType
from minifut.names import Name
from minifut.passes.flatten.nest import Nest
from minifut.passes.flatten.site import Site, returns


def is_scalar_operator(operator: Lambda) -> bool:
    """Whether all operands are scalars."""
    return not any(isinstance(t, ArrayType) for t in operator.results)


def operator_varies(nest: Nest, operator: Lambda, neutral: tuple[Atom, ...]) -> bool:
    """Whether operator or neutral element differ between points of the nest."""
    return nest.varies(operator) or not nest.bound.isdisjoint(
        atom for atom in neutral if isinstance(atom, Name)
    )


def flatten_reduce(
    site: Site, nest: Nest, statement: Stm, pattern: tuple[Param, ...]
) -> bool:
    """Make a redomap in a nest a segmented reduction."""
    exp = statement.exp
    if not isinstance(exp, Screma) or not exp.is_redomap:
        return False
    if "sequential" in statement.attributes:
        return False
    for reduce in exp.reduces:
        if not is_scalar_operator(reduce.operator):
            return False
        if operator_varies(nest, reduce.operator, reduce.neutral):
            return False
    index = site.fresh_index("j")
    whole = nest.over(index, exp.width, exp.arrays, exp.function)
    whole = whole.then(exp.function.body.statements)
    operators = tuple(
        SegBinOp(site.operator(r.operator), r.neutral, (), r.commutative)
        for r in exp.reduces
    )
    body = returns(whole.statements, exp.function.body.result)
    types = exp.function.results
    site.emit(pattern, SegRed(GRID, whole.space, operators, body, types))
    return True
