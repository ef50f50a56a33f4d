r"""A SOAC inside a map nest: one segmented operation.

    nest (i < n) { redomap(m, xs, op, f) }
    →  segred grid (i < n, j < m) {op} { f on xs[j] }
    nest (i < n) { scanomap(m, xs, op, f) }
    →  segscan grid (i < n, j < m) {op} { f on xs[j] }
    nest (i < n) { hist(m, {dest, op}, f, is, vs) }
    →  seghist grid (i < n, j < m) {dests, op} { f on is[j], vs[j] }
    nest (i < n) { scatter(m, dest, is, vs) }
    →  segmap grid (i < n, j < m) { ... write dests at [i, is[j]] vs[j] }

Conditions: operators and neutral elements are the same for all points of the nest, and
destinations are known for the whole nest (`flatten.destinations`); in a group the
operators work on scalars. On the grid, one on arrays combines the rows of a chunk in a
thread; that of a histogram becomes one on scalars that combines elementwise, if it is a
map over rows, as in `hist (map2 (+)) (replicate d 0) k is rows`.
"""

from __future__ import annotations

from typing import Any

from minifut.ir import kernels
from minifut.ir.core import Atom, Lambda
from minifut.ir.node import replace
from minifut.ir.scope import array_type
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, HistOp, Scatter, Screma
from minifut.names import Name
from minifut.passes.flatten.context import Judgement, NestContext, returns
from minifut.passes.flatten.destinations import UNKNOWN_DESTINATION, with_segments
from minifut.passes.flatten.interchange_operator import (
    elementwise_operator,
    is_scalar_operator,
)
from minifut.passes.flatten.judgement import FUTHARK, SLIDES, Answer
from minifut.passes.flatten.nest import Nest
from minifut.rewrite.rule import EMITTED, Declined, rule


def operator_varies(nest: Nest, operator: Lambda, neutral: tuple[Atom, ...]) -> bool:
    """Whether operator or neutral element differ between points of the nest."""
    return nest.varies(operator) or not nest.bound.isdisjoint(
        atom for atom in neutral if isinstance(atom, Name)
    )


NOT_SCALAR = Declined("the operator works on arrays")
VARIES = Declined("the operator or its neutral element differs between points")
SEQUENTIAL = Declined("the attribute `sequential` forbids it")
SHAPE_VARIES = Declined("the histogram's size differs between points")


@rule(label="Gr", paper=SLIDES)
def flatten_reduce(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make a redomap in a nest a segmented reduction.

    before:
        given (n: i64, m: i64, xss: [n][m]i32)
        let sums: [n]i32 = segmap grid (i < n) -> (i32) {
          let xs: [m]i32 = xss[i]
          return returns redomap(m, (xs), reduce(add_i32, (0i32)),
            \(x: i32) -> (i32) {mul_i32(x, x)})
        }
    after:
        let sums: [n]i32 = segred grid (i < n, j < m)
          operator(add_i32, (0i32), []) -> (i32) {
          let xs: [m]i32 = xss[i]
          let x: i32 = xs[j]
          return returns mul_i32(x, x)
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
    return _flatten_fold(judgement, context, exp, kernels.SegRed, operators)


@rule(label="Gr", paper=SLIDES)
def flatten_scan(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make a scanomap in a nest a segmented scan.

    before:
        given (n: i64, m: i64, xss: [n][m]i32)
        let sums: [n][m]i32 = segmap grid (i < n) -> ([m]i32) {
          let xs: [m]i32 = xss[i]
          return returns scanomap(m, (xs),
            scan(add_i32, (0i32)), \(x: i32) -> (i32) {x})
        }
    after:
        let sums: [n][m]i32 = segscan grid (i < n, j < m)
          operator(add_i32, (0i32), []) -> (i32) {
          let xs: [m]i32 = xss[i]
          return returns xs[j]
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
    return _flatten_fold(judgement, context, exp, kernels.SegScan, operators)


def _flatten_fold(
    judgement: Judgement,
    context: NestContext,
    exp: Screma,
    segmented: type[kernels.SegRed | kernels.SegScan],
    operators: tuple[tuple[Lambda, tuple[Atom, ...], bool], ...],
) -> Answer:
    """The segmented operation with these operators, neutral elements, and whether they
    commute."""
    nest, statement, _ = judgement
    if "sequential" in statement.attributes:
        return SEQUENTIAL
    for operator, neutral, _ in operators:
        if context.level != kernels.GRID and not is_scalar_operator(operator):
            return NOT_SCALAR
        if operator_varies(nest, operator, neutral):
            return VARIES
    combined = tuple(
        kernels.SegBinOp(context.operator(operator), neutral, (), commutes)
        for operator, neutral, commutes in operators
    )
    return _emit_segmented(judgement, context, exp, segmented, combined)


def _emit_segmented(
    judgement: Judgement,
    context: NestContext,
    exp: Screma | Hist,
    segmented: type[Any],
    operators: tuple[kernels.SegBinOp | kernels.SegHistOp, ...],
) -> Answer:
    whole, point = judgement.nest.over(context.fresh_index("j"), exp)
    body = returns(whole.then(point.statements).statements, point.result)
    types = exp.function.results
    made = segmented(context.level, whole.space, operators, body, types)
    context.emit(judgement.pattern, made)
    return EMITTED


@rule(Hist, label="Gr", paper=SLIDES)
def flatten_hist(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make a histogram in a nest a segmented one.

    before:
        given (n: i64, m: i64, k: i64, dss: [n][k]i32, bss: [n][m]i64)
        let hs: [n][k]i32 = segmap grid (i < n) -> ([k]i32) {
          let ds: [k]i32 = dss[i]
          let bs: [m]i64 = bss[i]
          return returns hist(m, (bs),
            bins([k], (ds), (0i32), add_i32), \(bin: i64) -> (i64, i32) {bin, 1i32})
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
    nest, statement, _ = judgement
    exp = statement.exp_of(Hist)
    if "sequential" in statement.attributes:
        return SEQUENTIAL
    operators = []
    for op in exp.operators:
        op, vector = _scalar_operator(context, nest, op) or (op, ())
        if context.level != kernels.GRID and not is_scalar_operator(op.operator):
            return NOT_SCALAR
        if any(map(nest.size_varies, (*vector, *op.shape))):
            return SHAPE_VARIES
        if operator_varies(nest, op.operator, op.neutral):
            return VARIES
        found = [with_segments(context, nest, array) for array in op.destinations]
        known = tuple(array for array in found if array is not None)
        if len(known) != len(found):
            return UNKNOWN_DESTINATION
        combine = context.operator(op.operator)
        operators.append(
            kernels.SegHistOp(op.shape, known, op.neutral, combine, vector)
        )
    return _emit_segmented(judgement, context, exp, kernels.SegHist, tuple(operators))


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


@rule(Scatter, paper=FUTHARK)
def flatten_scatter(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make a scatter in a nest a segmented map that writes.

    before:
        given (n: i64, m: i64, k: i64, ds: [k]i32, vss: [n][m]i32)
        let rs: [n][k]i32 = segmap grid (i < n) -> ([k]i32) {
          let vs: [m]i32 = vss[i]
          let is: [m]i64 = iota i64 (m, 0i64, 1i64)
          return returns scatter(m, (is, vs), (ds rank 1 count 1),
            \(at: i64, v: i32) -> (i64, i32) {at, v})
        }
    after:
        let whole: [n][k]i32 = replicate([n], ds)
        let rs: [n][k]i32 = segmap grid (i < n, j < m) -> (i32) {
          let vs: [m]i32 = vss[i]
          let is: [m]i64 = iota i64 (m, 0i64, 1i64)
          let at: i64 = is[j]
          let v: i32 = vs[j]
          return writes whole [n][k] with ((i, at) = v)
        }
    declines: computed at each point
        given (n: i64, m: i64, k: i64, dss: [n][k]i32, vs: [m]i32)
        let rs: [n][k]i32 = segmap grid (i < n) -> ([k]i32) {
          let row: [k]i32 = dss[i]
          let ds: [k]i32 = row with [0i64] = 1i32
          return returns scatter(m, (vs), (ds rank 1 count 1),
            \(v: i32) -> (i64, i32) {0i64, v})
        }
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Scatter)
    if "sequential" in statement.attributes:
        return SEQUENTIAL
    arrays = []
    for destination in exp.destinations:
        array = with_segments(context, nest, destination.array)
        if array is None:
            return UNKNOWN_DESTINATION
        arrays.append(array)
    whole, point = nest.over(context.fresh_index("j"), exp)
    whole = whole.then(point.statements)
    results = []
    for array, own in zip(arrays, exp.writes(point.result), strict=True):
        writes = tuple(((*nest.indices, *inner), value) for inner, value in own)
        shape = array_type(array, context.build.scope).shape
        results.append(kernels.WriteReturns(array, shape, writes))
    types = [own[0][1] for own in exp.writes(exp.function.results)]
    body = kernels.KernelBody(whole.statements, tuple(results))
    context.emit(
        pattern, kernels.SegMap(context.level, whole.space, body, tuple(types))
    )
    return EMITTED
