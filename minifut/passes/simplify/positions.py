r"""Arrays indexed by the position in a SOAC become its inputs.

    tabulate n (\i -> xs[i] + ys[i])   =  map (\i -> ..) (iota n)
                                       →  map (\x y -> x + y) xs ys

What makes an input can be fused with the SOAC, an array that is indexed cannot. Columns
stay indexed: as an input, `ys` of `\k -> xs[k] * ys[k, j]` would be whole rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minifut.ir.builder import i64
from minifut.ir.core import Body, Copy, Index, Iota, Lambda, Stm
from minifut.ir.node import replace
from minifut.ir.scope import Scope
from minifut.ir.search import nodes_of
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import (
    bound_names,
    free_names,
    map_children,
    names_in,
    used_names,
)
from minifut.ir.types import I64, row_type, shape_of
from minifut.names import Name
from minifut.rewrite.context import StatementContext, with_expression
from minifut.rewrite.rule import Declined, Outcome, rule


@rule((Screma, Scatter, Hist))
def take_elements(statement: Stm, context: StatementContext) -> Outcome:
    r"""Take an array as an input that is only indexed by the position of the element.

    before:
        given (n: i64, xs: [n]i32, k: i64)
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let ys: [n]i32 = map(n, (is), \(i: i64) -> (i32) {xs[i]})
    after:
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let ys: [n]i32 = map(n, (is, xs), \(i: i64, a: i32) -> (i32) {
          let x: i32 = a
          return x
        })
    declines: no array is only indexed by the position
        like before, with
        xs[i] => xs[k]
    """
    exp = statement.exp
    assert isinstance(exp, Screma | Scatter | Hist)
    function = exp.function
    positions = {
        parameter.name
        for parameter, array in zip(function.parameters, exp.arrays, strict=True)
        if is_zero_based_iota(context.definition(array))
    }
    if not positions:
        return Declined("no input counts the elements")
    arrays = _indexed_by(function, positions, exp.width, context.scope)
    if not arrays:
        return Declined("no array is only indexed by the position")
    types = [row_type(context.scope[array]) for array in arrays]
    rows = context.builder(statement).parameters(types, "row")
    elements = dict(zip(arrays, (row.name for row in rows), strict=True))
    return with_expression(
        statement,
        replace(
            exp,
            arrays=(*exp.arrays, *arrays),
            function=Lambda(
                (*function.parameters, *rows),
                _with_elements(function.body, positions, elements),
                function.results,
            ),
        ),
    )


def is_zero_based_iota(source: object) -> bool:
    """Whether the array is 0, 1, 2, ... of i64."""
    return (
        isinstance(source, Iota)
        and source.element == I64
        and source.start == i64(0)
        and source.stride == i64(1)
    )


def _indexed_by(
    function: Lambda, positions: set[Name], width: Size, scope: Scope
) -> list[Name]:
    """The arrays from outside, as long as the SOAC is wide, whose every use is an
    element at the position, or of one that depends on what the SOAC computes."""
    uses = _uses(function.body, positions)
    if not uses:
        return []
    found = dict.fromkeys(use.array for use in uses)
    inside = set(bound_names(function))
    columns = {
        use.array
        for use in uses
        if use.slice[1:] and inside.isdisjoint(used_names(use) - {use.slice[0]})
    }
    elements = dict.fromkeys(found, next(iter(positions)))
    others = used_names(_with_elements(function.body, positions, elements))
    free = free_names(function.body)
    return [
        array
        for array in found
        if array in free - others - columns and shape_of(scope[array])[0] == width
    ]


def _uses(body: Body, positions: set[Name]) -> list[Index]:
    """The indices by the positions, in order. Few statements have the position."""
    found: list[Index] = []
    for statement in body.statements:
        if positions.isdisjoint(names_in(statement)):
            continue
        within = nodes_of(Index, statement.exp)
        found += [index for index in within if index.slice[0] in positions]
    return found


def _with_elements(
    node: Any, positions: set[Name], elements: Mapping[Name, Name]
) -> Any:
    """With an element at the position in the place of each index by it."""
    if isinstance(node, Index) and node.slice[0] in positions:
        element = elements.get(node.array)
        if element is not None:
            rest = node.slice[1:]
            return Index(element, rest) if rest else Copy(element)
    return map_children(node, lambda child: _with_elements(child, positions, elements))
