r"""A reduction or scan inside a map nest: one segmented reduction or scan.

    nest (i < n) { redomap(m, xs, op, f) }
    →  segred grid (i < n, j < m) {op} { f on xs[j] }
    nest (i < n) { scanomap(m, xs, op, f) }
    →  segscan grid (i < n, j < m) {op} { f on xs[j] }

Conditions: operators and neutral elements are the same for all points of the nest; in a
group the operators work on scalars. On the grid, one on arrays combines the rows of a
chunk in a thread.
"""

from __future__ import annotations

from minifut.ir.core import Atom, Lambda
from minifut.ir.kernels import GRID, SegBinOp, SegRed, SegScan
from minifut.ir.soacs import Screma
from minifut.ir.types import ArrayType
from minifut.names import Name
from minifut.passes.flatten.context import Judgement, NestContext, returns
from minifut.passes.flatten.judgement import SLIDES, Answer
from minifut.passes.flatten.nest import Nest
from minifut.rewrite.rule import EMITTED, Declined, rule


def is_scalar_operator(operator: Lambda) -> bool:
    """Whether all operands are scalars."""
    return not any(isinstance(t, ArrayType) for t in operator.results)


def operator_varies(nest: Nest, operator: Lambda, neutral: tuple[Atom, ...]) -> bool:
    """Whether operator or neutral element differ between points of the nest."""
    return nest.varies(operator) or not nest.bound.isdisjoint(
        atom for atom in neutral if isinstance(atom, Name)
    )


NOT_SCALAR = Declined("the operator works on arrays")
VARIES = Declined("the operator or its neutral element differs between points")
SEQUENTIAL = Declined("the attribute `sequential` forbids it")


@rule(label="Gr", paper=SLIDES)
def flatten_reduce(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make a redomap in a nest a segmented reduction.

    before:
        given (n: i64, m: i64, xss: [n][m]i32)
        let sums: [n]i32 = segmap grid (i < n) -> (i32) {
          let xs: [m]i32 = xss[i]
          let sum: i32 = redomap(m, (xs), reduce(add_i32, (0i32)),
            \(x: i32) -> (i32) {mul_i32(x, x)})
          return returns sum
        }
    after:
        let sums: [n]i32 = segred grid (i < n, j < m)
          operator(add_i32, (0i32), []) -> (i32) {
          let xs: [m]i32 = xss[i]
          let x: i32 = xs[j]
          let y: i32 = mul_i32(x, x)
          return returns y
        }
    declines: differs between points
        like before, with
        [n][m]i32) => [n][m]i32, ks: [n]i32)
        let xs => let k: i32 = ks[i] let xs
        (0i32) => (k)
    """
    exp = judgement.statement.exp
    if not isinstance(exp, Screma) or not exp.is_redomap:
        return None
    operators = tuple((r.operator, r.neutral, r.commutative) for r in exp.reduces)
    return _flatten_fold(judgement, context, exp, SegRed, operators)


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
    declines: differs between points
        like before, with
        [n][m]i32) => [n][m]i32, ks: [n]i32)
        let xs => let k: i32 = ks[i] let xs
        (0i32) => (k)
    """
    exp = judgement.statement.exp
    if not isinstance(exp, Screma) or not exp.is_scanomap:
        return None
    operators = tuple((s.operator, s.neutral, False) for s in exp.scans)
    return _flatten_fold(judgement, context, exp, SegScan, operators)


def _flatten_fold(
    judgement: Judgement,
    context: NestContext,
    exp: Screma,
    segmented: type[SegRed | SegScan],
    operators: tuple[tuple[Lambda, tuple[Atom, ...], bool], ...],
) -> Answer:
    """The segmented operation with these operators, neutral elements, and whether they
    commute."""
    nest, statement, pattern = judgement
    if "sequential" in statement.attributes:
        return SEQUENTIAL
    for operator, neutral, _ in operators:
        if context.level != GRID and not is_scalar_operator(operator):
            return NOT_SCALAR
        if operator_varies(nest, operator, neutral):
            return VARIES
    index = context.fresh_index("j")
    whole, point = nest.over(index, exp.width, exp.arrays, exp.function)
    body = returns(whole.then(point.statements).statements, point.result)
    combined = tuple(
        SegBinOp(context.operator(operator), neutral, (), commutes)
        for operator, neutral, commutes in operators
    )
    types = exp.function.results
    context.emit(pattern, segmented(context.level, whole.space, combined, body, types))
    return EMITTED
