r"""Kernels whose points make short rows write them as a view of the result shows them.

    let a = segmap grid (i < n, j < m) -> ([3]f32) {..}        a point's row is spread,
    let b = rearrange((2, 0, 1), a)                            and b is row-major

Neighbouring points then write neighbouring elements, and what needs `b` in row-major
order, such as the next round of a loop, gets it without a copy.

Conditions: nothing but the view uses the result, and the dimension in which
neighbouring points differ is the last of the view. Where an order is wanted already
that ends so, it becomes that of the view.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from minifut.analysis.layouts import Order
from minifut.ir.core import Body, Function, Manifest, Rearrange, Stm
from minifut.ir.host_bodies import map_bodies
from minifut.ir.kernels import GRID, Returns, SegMap
from minifut.ir.node import replace, same_or
from minifut.ir.sizes import product
from minifut.ir.traverse import free_names
from minifut.ir.types import shape_of
from minifut.names import Name
from minifut.passes.layout.rules import make_result_in_layout, make_results
from minifut.rewrite.context import StatementContext
from minifut.rewrite.trace import Trace

SHORT = 32
"""elements of a row"""


def write_rearranged(
    function: Function, context: StatementContext, trace: Trace
) -> Function:
    """The function with such kernels writing what the views show."""
    changed: Function = map_bodies(function, partial(_body, context, trace))
    return changed


def _body(context: StatementContext, trace: Trace, body: Body) -> Body:
    made: list[Stm] = []
    views = _views(body)
    for statement in body.statements:
        bound, exp = statement.pattern, statement.exp
        if isinstance(exp, Manifest):
            wanted = views.get(bound[0].name, exp.permutation)
            if wanted[-1] == exp.permutation[-1]:
                exp = replace(exp, permutation=wanted)
            made.append(replace(statement, exp=exp))
        elif orders := _orders(statement, views):
            after = make_results(statement, orders, context)
            trace.fire(make_result_in_layout, statement, after)
            made += after
        else:
            made.append(map_bodies(statement, partial(_body, context, trace)))
    return replace(body, statements=same_or(made, body.statements))


def _views(body: Body) -> dict[Name, Order]:
    """The arrays that only a view of their dimensions in another order uses."""
    views = [s.exp for s in body.statements if isinstance(s.exp, Rearrange)]
    if not views:
        return {}
    uses = Counter(name for s in body.statements for name in free_names(s))
    uses.update(atom for atom in body.result if isinstance(atom, Name))
    return {view.array: view.permutation for view in views if uses[view.array] == 1}


def _orders(statement: Stm, views: dict[Name, Order]) -> dict[Name, Order]:
    """The orders in which a kernel is to write its results."""
    kernel = statement.exp
    if not isinstance(kernel, SegMap) or kernel.level != GRID:
        return {}
    last = len(kernel.space.indices) - 1
    results = zip(statement.pattern, kernel.types, kernel.body.result, strict=True)
    return {
        bound.name: views[bound.name]
        for bound, type_, result in results
        if isinstance(result, Returns)
        and bound.name in views
        and views[bound.name][-1] == last
        and len(shape_of(type_)) >= 1
        and (product(shape_of(type_)).as_constant or SHORT + 1) <= SHORT
    }
