r"""Fold a flattened view row by row, so that it is never stored.

reduce (+) 0 (flatten xss[i:i+3, j:j+3])
  →  reduce (+) 0 (map (\xs -> reduce (+) 0 xs) xss[i:i+3, j:j+3])

The rows of a range of columns, or of a transposed array, do not follow each other in
memory: to flatten them is to copy them, in a thread to memory of its own. As the
operator is associative, the fold may go over the array as it is. Applied in threads,
where folds are loops.
"""

from __future__ import annotations

from collections.abc import Set
from itertools import pairwise

from minifut.ir.builder import Builder, i64
from minifut.ir.core import DimSlice, Exp, Index, Rearrange, Reshape, Stm
from minifut.ir.scope import array_type
from minifut.ir.sizes import Size, product
from minifut.ir.soacs import Screma, operand_count, redomap
from minifut.ir.types import AccType, row_type
from minifut.names import Name
from minifut.rewrite.context import StatementContext, with_expression
from minifut.rewrite.rule import Declined, Outcome, rule

REFUSED = Declined("no input is a flattened view with gaps")


@rule(Screma)
def fold_flattened_by_rows(statement: Stm, context: StatementContext) -> Outcome:
    r"""Nest the fold of a flattened view as the dimensions of the view.

    before:
        given (n: i64, xss: [5][n]i32, ks: [6]i32)
        let xs: [3][2]i32 = xss[1i64 :+ 3 by 1i64, 0i64 :+ 2 by 1i64]
        let flat: [6]i32 = reshape([6], xs)
        let s: i32 = redomap(6, (flat, ks),
          reduce commutative(add_i32, (0i32)),
          mul_i32)
    after:
        let xs: [3][2]i32 = xss[1i64 :+ 3 by 1i64, 0i64 :+ 2 by 1i64]
        let flat: [6]i32 = reshape([6], xs)
        let kss: [3][2]i32 = reshape([3][2], ks)
        let s: i32 = redomap(3, (xs, kss),
          reduce commutative(add_i32, (0i32)),
          \(row: [2]i32, k_row: [2]i32) -> (i32) {
            return redomap(2, (row, k_row), reduce commutative(add_i32, (0i32)),
              mul_i32)
          })
    declines: no input is a flattened view with gaps
        like before, with
        [5][n]i32 => [5][2]i32
    """
    return nest_fold(statement, context)


def nest_fold(
    statement: Stm, context: StatementContext, apart: Set[Name] = frozenset()
) -> Outcome:
    """The rule, where the rows of the arrays in `apart` are known to have gaps."""
    exp = statement.exp
    if not isinstance(exp, Screma) or not exp.is_redomap:
        return None
    combined = operand_count(exp.reduces)
    if combined != len(exp.function.results):
        return REFUSED
    if any(isinstance(p.type, AccType) for p in exp.function.parameters):
        return REFUSED
    dimensions = _dimensions(exp, context, apart)
    if dimensions is None:
        return REFUSED
    build = context.builder(statement)
    arrays = tuple(_unflattened(a, dimensions, build, context) for a in exp.arrays)
    within = product(dimensions[1:])

    def fold_row(inner: Builder, *rows: Name) -> tuple[Name, ...]:
        if len(dimensions) > 2:
            rest = [inner.shape(row)[len(dimensions) - 1 :] for row in rows]
            rows = tuple(map(inner.reshape, rows, [(within, *sizes) for sizes in rest]))
        return inner.let_many(redomap(within, rows, exp.reduces, exp.function))

    row_types = [row_type(build.type(array)) for array in arrays]
    function = build.function(row_types, fold_row, "row")
    again = tuple(map(build.copy, exp.reduces))
    whole = redomap(dimensions[0], arrays, again, function)
    return with_expression(statement, whole, build)


def _dimensions(
    exp: Screma, context: StatementContext, apart: Set[Name]
) -> tuple[Size, ...] | None:
    """Those that were flattened of the first input that is a view with gaps."""
    for array in exp.arrays:
        reshaped = context.definition(array)
        if not isinstance(reshaped, Reshape):
            continue
        if reshaped.array not in apart and not _is_apart(reshaped.array, context):
            continue
        shape = array_type(reshaped.array, context.scope).shape
        flattened = len(shape) - len(reshaped.shape) + 1
        same = shape[flattened:] == reshaped.shape[1:]
        if flattened > 1 and same and product(shape[:flattened]) == exp.width:
            return shape[:flattened]
    return None


def _is_apart(array: Name, context: StatementContext) -> bool:
    """Whether the rows of an array do not follow each other in memory."""
    source = context.definition(array)
    return isinstance(source, Rearrange) or rows_have_gaps(source, 0, context)


def rows_have_gaps(source: Exp | None, taken: int, context: StatementContext) -> bool:
    """Whether what is left of a view is not one range of memory, when outer maps took
    as many dimensions of it."""
    if isinstance(source, Rearrange):
        kept = source.permutation[taken:]
        return any(b != a + 1 for a, b in pairwise(kept))
    if not isinstance(source, Index):
        return False
    shape = array_type(source.array, context.scope).shape
    kept = tuple(
        n for n, place in enumerate(source.slice) if isinstance(place, DimSlice)
    )[taken:]
    for position in kept:
        place = source.slice[position]
        assert isinstance(place, DimSlice)
        whole = place.start == i64(0) and place.length == shape[position]
        if place.stride != i64(1) or (position != kept[0] and not whole):
            return True
    # An index between ranges leaves gaps as well.
    return bool(kept) and kept != tuple(range(kept[0], kept[0] + len(kept)))


def _unflattened(
    array: Name, dimensions: tuple[Size, ...], build: Builder, context: StatementContext
) -> Name:
    """The array with the dimensions in place of the first one."""
    reshaped = context.definition(array)
    shape = (*dimensions, *build.shape(array)[1:])
    if isinstance(reshaped, Reshape) and build.shape(reshaped.array) == shape:
        return reshaped.array
    return build.reshape(array, shape)
