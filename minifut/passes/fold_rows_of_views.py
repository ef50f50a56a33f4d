r"""Fold the flattened rows of a view row by row, where a map goes over the view.

map (\yss -> reduce (+) 0 (flatten yss)) (transpose xsss)
  →  map (\yss -> reduce (+) 0 (map (\ys -> reduce (+) 0 ys) yss)) (transpose xsss)

The channels of images [n][channels][height][width] are such rows: the images of one do
not follow each other in memory, so that to flatten them is to copy them. Flattened to a
space of all elements, each point would copy the row of which it reads one element. The
fold of each part that is one range of memory is left contiguous, for vectors. For what
else needs flattened rows, they are copied once, all rows of the view:

map (\yss -> scan (+) 0 (flatten yss)) (transpose xsss)
  →  let zss = map flatten (transpose xsss)  in map (\zs -> scan (+) 0 zs) zss
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from minifut.ir.core import Exp, Index, Param, Program, Rearrange, Reshape, Stm
from minifut.ir.node import replace
from minifut.ir.scope import array_type, scope_of
from minifut.ir.soacs import Screma
from minifut.ir.traverse import used_names
from minifut.ir.types import ArrayType, array_of, row_type
from minifut.names import Name, NameSource
from minifut.passes.fold_by_rows import nest_fold, rows_have_gaps
from minifut.passes.simplify.soacs import views_of_inputs
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.strategy import outermost, rewrite
from minifut.rewrite.trace import Trace


def fold_rows_of_views(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Fold flattened rows of views without copying them."""
    return rewrite(program, outermost(fold_flattened_rows), names, trace)


@rule(Screma)
def fold_flattened_rows(statement: Stm, context: StatementContext) -> Outcome:
    r"""Nest the folds of rows in a map over a view whose rows have gaps. Rows that are
    flattened for anything else are those of the flattened view.

    before:
        given (n: i64, m: i64, k: i64, xsss: [n][m][k]i32)
        let ysss: [m][n][k]i32 = rearrange((1, 0, 2), xsss)
        let sums: [m][n * k]i32 = map(m, (ysss), \(yss: [n][k]i32) -> ([n * k]i32) {
          let flat: [n * k]i32 = reshape([n * k], yss)
          return scanomap(n * k, (flat), scan(add_i32, (0i32)), \(y: i32) -> (i32) {y})
        })
    after:
        let ysss: [m][n][k]i32 = rearrange((1, 0, 2), xsss)
        let zss: [m][n * k]i32 = reshape([m][n * k], ysss)
        let sums: [m][n * k]i32 = map(m, (zss), \(flat: [n * k]i32) -> ([n * k]i32) {
          return scanomap(n * k, (flat), scan(add_i32, (0i32)), \(y: i32) -> (i32) {y})
        })
    before:
        given (n: i64, m: i64, k: i64, xsss: [n][m][k]i32)
        let ysss: [m][n][k]i32 = rearrange((1, 0, 2), xsss)
        let zss: [m][n * k]i32 = reshape([m][n * k], ysss)
        let sums: [m]i32 = map(m, (zss), \(zs: [n * k]i32) -> (i32) {
          return redomap(n * k, (zs),
            reduce commutative(add_i32, (0i32)), \(y: i32) -> (i32) {y})
        })
    after:
        let ysss: [m][n][k]i32 = rearrange((1, 0, 2), xsss)
        let zss: [m][n * k]i32 = reshape([m][n * k], ysss)
        let sums: [m]i32 = map(m, (ysss), \(yss: [n][k]i32) -> (i32) {
          let flat: [n * k]i32 = reshape([n * k], yss)
          return redomap(n, (yss), reduce commutative(add_i32, (0i32)),
            \(row: [k]i32) -> (i32) {
              return redomap(k, (row),
                reduce commutative(add_i32, (0i32)), \(y: i32) -> (i32) {y})
            })
        })
    before:
        like before, with
        let zss: [m][n * k]i32 = reshape([m][n * k], ysss) =>
        map(m, (zss), \(zs: [n * k]i32) -> (i32) {
        => map(m, (ysss), \(yss: [n][k]i32) -> (i32) {
        => let flat: [n * k]i32 = reshape([n * k], yss)
        (zs) => (flat)
    after:
        like after, with
        let zss: [m][n * k]i32 = reshape([m][n * k], ysss) =>
    declines: no row of a view with gaps is flattened and folded
        like before, with
        [n][m][k]i32) => [m][n][k]i32)
        (1, 0, 2) => (0, 1, 2)
    """
    exp = statement.exp_of(Screma)
    for over in (_over_rows_of_views(exp, context), exp):
        if over is None:
            continue
        views = {
            array: (context.definition(array), 0)
            for array in over.arrays
            if isinstance(context.definition(array), Rearrange | Index)
        }
        if not views:
            return None
        before, nested = _with_nested_folds(over, views, set(), context)
        if nested is not over and (over is exp or not before):
            return (*before, replace(statement, exp=nested))
    return Declined("no row of a view with gaps is flattened and folded")


def _over_rows_of_views(exp: Screma, context: StatementContext) -> Screma | None:
    """The SOAC over views with gaps in place of flattened ones, if there are any: each
    point flattens the row."""
    function = exp.function
    flattened: list[Stm] = []
    parameters, arrays = list(function.parameters), list(exp.arrays)
    for position, (parameter, array) in enumerate(zip(parameters, arrays, strict=True)):
        view = _flattened_view(array, context)
        if view is None or not isinstance(parameter.type, ArrayType):
            continue
        row = context.names.like(parameter.name)
        type_ = row_type(array_type(view, context.scope))
        context.scope[row] = type_
        flattened.append(Stm((parameter,), Reshape(parameter.type.shape, row)))
        parameters[position], arrays[position] = Param(row, type_), view
    if not flattened:
        return None
    body = replace(function.body, statements=(*flattened, *function.body.statements))
    function = replace(function, parameters=tuple(parameters), body=body)
    return replace(exp, arrays=tuple(arrays), function=function)


def _flattened_view(array: Name, context: StatementContext) -> Name | None:
    """The view whose rows, which have gaps, are flattened in the array."""
    source = context.definition(array)
    if not isinstance(source, Reshape) or len(source.shape) < 2:
        return None
    outermost_size = array_type(source.array, context.scope).shape[0]
    if source.shape[0] != outermost_size:
        return None
    view = context.definition(source.array)
    return source.array if rows_have_gaps(view, 1, context) else None


def _with_nested_folds(
    exp: Screma,
    views: Mapping[Name, tuple[Exp | None, int]],
    apart: set[Name],
    context: StatementContext,
) -> tuple[list[Stm], Screma]:
    """The SOAC with nested folds inside, behind the statements for flattened views.
    `views` has the definitions of views, those of their rows too, and how many
    dimensions of them maps took; `apart` names rows with gaps."""
    rows: dict[Name, tuple[Exp | None, int]] = {}
    definitions = dict(context.definitions)
    for parameter, array in zip(exp.function.parameters, exp.arrays, strict=False):
        if array not in views:
            continue
        source, taken = views[array]
        rows[parameter.name] = (source, taken + 1)
        if source is not None and rows_have_gaps(source, taken + 1, context):
            apart.add(parameter.name)
    if not rows:
        return [], exp
    inside = replace(context, definitions=definitions)
    statements: list[Stm] = []
    for statement in exp.function.body.statements:
        outcome = nest_fold(statement, inside, apart)
        for made in outcome if isinstance(outcome, tuple) else (statement,):
            context.scope.update(scope_of(made))
            if isinstance(made.exp, Screma):
                before, nested = _with_nested_folds(made.exp, rows, apart, inside)
                statements += before
                made = replace(made, exp=nested)
            definitions.update({bound.name: made for bound in made.pattern})
            statements.append(made)
    body = replace(exp.function.body, statements=tuple(statements))
    nested = replace(exp, function=replace(exp.function, body=body))
    return _over_flattened_views(nested, apart, context)


def _over_flattened_views(
    exp: Screma, apart: Set[Name], context: StatementContext
) -> tuple[list[Stm], Screma]:
    """The SOAC over the flattened views where it needs their flattened rows."""
    body = exp.function.body
    views, used = views_of_inputs(exp), used_names(body)
    rows = [
        s
        for s in body.statements
        if isinstance(s.exp, Reshape)
        and s.exp.array in apart
        and s.pattern[0].name in views.keys() & used
    ]
    if not rows:
        return [], exp
    body = replace(body, statements=tuple(s for s in body.statements if s not in rows))
    used = used_names(body)
    pairs = zip(exp.function.parameters, exp.arrays, strict=True)
    inputs = {parameter: array for parameter, array in pairs if parameter.name in used}
    flattened: list[Stm] = []
    for statement in rows:
        (row,) = statement.pattern
        whole = Param(context.names.like(row.name), array_of(row.type, (exp.width,)))
        context.scope[whole.name] = whole.type
        flattened.append(replace(statement, pattern=(whole,), exp=views[row.name]))
        inputs[row] = whole.name
    function = replace(exp.function, parameters=tuple(inputs), body=body)
    return flattened, replace(exp, arrays=tuple(inputs.values()), function=function)
