"""Which kernels are worth tiling, and along which of their dimensions.

    segmap grid (i < n, j < p) { a_i = a[i]  b_j = b[:, j]  s = redomap(m, (a_i, b_j)) }

Row i of a is read again for each j, column j of b for each i. Two dimensions are tiled
if each has an operand that varies with it and not with the other (the innermost such
pair); else the innermost dimension alone, if some operand does not vary with it; else a
pair in which only the columns' operand is shared, by the rows.

Conditions: around the redomaps only views, scalars and checks; scalars are reduced and
returned; the redomaps are equally long at all points of the tiled dimensions. What
each point gathers for itself takes the time, and tiles do not share it. Windows that
are flattened are copied, and tiles would copy them at each step.
"""

from __future__ import annotations

from minifut.ir.core import DimSlice, Index, Loop, Rearrange, Reshape, Stm
from minifut.ir.kernels import GRID, Returns, SegMap
from minifut.ir.search import contains
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma
from minifut.ir.types import ArrayType, shape_of
from minifut.names import Name
from minifut.passes.flatten.cheap import is_cheap
from minifut.passes.tiling import nest
from minifut.passes.tiling.marks import LECTURE, NEST, Mark, mark_of, marked
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(SegMap, paper=LECTURE)
def recognise_tiling(statement: Stm, context: StatementContext) -> Outcome:
    """Decide along which dimensions a kernel is tiled.

    before:
        given (n: i64, m: i64, p: i64, a: [n][m]f32, b: [m][p]f32)
        #[nest(main.map_map_redomap)] let c: [n][p]f32 =
          segmap grid (i < n, j < p) -> (f32) {
            let row: [m]f32 = a[i]
            let column: [m]f32 = b[0i64 :+ m by 1i64, j]
            return returns redomap(m, (row, column), reduce(add_f32, (0f32)), mul_f32)
          }
    after:
        like before, with
        given (n: i64, m: i64, p: i64, a: [n][m]f32, b: [m][p]f32)
        #[nest(main.map_map_redomap)] let c: [n][p]f32 =
        => #[tile(main.map_map_redomap, 0, 1)] let c: [n][p]f32 =
    declines: every operand varies with every dimension
        given (n: i64, m: i64, a: [n][m]f32)
        #[nest(main.map_redomap)] let c: [n]f32 = segmap grid (i < n) -> (f32) {
          let row: [m]f32 = a[i]
          return returns redomap(m, (row), reduce(add_f32, (0f32)),
            \\(x: f32) -> (f32) {x})
        }
    declines: each point gathers elements of its own
        given (n: i64, m: i64, p: i64, v: i64, ks: [n][m]i64, t: [v][p]f32)
        #[nest(main.map_map_redomap)] let c: [n][p]f32 =
          segmap grid (i < n, j < p) -> (f32) {
            let row: [m]i64 = ks[i]
            return returns redomap(m, (row), reduce(add_f32, (0f32)),
              \\(k: i64) -> (f32) {t[k, j]})
          }
    declines: an array that is not contiguous is flattened
        given (n: i64, k: i64, a: [n][n]f32, b: [n][k * k]f32)
        #[nest(main.map_map_redomap)] let c: [n][n - k]f32 =
          segmap grid (i < n, j < n - k) -> (f32) {
            let row: [k * k]f32 = b[i]
            let window: [k][k]f32 = a[0i64 :+ k by 1i64, j :+ k by 1i64]
            let flat: [k * k]f32 = reshape([k * k], window)
            return returns redomap(k * k, (row, flat), reduce(add_f32, (0f32)), mul_f32)
          }
    """
    kernel, mark = statement.exp_of(SegMap), mark_of(statement, NEST)
    if kernel.level != GRID or mark is None:
        return None
    if not nest.redomaps_of(kernel):
        return Declined("there is no reduction in the threads")
    reason = unfit_results(kernel) or unfit_body(kernel)
    if reason:
        return Declined(reason)
    variance = nest.Variance(kernel)
    iotas = nest.iotas_of(kernel, context.definitions.values())
    operands = nest.operands_of(kernel, variance, context.scope, iotas)
    dimensions = chosen_dimensions(len(kernel.space.sizes), operands)
    if not dimensions:
        return Declined("every operand varies with every dimension")
    tiled = frozenset(dimensions)
    if any(o.gathered and tiled <= o.dimensions for o in operands):
        return Declined("each point gathers elements of its own")
    for _, redomap in nest.redomaps_of(kernel):
        if variance.of(redomap.width.names()) & tiled:
            return Declined("a reduction is not equally long at all points")
    return (marked(statement, Mark(mark.nest, dimensions)),)


def inner_pair(
    statement: Stm, context: StatementContext
) -> tuple[SegMap, list[nest.ReadOperand], tuple[int, ...]] | None:
    """A marked kernel whose rows and columns to tile have dimensions around them, with
    what it reads; None if it is none."""
    kernel = statement.exp_of(SegMap)
    if kernel.level != GRID:
        return None
    rank = len(kernel.space.sizes)
    if rank < 3 or mark_of(statement, NEST) is None:
        return None
    if unfit_results(kernel) or unfit_body(kernel):
        return None
    iotas = nest.iotas_of(kernel, context.definitions.values())
    operands = nest.operands_of(kernel, nest.Variance(kernel), context.scope, iotas)
    dimensions = chosen_dimensions(rank, operands)
    if len(dimensions) != 2 or 0 in dimensions:
        return None
    return kernel, operands, dimensions


def unfit_results(kernel: SegMap) -> str:
    """Why the results cannot be tiles, or nothing."""
    if not all(isinstance(r, Returns) for r in kernel.body.result):
        return "a point does not return its own element"
    if any(isinstance(type_, ArrayType) for type_ in kernel.types):
        return "a point returns an array"
    return ""


def unfit_body(kernel: SegMap) -> str:
    """Why the body cannot be taken apart, or nothing."""
    apart: set[Name] = set()
    for statement in kernel.body.statements:
        exp = statement.exp
        if _is_apart(statement, apart):
            apart.add(statement.pattern[0].name)
        if isinstance(exp, Screma):
            reason = _unfit_redomap(statement, exp)
            if reason:
                return reason
        elif isinstance(exp, Reshape) and exp.array in apart:
            return "an array that is not contiguous is flattened"
        elif not is_cheap(statement):
            return f"beside the reductions there is a {type(exp).__name__.lower()}"
    return ""


def _is_apart(statement: Stm, apart: set[Name]) -> bool:
    """Whether it gives a view of several dimensions that is not contiguous."""
    match statement.exp:
        case Rearrange(permutation, _):
            return permutation != tuple(range(len(permutation)))
        case Index(array, entries) if len(shape_of(statement.pattern[0].type)) > 1:
            kept = [at for at, e in enumerate(entries) if isinstance(e, DimSlice)]
            return array in apart or (bool(kept) and kept[0] < len(entries) - 1)
    return False


def _unfit_redomap(statement: Stm, exp: Screma) -> str:
    if "sequential" in statement.attributes:
        return "the reduction is to be left alone"
    if exp.scans:
        return "a scan needs its elements in order"
    if any(isinstance(p.type, ArrayType) for p in statement.pattern):
        return "arrays are reduced or returned beside the reduction"
    types = [p.type for p in exp.function.parameters]
    if any(isinstance(type_, ArrayType) for type_ in types):
        return "the elements that are reduced come from whole rows"
    for inner in (exp.function, *[r.operator for r in exp.reduces]):
        if contains(inner, (Loop, *SOAC_EXPRESSIONS)):
            return "there is a loop in each step of the reduction"
    return ""


def chosen_dimensions(rank: int, operands: list[nest.ReadOperand]) -> tuple[int, ...]:
    """Rows and columns, or columns alone, or nothing."""
    sets = [operand.dimensions for operand in operands]
    pairs = [(r, c) for c in reversed(range(rank)) for r in reversed(range(c))]
    for rows, columns in pairs:
        apart = [s for s in sets if (rows in s) != (columns in s)]
        if any(rows in s for s in apart) and any(columns in s for s in apart):
            return rows, columns
    if any(rank - 1 not in s for s in sets):
        return (rank - 1,)
    for rows, columns in pairs:
        if any(columns in s and rows not in s for s in sets):
            return rows, columns
    return ()
