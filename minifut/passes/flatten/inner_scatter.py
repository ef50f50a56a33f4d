r"""A scatter inside a map nest: one segmented map whose points write.

    nest (i < n) { scatter(m, dest, is, vs) }
    →  segmap grid (i < n, j < m) { ... write dests at [i, is[j]] vs[j] }

Condition: the destinations are known for the whole nest (`flatten.destinations`).
"""

from __future__ import annotations

from minifut.ir.kernels import KernelBody, SegMap, WriteReturns
from minifut.ir.scope import array_type
from minifut.ir.soacs import Scatter
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.destinations import UNKNOWN_DESTINATION, with_segments
from minifut.passes.flatten.inner_fold import SEQUENTIAL
from minifut.passes.flatten.judgement import FUTHARK, Answer
from minifut.rewrite.rule import EMITTED, rule


@rule(Scatter, paper=FUTHARK)
def flatten_scatter(judgement: Judgement, context: NestContext) -> Answer:
    r"""Make a scatter in a nest a segmented map that writes.

    before:
        given (n: i64, m: i64, k: i64, ds: [k]i32, vss: [n][m]i32)
        let rs: [n][k]i32 = segmap grid (i < n) -> ([k]i32) {
          let vs: [m]i32 = vss[i]
          let is: [m]i64 = iota i64 (m, 0i64, 1i64)
          let r: [k]i32 = scatter(m, (is, vs), (ds rank 1 count 1),
            \(at: i64, v: i32) -> (i64, i32) {at, v})
          return returns r
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
          let r: [k]i32 = scatter(m, (vs), (ds rank 1 count 1),
            \(v: i32) -> (i64, i32) {0i64, v})
          return returns r
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
    index = context.fresh_index("j")
    whole, point = nest.over(index, exp.width, exp.arrays, exp.function)
    whole = whole.then(point.statements)
    results = []
    for array, own in zip(arrays, exp.writes(point.result), strict=True):
        writes = tuple(((*nest.indices, *inner), value) for inner, value in own)
        shape = array_type(array, context.build.scope).shape
        results.append(WriteReturns(array, shape, writes))
    types = [own[0][1] for own in exp.writes(exp.function.results)]
    body = KernelBody(whole.statements, tuple(results))
    context.emit(pattern, SegMap(context.level, whole.space, body, tuple(types)))
    return EMITTED
