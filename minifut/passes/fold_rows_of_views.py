r"""Fold the flattened rows of a view row by row, where a map goes over the view.

map (\yss -> reduce (+) 0 (flatten yss)) (transpose xsss)
  →  map (\yss -> reduce (+) 0 (map (\ys -> reduce (+) 0 ys) yss)) (transpose xsss)

The channels of images [n][channels][height][width] are such rows: the images of one do
not follow each other in memory, so that to flatten them is to copy them. Flattened to a
space of all elements, each point would copy the row of which it reads one element. The
fold of each part that is one range of memory is left contiguous, for vectors.
"""

from __future__ import annotations

from collections.abc import Mapping

from minifut.ir.core import Exp, Index, Program, Rearrange, Stm
from minifut.ir.node import replace
from minifut.ir.scope import scope_of
from minifut.ir.soacs import Screma
from minifut.names import Name, NameSource
from minifut.passes.fold_by_rows import nest_fold, rows_have_gaps
from minifut.rewrite.context import StatementContext, with_expression
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.strategy import outermost, rewrite
from minifut.rewrite.trace import Trace

REFUSED = Declined("no row of a view with gaps is flattened and folded")


def fold_rows_of_views(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """The program with folds of flattened rows of views nested as the rows are."""
    return rewrite(program, outermost(fold_flattened_rows), names, trace)


@rule(Screma)
def fold_flattened_rows(statement: Stm, context: StatementContext) -> Outcome:
    r"""Nest the folds of rows in a map over a view whose rows have gaps.

    before:
        given (n: i64, m: i64, k: i64, xsss: [n][m][k]i32)
        let ysss: [m][n][k]i32 = rearrange((1, 0, 2), xsss)
        let sums: [m]i32 = map(m, (ysss), \(yss: [n][k]i32) -> (i32) {
          let flat: [n * k]i32 = reshape([n * k], yss)
          let s: i32 = redomap(n * k, (flat),
            reduce commutative(add_i32, (0i32)),
            \(y: i32) -> (i32) {
              return y
            })
          return s
        })
    after:
        let ysss: [m][n][k]i32 = rearrange((1, 0, 2), xsss)
        let sums: [m]i32 = map(m, (ysss), \(yss: [n][k]i32) -> (i32) {
          let flat: [n * k]i32 = reshape([n * k], yss)
          let s: i32 = redomap(n, (yss),
            reduce commutative(add_i32, (0i32)),
            \(row: [k]i32) -> (i32) {
              let t: i32 = redomap(k, (row),
                reduce commutative(add_i32, (0i32)),
                \(y: i32) -> (i32) {
                  return y
                })
              return t
            })
          return s
        })
    declines: no row of a view with gaps is flattened and folded
        like before, with
        [n][m][k]i32) => [m][n][k]i32)
        (1, 0, 2) => (0, 1, 2)
    """
    exp = statement.exp
    if not isinstance(exp, Screma):
        return None
    views = {
        array: (context.definition(array), 0)
        for array in exp.arrays
        if isinstance(context.definition(array), Rearrange | Index)
    }
    if not views:
        return None
    nested = _with_nested_folds(exp, views, set(), context)
    return REFUSED if nested is exp else with_expression(statement, nested)


def _with_nested_folds(
    exp: Screma,
    views: Mapping[Name, tuple[Exp | None, int]],
    apart: set[Name],
    context: StatementContext,
) -> Screma:
    """The SOAC with nested folds inside. `views` has the definitions of views, those of
    their rows too, and how many dimensions of them maps took; `apart` names rows with
    gaps."""
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
        return exp
    inside = replace(context, definitions=definitions)
    statements: list[Stm] = []
    for statement in exp.function.body.statements:
        outcome = nest_fold(statement, inside, apart)
        for made in outcome if isinstance(outcome, tuple) else (statement,):
            context.scope.update(scope_of(made))
            if isinstance(made.exp, Screma):
                nested = _with_nested_folds(made.exp, rows, apart, inside)
                made = replace(made, exp=nested)
            definitions.update({bound.name: made for bound in made.pattern})
            statements.append(made)
    body = replace(exp.function.body, statements=tuple(statements))
    return replace(exp, function=replace(exp.function, body=body))
