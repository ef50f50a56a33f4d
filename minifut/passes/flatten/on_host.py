r"""What stays on the host: statements that need no thread, and loops by attribute.

    • ⊢ e  →  e                                                  (G0)
    #[sequential_outer] map (\xs -> e) xss  →  loop for i < n do e, flattened

Source: "Regular flattening", rule G0; the attribute is Futhark's.
"""

from __future__ import annotations

from minifut.ir.builder import Builder
from minifut.ir.node import replace
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma
from minifut.passes.flatten.context import Judgement, NestContext
from minifut.passes.flatten.judgement import FUTHARK, SLIDES, Answer
from minifut.passes.sequentialise import loop_over_screma
from minifut.rewrite.rule import EMITTED, Declined, rule

IN_A_NEST = Declined("it is in a nest")
PARALLEL = Declined("it is parallel")


@rule(label="G0", paper=SLIDES)
def keep_on_host(judgement: Judgement, context: NestContext) -> Answer:
    r"""A statement without parallelism, outside of all maps, stays as it is.

    before:
        given (n: i64)
        let k: i64 = add_i64(n, 1i64)
    after:
        let k: i64 = add_i64(n, 1i64)
    declines: it is parallel
        given (n: i64, xs: [n]i32)
        let ys: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
    """
    nest, statement, pattern = judgement
    if nest.depth:
        return IN_A_NEST
    if isinstance(statement.exp, SOAC_EXPRESSIONS):
        return PARALLEL
    context.build.append(replace(statement, pattern=pattern))
    return EMITTED


@rule(Screma, paper=FUTHARK)
def loop_over_outer(judgement: Judgement, context: NestContext) -> Answer:
    r"""By the attribute `sequential_outer`, the host loops over a SOAC's elements.

    before:
        like before of choose_versions, with
        let sums => #[sequential_outer] let sums
    after:
        let start: [n]i32 = scratch(i32, [n])
        #[map] let sums: [n]i32 = loop (done: [n]i32 = start) for i: i64 < n do {
          let xs: [m]i32 = xss[i]
          let sum: i32 = redomap(m, (xs),
            reduce(add_i32, (0i32)), \(x: i32) -> (i32) {x})
          return done with [i] = sum
        }
    declines: it is in a nest
        like before of run_map_in_threads, with
        let ys: [m]i32 => #[sequential_outer] let ys: [m]i32
    """
    nest, statement, pattern = judgement
    exp = statement.exp_of(Screma)
    if "sequential_outer" not in statement.attributes:
        return None
    if nest.depth:
        return IN_A_NEST
    build = Builder(context.build.names, context.build.scope, statement.location)
    loop_over_screma(build, replace(statement, pattern=pattern), exp)
    context.build.extend(context.code(context, tuple(build.statements)))
    return EMITTED
