r"""A scan inside a map nest: one segmented scan.

    nest (i < n) { scanomap(m, xs, op, f) }
    →  segscan grid (i < n, j < m) {op} { f on xs[j] }

Conditions as for reductions.

Source: "Regular flattening", as Gr.
"""

from __future__ import annotations

from minifut.ir.kernels import SegBinOp, SegScan
from minifut.ir.soacs import Screma
from minifut.passes.flatten.context import Judgement, NestContext, returns
from minifut.passes.flatten.inner_reduce import (
    NOT_SCALAR,
    SEQUENTIAL,
    VARIES,
    is_scalar_operator,
    operator_varies,
)
from minifut.passes.flatten.judgement import SLIDES, Answer
from minifut.rewrite.rule import EMITTED, rule


@rule(label="Gr", paper=SLIDES)
def flatten_scan(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make a scanomap in a nest a segmented scan.

    before:
        given (n: i64, m: i64, xss: [n][m]i32)
        let sums: [n][m]i32 = segmap grid (i < n) -> ([m]i32) {
          let xs: [m]i32 = xss[i]
          let ys: [m]i32 = scanomap(m, (xs),
            scan(add_i32, (0i32)), \(x: i32) -> (i32) {x})
          return returns ys
        }
    after:
        let sums: [n][m]i32 = segscan grid (i < n, j < m)
          operator(add_i32, (0i32), []) -> (i32) {
          let xs: [m]i32 = xss[i]
          let x: i32 = xs[j]
          return returns x
        }
    declines: works on arrays
        like before of interchange_scan_with_map
    """
    nest, statement, pattern = judgement
    exp = statement.exp
    if not isinstance(exp, Screma) or not exp.is_scanomap:
        return None
    if "sequential" in statement.attributes:
        return SEQUENTIAL
    for scan in exp.scans:
        if not is_scalar_operator(scan.operator):
            return NOT_SCALAR
        if operator_varies(nest, scan.operator, scan.neutral):
            return VARIES
    index = context.fresh_index("j")
    whole, point = nest.over(index, exp.width, exp.arrays, exp.function)
    whole = whole.then(point.statements)
    operators = tuple(
        SegBinOp(context.operator(scan.operator), scan.neutral) for scan in exp.scans
    )
    body = returns(whole.statements, point.result)
    types = exp.function.results
    context.emit(pattern, SegScan(context.level, whole.space, operators, body, types))
    return EMITTED
