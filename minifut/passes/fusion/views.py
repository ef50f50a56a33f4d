r"""Pull a view above the map that makes the array, so that the map can fuse below it.

    rearrange((1, 0), map(\xs -> map(f, xs), xss))
        →  map(\ys -> map(f, ys), rearrange((1, 0), xss))

The view then is one of the inputs, where it costs nothing. For reshaped arrays two
dimensions of a nest become one, or one becomes two; of a slice only the part that is
kept is computed; of gathered rows that are transposed, the columns are gathered.
Nothing else may need the array: it would be computed twice.
"""

from __future__ import annotations

from typing import Any

from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, DimSlice, Index, Lambda, Rearrange, Reshape, Stm
from minifut.ir.node import replace
from minifut.ir.sizes import product
from minifut.ir.soacs import Screma, map_
from minifut.ir.types import I64, ArrayType, array_of, row_type, shape_of
from minifut.names import Name
from minifut.passes.fusion.map_nest import MapNest, build_nest, nest_of
from minifut.passes.fusion.pair import PAPER
from minifut.passes.simplify.dead_code import has_effects
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, Rule, rule


@rule(Rearrange, paper=PAPER)
def pull_rearrange_above_map(statement: Stm, context: StatementContext) -> Outcome:
    r"""A nest of maps in another order, over inputs with their dimensions rearranged.

    before:
        like before of pull_reshape_above_map, with
        zs: [n * m]i32 = reshape([n * m] => zss: [m][n]i32 = rearrange((1, 0)
        return zs => return zss
    after:
        let turned: [m][n]i32 = rearrange((1, 0), xss)
        let zss: [m][n]i32 = map(m, (turned), \(column: [n]i32) -> ([n]i32) {
          return map(n, (column), \(x: i32) -> (i32) {add_i32(x, 1i32)})
        })
    declines: the dimensions are not all those of maps
        like before, with
        map(m, (xs), \(x: i32) -> (i32) {add_i32(x, 1i32)}) => replicate([m], 1i32)
    """
    exp = statement.exp_of(Rearrange)
    producer = _alone(exp.array, context)
    if not isinstance(producer, Stm):
        return producer
    permutation = exp.permutation
    moved = [i for i, p in enumerate(permutation) if i != p]
    depth = max(moved, default=-1) + 1
    nest = nest_of(producer.exp, depth)
    if nest is None or depth == 0:
        return Declined("the dimensions are not all those of maps")
    build = context.builder(producer)
    inputs = []
    for parameter, array, dimensions in nest.inputs:
        order = sorted(
            range(len(dimensions)), key=lambda k: permutation.index(dimensions[k])
        )
        rank = len(build.shape(array))
        whole = (*order, *range(len(order), rank))
        turned = build.rearrange(array, whole)
        at = tuple(permutation.index(dimensions[k]) for k in order)
        inputs.append((parameter, turned, at))
    sizes = tuple(nest.sizes[p] for p in permutation[:depth])
    return _nested(build, statement, MapNest(sizes, tuple(inputs), nest.body))


@rule(Reshape, paper=PAPER)
def pull_reshape_above_map(statement: Stm, context: StatementContext) -> Outcome:
    r"""Two dimensions of maps become one over flattened inputs.

    before:
        given (n: i64, m: i64, xss: [n][m]i32)
        let yss: [n][m]i32 = map(n, (xss), \(xs: [m]i32) -> ([m]i32) {
          return map(m, (xs), \(x: i32) -> (i32) {add_i32(x, 1i32)})
        })
        let zs: [n * m]i32 = reshape([n * m], yss)
        return zs
    after:
        let flat: [n * m]i32 = reshape([n * m], xss)
        let zs: [n * m]i32 = map(n * m, (flat), \(x: i32) -> (i32) {add_i32(x, 1i32)})

    One dimension becomes several.

    before:
        given (n: i64, m: i64, shape: [n][m]bool, xs: [n * m]i32)
        let ys: [n * m]i32 = map(n * m, (xs), \(x: i32) -> (i32) {add_i32(x, 1i32)})
        let zss: [n][m]i32 = reshape([n][m], ys)
        return zss
    after:
        let rows: [n][m]i32 = reshape([n][m], xs)
        let zss: [n][m]i32 = map(n, (rows), \(row: [m]i32) -> ([m]i32) {
          return map(m, (row), \(x: i32) -> (i32) {add_i32(x, 1i32)})
        })
    declines: an input varies along some of the dimensions only
        given (n: i64, m: i64, xs: [n]i32, ys: [m]i32)
        let pss: [n][m]i32 = map(n, (xs), \(x: i32) -> ([m]i32) {
          return map(m, (ys), \(y: i32) -> (i32) {mul_i32(x, y)})
        })
        let zs: [n * m]i32 = reshape([n * m], pss)
        return zs
    """
    exp = statement.exp_of(Reshape)
    producer = _alone(exp.array, context)
    if not isinstance(producer, Stm):
        return producer
    before, after = shape_of(producer.pattern[0].type), exp.shape
    tail = 0
    while (
        tail < min(len(before), len(after)) - 1
        and before[-1 - tail] == after[-1 - tail]
    ):
        tail += 1
    old, new = before[: len(before) - tail], after[: len(after) - tail]
    if product(old) != product(new):
        return Declined("the numbers of elements are not known to be equal")
    nest = nest_of(producer.exp, len(old))
    if nest is None:
        return Declined("the dimensions are not all those of maps")
    build = context.builder(producer)
    inputs: list[Any] = []
    for parameter, array, dimensions in nest.inputs:
        if dimensions != tuple(range(len(old))):
            return Declined("an input varies along some of the dimensions only")
        rest = build.shape(array)[len(old) :]
        reshaped = build.reshape(array, (*new, *rest))
        inputs.append((parameter, reshaped, tuple(range(len(new)))))
    return _nested(build, statement, MapNest(new, tuple(inputs), nest.body))


@rule(Index, paper=PAPER)
def pull_slice_above_map(statement: Stm, context: StatementContext) -> Outcome:
    r"""Only the elements of a map that are kept are computed.

    before:
        given (n: i64, xs: [n]i32)
        let ys: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {add_i32(x, 1i32)})
        let zs: [n - 1]i32 = ys[1i64 :+ n - 1 by 1i64]
        return zs
    after:
        let part: [n - 1]i32 = xs[1i64 :+ n - 1 by 1i64]
        let zs: [n - 1]i32 = map(n - 1, (part), \(x: i32) -> (i32) {add_i32(x, 1i32)})
    declines: the array is needed elsewhere as it is
        like before, with
        return zs => return zs, ys
    """
    exp = statement.exp_of(Index)
    if not isinstance(exp.slice[0], DimSlice):
        return None
    producer = _alone(exp.array, context)
    if not isinstance(producer, Stm):
        return producer
    if len(exp.slice) != 1:
        return Declined("rows are sliced too")
    kept, soac = exp.slice[0], producer.exp
    assert isinstance(soac, Screma)
    if has_effects(soac.function):
        return Declined("an element that is not kept may fail")
    build = context.builder(producer)
    arrays = tuple(build.index(array, kept) for array in soac.arrays)
    build.append(replace(producer, pattern=statement.pattern,
                         exp=map_(kept.length, arrays, soac.function)))  # fmt: skip
    return tuple(build.statements)


@rule(Rearrange, paper=PAPER)
def pull_rearrange_above_gather(statement: Stm, context: StatementContext) -> Outcome:
    r"""Columns of gathered rows are gathered from columns, not copied row by row.

    before:
        given (n: i64, m: i64, k: i64, table: [k][m]i32, at: [n]i64)
        let rows: [n][m]i32 = map(n, (at), \(i: i64) -> ([m]i32) {
          let place: i64 = mod_i64(i, k)
          return table[place]
        })
        let columns: [m][n]i32 = rearrange((1, 0), rows)
        return columns
    after:
        let places: [n]i64 = map(n, (at), \(i: i64) -> (i64) {mod_i64(i, k)})
        let turned: [m][k]i32 = rearrange((1, 0), table)
        let columns: [m][n]i32 = map(m, (turned), \(column: [k]i32) -> ([n]i32) {
          return map(n, (places), \(j: i64) -> (i32) {column[j]})
        })
    declines: the map is no gather of rows
        like before, with
        table[place] => table[0i64]
    """
    exp = statement.exp_of(Rearrange)
    if exp.permutation[:2] != (1, 0):
        return None
    if any(i != p for i, p in enumerate(exp.permutation[2:], 2)):
        return None
    producer = _alone(exp.array, context)
    if not isinstance(producer, Stm):
        return producer
    soac = producer.exp_of(Screma)
    gathered = _gathered_row(soac)
    if gathered is None:
        return Declined("the map is no gather of rows")
    table, place = gathered
    build = context.builder(producer)
    *before, _ = soac.function.body.statements
    finds = Lambda(soac.function.parameters, Body(tuple(before), (place,)), (I64,))
    (places,) = build.parameters((array_of(I64, (soac.width,)),), "places")
    build.bind((places,), map_(soac.width, soac.arrays, finds))
    rank = len(build.shape(table))
    turned = build.rearrange(table, (1, 0, *range(2, rank)))
    (column,) = build.parameters((row_type(build.type(turned)),), "column")
    (at,) = build.parameters((I64,), "at")
    inner = build.nested()
    element = inner.nested()
    body = element.finish(element.index(column.name, at.name))
    of_column = row_type(statement.pattern[0].type)
    (picked,) = inner.parameters((of_column,), "picked")
    lookup = Lambda((at,), body, (row_type(of_column),))
    inner.bind((picked,), map_(soac.width, (places.name,), lookup))
    function = Lambda((column,), inner.finish(picked.name), (of_column,))
    width = shape_of(statement.pattern[0].type)[0]
    build.bind(statement.pattern, map_(width, (turned,), function))
    return tuple(build.statements)


def _gathered_row(soac: Screma) -> tuple[Name, Atom] | None:
    """The array of which the map gives a row for each element, and where that is, if
    all that it does besides is on scalars."""
    function = soac.function
    if not function.body.statements:
        return None
    *before, last = function.body.statements
    inside = {p.name for p in function.parameters}
    for statement in before:
        if any(isinstance(p.type, ArrayType) for p in statement.pattern):
            return None
        inside.update(p.name for p in statement.pattern)
    match last:
        case Stm(pattern, Index(array, (Name() as place,))) if (
            function.body.result == (pattern[0].name,)
            and place in inside
            and array not in inside
        ):
            return array, place
    return None


VIEWS: dict[type, tuple[Rule, ...]] = {
    Rearrange: (pull_rearrange_above_map, pull_rearrange_above_gather),
    Reshape: (pull_reshape_above_map,),
    Index: (pull_slice_above_map,),
}


def _alone(array: Any, context: StatementContext) -> Stm | Declined | None:
    """The map that makes the array, if that is its only result and has no other use."""
    producer = context.definitions.get(array)
    if producer is None or not isinstance(producer.exp, Screma):
        return None
    if array in context.needed:
        return Declined("the array is needed elsewhere as it is")
    if not producer.exp.is_map or len(producer.pattern) != 1:
        return Declined("the array is not all that its producer makes")
    return producer


def _nested(build: Builder, statement: Stm, nest: MapNest) -> Outcome:
    """The nest in place of the statement."""
    build_nest(build, nest, statement.pattern)
    return tuple(build.statements)
