r"""Fuse two SOACs over the same width that read the same array into one pass.

    let a = redomap(n, xs, op, f)
    let b = map(n, xs, g)      →      let (a, b) = redomap(n, (xs, xs), op, ...)

Neither may need the other's result. What is joined stays narrow: results live in
registers while the array streams by, and pairwise joining of n statements into one
would take time quadratic in n.
"""

from __future__ import annotations

from minifut.ir.core import Body, Lambda, Stm
from minifut.ir.node import replace
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names
from minifut.passes.fusion.pair import PAPER, clash, in_order
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

MOST_RESULTS = 16
"""of a joined SOAC"""


@rule(paper=PAPER)
def fuse_neighbours(statement: Stm, context: StatementContext) -> Outcome:
    r"""Two passes over one array become one.

    before:
        given (n: i64, xs: [n]i32)
        let s: i32 = redomap(n, (xs), reduce(add_i32, (0i32)),
          \(e: i32) -> (i32) {e})
        let ys: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
        return s, ys
    after:
        let (s: i32, ys: [n]i32) = redomap(n, (xs, xs), reduce(add_i32, (0i32)),
          \(e: i32, x: i32) -> (i32, i32) {
            let y: i32 = mul_i32(x, x)
            return e, y
          })
    declines: needs a result of the first
        like before, with
        mul_i32(x, x) => sub_i32(x, s)
    """
    if not isinstance(statement.exp, Screma):
        return None
    refusal: Declined | None = None
    for first in dict.fromkeys(context.definitions.values()):
        if not isinstance(first.exp, Screma):
            continue
        refused = _refusal(first, first.exp, statement, statement.exp)
        if refused is None:
            return (_joined(first, first.exp, statement, statement.exp),)
        refusal = refusal or refused
    return refusal


def _refusal(first: Stm, a: Screma, second: Stm, b: Screma) -> Declined | None:
    if len(first.pattern) + len(second.pattern) > MOST_RESULTS:
        return Declined(f"together they have more than {MOST_RESULTS} results")
    if a.width != b.width:
        return Declined("the widths are not known to be equal")
    if not set(a.arrays) & set(b.arrays):
        return Declined("they read no common array")
    if free_names(b) & {bound.name for bound in first.pattern}:
        return Declined("the second needs a result of the first")
    return clash(a, b)


def _joined(first: Stm, a: Screma, second: Stm, b: Screma) -> Stm:
    f, g = a.function, b.function
    function = Lambda(
        f.parameters + g.parameters,
        Body(
            f.body.statements + g.body.statements,
            in_order(a, b, f.body.result, g.body.result),
        ),
        in_order(a, b, f.results, g.results),
    )
    exp = Screma(
        a.width, a.arrays + b.arrays, a.scans + b.scans, a.reduces + b.reduces, function
    )
    pattern = in_order(a, b, first.pattern, second.pattern)
    return replace(second, pattern=pattern, exp=exp)
