r"""A histogram inside a map nest: one segmented histogram.

    nest (i < n) { hist(m, {dest, op}, f, is, vs) }
    →  seghist grid (i < n, j < m) {dests, op} { f on is[j], vs[j] }

Conditions: as for reductions, and the destinations are known for the whole nest
(`flatten.destinations`). An operator that is a map over rows, as in
`hist (map2 (+)) (replicate d 0) k is rows`, becomes one on scalars that combines
elementwise.
"""

from __future__ import annotations

from minifut.ir.kernels import GRID, SegHist, SegHistOp
from minifut.ir.node import replace
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, HistOp
from minifut.passes.flatten.context import Judgement, NestContext, returns
from minifut.passes.flatten.destinations import UNKNOWN_DESTINATION, with_segments
from minifut.passes.flatten.inner_fold import (
    NOT_SCALAR,
    SEQUENTIAL,
    VARIES,
    is_scalar_operator,
    operator_varies,
)
from minifut.passes.flatten.interchange_operator import elementwise_operator
from minifut.passes.flatten.judgement import SLIDES, Answer
from minifut.passes.flatten.nest import Nest
from minifut.rewrite.rule import EMITTED, Declined, rule

SHAPE_VARIES = Declined("the histogram's size differs between points")


@rule(Hist, label="Gr", paper=SLIDES)
def flatten_hist(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make a histogram in a nest a segmented one.

    before:
        given (n: i64, m: i64, k: i64, dss: [n][k]i32, bss: [n][m]i64)
        let hs: [n][k]i32 = segmap grid (i < n) -> ([k]i32) {
          let ds: [k]i32 = dss[i]
          let bs: [m]i64 = bss[i]
          let h: [k]i32 = hist(m, (bs),
            bins([k], (ds), (0i32), add_i32), \(bin: i64) -> (i64, i32) {bin, 1i32})
          return returns h
        }
    after:
        let hs: [n][k]i32 = seghist grid (i < n, j < m)
          bins([k], (dss), (0i32), add_i32, []) -> (i64, i32) {
          let ds: [k]i32 = dss[i]
          let bs: [m]i64 = bss[i]
          let bin: i64 = bs[j]
          return returns bin, returns 1i32
        }
    declines: computed at each point
        like before, with
        let ds: [k]i32 = dss[i]
        => let row: [k]i32 = dss[i]
        => let ds: [k]i32 = row with [0i64] = 1i32
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Hist)
    if "sequential" in statement.attributes:
        return SEQUENTIAL
    operators = []
    for op in exp.operators:
        op, vector = _scalar_operator(context, nest, op) or (op, ())
        if context.level != GRID and not is_scalar_operator(op.operator):
            return NOT_SCALAR
        if any(map(nest.size_varies, vector)):
            return SHAPE_VARIES
        if operator_varies(nest, op.operator, op.neutral):
            return VARIES
        if any(nest.size_varies(size) for size in op.shape):
            return SHAPE_VARIES
        found = [with_segments(context, nest, array) for array in op.destinations]
        known = tuple(array for array in found if array is not None)
        if len(known) != len(found):
            return UNKNOWN_DESTINATION
        operators.append(
            SegHistOp(
                op.shape, known, op.neutral, context.operator(op.operator), vector
            )
        )
    index = context.fresh_index("j")
    whole, point = nest.over(index, exp.width, exp.arrays, exp.function)
    whole = whole.then(point.statements)
    body = returns(whole.statements, point.result)
    types = exp.function.results
    context.emit(
        pattern, SegHist(context.level, whole.space, tuple(operators), body, types)
    )
    return EMITTED


def _scalar_operator(
    context: NestContext, nest: Nest, op: HistOp
) -> tuple[HistOp, tuple[Size, ...]] | None:
    """The operator on scalars and the dimensions along which it combines, if it is one,
    or a map of one whose neutral elements are the same all along."""
    operator = op.operator
    vector: tuple[Size, ...] = ()
    while not is_scalar_operator(operator):
        elementwise = elementwise_operator(operator)
        if elementwise is None:
            return None
        operator, width = elementwise
        vector = (*vector, width)
    if not vector:
        return op, ()
    neutral = [context.replicated(nest, atom) for atom in op.neutral]
    known = tuple(atom for atom in neutral if atom is not None)
    if len(known) != len(neutral):
        return None
    return replace(op, operator=operator, neutral=known), vector
