r"""Fuse two SOACs over the same width that read the same array into one pass.

    let a = redomap(n, xs, op, f)
    let b = map(n, xs, g)      →      let (a, b) = redomap(n, (xs, xs), op, ...)

Neither may need the other's result. Histograms join likewise: sums and counts of groups
read the keys once; and scatters of several arrays to the same places, where neither
reads what the other one writes to. What is joined stays narrow: results are registers
while the array streams by, and pairwise joining of n statements into one would take
time quadratic in n.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

from minifut.ir.core import Body, Lambda, Stm
from minifut.ir.node import replace
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import free_names
from minifut.names import Name
from minifut.passes.fusion.pair import PAPER, clash, in_order
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

NEIGHBOURS = Screma | Hist | Scatter
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
    before:
        given (n: i64, ks: [n]i64, xs: [n]f32, s: [9]f32, c: [9]i64)
        let sums: [9]f32 = hist(n, (ks, xs), bins([9], (s), (0.0f32), add_f32),
          \(k: i64, x: f32) -> (i64, f32) {k, x})
        let counts: [9]i64 = hist(n, (ks), bins([9], (c), (0i64), add_i64),
          \(at: i64) -> (i64, i64) {at, 1i64})
        return sums, counts
    after:
        let (sums: [9]f32, counts: [9]i64) = hist(n, (ks, xs, ks),
          bins([9], (s), (0.0f32), add_f32), bins([9], (c), (0i64), add_i64),
          \(k: i64, x: f32, at: i64) -> (i64, i64, f32, i64) {k, at, x, 1i64})
    before:
        given (n: i64, is: [n]i64, xs: [n]f32, ys: [n]i32, a: [9]f32, b: [9]i32)
        let keys: [9]f32 = scatter(n, (is, xs), (a rank 1 count 1),
          \(i: i64, x: f32) -> (i64, f32) {i, x})
        let rest: [9]i32 = scatter(n, (is, ys), (b rank 1 count 1),
          \(j: i64, y: i32) -> (i64, i32) {j, y})
        return keys, rest
    after:
        let (keys: [9]f32, rest: [9]i32) = scatter(n, (is, xs, is, ys),
          (a rank 1 count 1, b rank 1 count 1),
          \(i: i64, x: f32, j: i64, y: i32) -> (i64, i64, f32, i32) {i, j, x, y})
    declines: they scatter to different places
        like before, with
        {j, y} => {0i64, y}
    """
    declined: Declined | None = None
    for first in dict.fromkeys(context.definitions.values()):
        refused = _refusal(first, statement)
        joined = None if refused else _joined(first, statement)
        if joined is not None:
            return (joined,)
        declined = declined or refused
    return declined


def _refusal(first: Stm, second: Stm) -> Declined | None:
    a, b = first.exp, second.exp
    if not isinstance(a, NEIGHBOURS) or not isinstance(b, NEIGHBOURS):
        return None
    if len(first.pattern) + len(second.pattern) > MOST_RESULTS:
        return Declined(f"together they have more than {MOST_RESULTS} results")
    if a.width != b.width:
        return Declined("the widths are not known to be equal")
    if not set(a.arrays) & set(b.arrays):
        return Declined("they read no common array")
    if free_names(b) & {bound.name for bound in first.pattern}:
        return Declined("the second needs a result of the first")
    if isinstance(a, Scatter) and isinstance(b, Scatter):
        return _apart(a, b)
    return clash(a, b) if isinstance(a, Screma) and isinstance(b, Screma) else None


def _apart(a: Scatter, b: Scatter) -> Declined | None:
    """Why two scatters have to be done one after the other, or are better so."""
    written = [{d.array for d in each.destinations} for each in (a, b)]
    if not written[0].isdisjoint(free_names(b)) or written[1] & free_names(a):
        return Declined("one reads or writes what the other one writes to")
    places = _places(a) | _places(b)
    if len(places) > 1 or None in chain(*places):
        return Declined("they scatter to different places")
    return None


def _places(scatter: Scatter) -> set[tuple[Name | None, ...]]:
    """The arrays whose elements are the indices of a write; None for what is
    computed."""
    function, arrays = scatter.function, scatter.arrays
    read = {p.name: x for p, x in zip(function.parameters, arrays, strict=True)}
    return {
        tuple(read.get(i) if isinstance(i, Name) else None for i in indices)
        for own in scatter.writes(function.body.result)
        for indices, _ in own
    }


def _joined(first: Stm, second: Stm) -> Stm | None:
    match first.exp, second.exp:
        case Screma(_, xs, scans, reduces) as a, Screma(_, ys, more, others) as b:
            order = partial(in_order, a, b)
            pattern = order(first.pattern, second.pattern)
            function = _both(a.function, b.function, order)
            exp = Screma(a.width, xs + ys, scans + more, reduces + others, function)
            return replace(second, pattern=pattern, exp=exp)
        case Hist(width, xs, ops, f), Hist(_, ys, others, g):
            m, n = (sum(len(op.shape) for op in each) for each in (ops, others))
            function = _both(f, g, lambda r, s: r[:m] + s[:n] + r[m:] + s[n:])
            hist = Hist(width, xs + ys, ops + others, function)
            return replace(second, pattern=first.pattern + second.pattern, exp=hist)
        case Scatter(width, xs, into, f) as a, Scatter(_, ys, others, g) as b:
            m, n = a.index_count, b.index_count
            function = _both(f, g, lambda r, s: r[:m] + s[:n] + r[m:] + s[n:])
            joined = Scatter(width, xs + ys, into + others, function)
            return replace(second, pattern=first.pattern + second.pattern, exp=joined)
    return None


def _both(
    f: Lambda, g: Lambda, order: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]
) -> Lambda:
    """Both functions, with their results in an order."""
    statements = f.body.statements + g.body.statements
    body = Body(statements, order(f.body.result, g.body.result))
    return Lambda(f.parameters + g.parameters, body, order(f.results, g.results))
