r"""What no other rule takes: the parallel dimensions found so far, and the rest
sequential inside each thread.

    nest (i < n) { map (\x -> <anything>) xs }
    →  segmap grid (i < n, j < m) { let x = xs[j]  <anything, sequential> }

A SOAC that is not a map runs whole inside the nest's threads, or, with no nest around
it, in one thread: `segmap grid (i < 1)`.
"""

from __future__ import annotations

from minifut.ir.accumulators import UpdateAcc
from minifut.ir.kernels import SegMap
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma
from minifut.passes.flatten.context import Judgement, NestContext, returns
from minifut.passes.flatten.inner_soac import SEQUENTIAL
from minifut.passes.flatten.judgement import SLIDES, Answer, leave
from minifut.rewrite.rule import EMITTED, Declined, rule


@rule(Screma, label="G1", paper=SLIDES)
def run_map_in_threads(judgement: Judgement, context: NestContext) -> Answer:
    r"""Each point of the nest and the map is a thread that runs the map's body.

    before:
        given (n: i64, m: i64, xss: [n][m]i32)
        let yss: [n][m]i32 = segmap grid (i < n) -> ([m]i32) {
          let xs: [m]i32 = xss[i]
          let ys: [m]i32 = map(m, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
          return returns ys
        }
    after:
        let yss: [n][m]i32 = segmap grid (i < n, j < m) -> (i32) {
          let xs: [m]i32 = xss[i]
          let x: i32 = xs[j]
          return returns mul_i32(x, x)
        }
    declines: `sequential` forbids it
        given (n: i64, xs: [n]i32)
        #[sequential] let ys: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Screma)
    if not exp.is_map:
        return None
    if "sequential" in statement.attributes:
        return SEQUENTIAL
    whole, point = nest.over(context.fresh_index("i"), exp)
    whole = whole.then(point.statements)
    body = returns(whole.statements, point.result)
    context.emit(
        pattern, SegMap(context.level, whole.space, body, exp.function.results)
    )
    return EMITTED


@rule(label="G1", paper=SLIDES)
def run_in_one_thread(judgement: Judgement, context: NestContext) -> Answer:
    r"""Each point of the nest is a thread that runs the whole statement.

    before:
        given (n: i64, xs: [n]i32)
        let ys: [n]i32 = segmap grid (i < n) -> (i32) {
          let x: i32 = xs[i]
          return returns loop (a: i32 = x) for k: i32 < 3i32 do {mul_i32(a, a)}
        }
    after:
        like before, with
        given (n: i64, xs: [n]i32) =>
    declines: needs no thread
        given (n: i64)
        let k: i64 = add_i64(n, 1i64)
    """
    nest, statement, _ = judgement
    if not nest.depth and not isinstance(statement.exp, (*SOAC_EXPRESSIONS, UpdateAcc)):
        return Declined("a statement of the host needs no thread")
    leave(judgement, context)
    return EMITTED
