r"""Fuse a SOAC with the one that consumes what it maps.

    let ys = map(n, xs, f)
    let s  = redomap(n, ys, op, g)      →      let s = redomap(n, xs, op, \x -> g (f x))

One rule for each kind of consumer. Results of the producer that are needed elsewhere
become further mapped results of the fused SOAC, so that no work is done twice; scatters
and histograms have none, and take only maps without other uses. What a producer
reduces or scans is computed along. Checks stay in order: the producer's come first.
"""

from __future__ import annotations

from typing import Any

from minifut.ir.core import Atom, Body, Lambda, Stm
from minifut.ir.node import replace
from minifut.ir.soacs import Hist, Scatter, Screma, soac_of
from minifut.ir.traverse import free_names, substitute
from minifut.names import Name
from minifut.passes.fusion.pair import PAPER, clash, in_order, parts, producers
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, Rule, rule


@rule(paper=PAPER)
def fuse_map_into_map(statement: Stm, context: StatementContext) -> Outcome:
    r"""A map of a map is one map.

    before:
        given (n: i64, xs: [n]i32)
        let ys: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {add_i32(x, 1i32)})
        let zs: [n]i32 = map(n, (ys), \(y_1: i32) -> (i32) {mul_i32(y_1, y_1)})
        return zs
    after:
        let zs: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {
          let y: i32 = add_i32(x, 1i32)
          return mul_i32(y, y)
        })

    What is needed elsewhere is mapped as well.

    before:
        like before, with
        return zs => return zs, ys
    after:
        let (ys: [n]i32, zs: [n]i32) = map(n, (xs), \(x: i32) -> (i32, i32) {
          let y: i32 = add_i32(x, 1i32)
          let z: i32 = mul_i32(y, y)
          return y, z
        })
    declines: needs the array as a whole
        like before, with
        {mul_i32(y_1, y_1)} => {let y: i32 = ys[0i64] return mul_i32(y_1, y)}
    """
    return _fuse(statement, context) if _kind(statement.exp) == "map" else None


@rule(paper=PAPER)
def fuse_map_into_redomap(statement: Stm, context: StatementContext) -> Outcome:
    r"""A reduction of a map needs no array between them.

    before:
        like before of fuse_map_into_scanomap, with
        [n]i32 = scanomap(n => i32 = redomap(n
        scan(add_i32, => reduce(add_i32,
    after:
        let s: i32 = redomap(n, (xs), reduce(add_i32, (0i32)),
          \(x: i32) -> (i32) {mul_i32(x, x)})
    declines: the widths are not known to be equal
        like before of fuse_map_into_scanomap, with
        xs: => m: i64, xs:
        [n]i32 = scanomap(n => i32 = redomap(m
        scan(add_i32, => reduce(add_i32,
    """
    return _fuse(statement, context) if _kind(statement.exp) == "redomap" else None


@rule(paper=PAPER)
def fuse_map_into_scanomap(statement: Stm, context: StatementContext) -> Outcome:
    r"""A scan of a map needs no array between them.

    before:
        given (n: i64, xs: [n]i32)
        let ys: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
        let s: [n]i32 = scanomap(n, (ys), scan(add_i32, (0i32)),
          \(e: i32) -> (i32) {e})
        return s
    after:
        let s: [n]i32 = scanomap(n, (xs), scan(add_i32, (0i32)),
          \(x: i32) -> (i32) {mul_i32(x, x)})
    declines: a scan joins only with maps
        like before, with
        let ys: [n]i32 = map(n, (xs), \(x: i32) -> (i32) {mul_i32(x, x)})
        => let (t: i32, ys: [n]i32) = redomap(n, (xs), reduce(add_i32, (0i32)),
        =>   \(x: i32) -> (i32, i32) {x, x})
        return s => return s, t
    """
    return _fuse(statement, context) if _kind(statement.exp) == "scanomap" else None


@rule(paper=PAPER)
def fuse_map_into_scatter(statement: Stm, context: StatementContext) -> Outcome:
    r"""A scatter computes its indices and values itself.

    before:
        given (n: i64, m: i64, out: [m]i32, xs: [n]i32)
        let is: [n]i64 = map(n, (xs), \(x: i32) -> (i64) {convert_i32_i64(x)})
        let r: [m]i32 = scatter(n, (is), (out rank 1 count 1),
          \(i_1: i64) -> (i64, i32) {i_1, 1i32})
        return r
    after:
        let r: [m]i32 = scatter(n, (xs), (out rank 1 count 1),
          \(x: i32) -> (i64, i32) {
            let i: i64 = convert_i32_i64(x)
            return i, 1i32
          })
    declines: is needed elsewhere
        like before, with
        return r => return r, is
    """
    return _fuse(statement, context) if isinstance(statement.exp, Scatter) else None


@rule(paper=PAPER)
def fuse_map_into_hist(statement: Stm, context: StatementContext) -> Outcome:
    r"""A histogram computes its bins and values itself.

    before:
        given (n: i64, m: i64, out: [m]i32, xs: [n]i32)
        let is: [n]i64 = map(n, (xs), \(x: i32) -> (i64) {convert_i32_i64(x)})
        let r: [m]i32 = hist(n, (is), bins([m], (out), (0i32), add_i32),
          \(i_1: i64) -> (i64, i32) {i_1, 1i32})
        return r
    after:
        let r: [m]i32 = hist(n, (xs), bins([m], (out), (0i32), add_i32),
          \(x: i32) -> (i64, i32) {
            let i: i64 = convert_i32_i64(x)
            return i, 1i32
          })
    declines: the producer folds too
        like before, with
        let is: [n]i64 = map(n, (xs), \(x: i32) -> (i64) {convert_i32_i64(x)})
        => let (s: i32, is: [n]i64) = redomap(n, (xs), reduce(add_i32, (0i32)),
        =>   \(x: i32) -> (i32, i64) {x, convert_i32_i64(x)})
        return r => return r, s
    """
    return _fuse(statement, context) if isinstance(statement.exp, Hist) else None


VERTICAL: dict[str, Rule] = {
    "map": fuse_map_into_map,
    "redomap": fuse_map_into_redomap,
    "scanomap": fuse_map_into_scanomap,
    "scatter": fuse_map_into_scatter,
    "hist": fuse_map_into_hist,
}


def rule_for(consumer: Stm) -> Rule:
    """The rule for consumers of this kind."""
    return VERTICAL[_kind(consumer.exp)]


def _kind(exp: Any) -> str:
    match exp:
        case Screma():
            return "scanomap" if exp.scans else "redomap" if exp.reduces else "map"
        case Scatter():
            return "scatter"
        case Hist():
            return "hist"
        case _:
            return ""


def _fuse(consumer: Stm, context: StatementContext) -> Outcome:
    """Fuse with the first producer with which it is possible."""
    declined: Declined | None = None
    for producer in producers(consumer, context):
        fused = fuse_pair(producer, consumer, context.needed)
        if isinstance(fused, Stm):
            return (fused,)
        declined = declined or fused
    return declined


def fuse_pair(producer: Stm, consumer: Stm, needed: frozenset[Name]) -> Stm | Declined:
    """The fused statement, or why not. `needed` are names that others use as well."""
    first: Any = producer.exp
    second: Any = consumer.exp
    if first.width != second.width:
        return Declined("the widths are not known to be equal")
    folded = {p.name for group in parts(first, producer.pattern)[:2] for p in group}
    made = {p.name for p in producer.pattern}
    if made & free_names(replace(second, arrays=())):
        return Declined("the consumer needs the array as a whole")
    if folded & set(second.arrays):
        return Declined("the consumer needs the result of the scan")
    if isinstance(second, Screma):
        clashing = clash(first, second)
        if clashing is not None:
            return clashing
    elif folded:
        return Declined("the producer folds too, and this consumer cannot")
    elif made & needed:
        return Declined("the array is needed elsewhere, and this consumer maps nothing")
    return _fused(producer, consumer, needed)


def _fused(producer: Stm, consumer: Stm, needed: frozenset[Name]) -> Stm:
    first = soac_of(producer)
    second: Any = consumer.exp
    assert isinstance(first, Screma)
    made = {p.name for p in producer.pattern}
    body, parameters = _composed(first.function, producer, second)
    folded = len(producer.pattern) - len(parts(first, producer.pattern)[2])
    kept = [n for n, p in enumerate(producer.pattern) if n < folded or p.name in needed]
    own = first.function
    of_first = [
        tuple(values[n] for n in kept)
        for values in (producer.pattern, own.body.result, own.results)
    ]
    of_second = (consumer.pattern, body.result, second.function.results)
    if isinstance(second, Screma):
        pattern, result, types = (
            in_order(first, second, a, b)
            for a, b in zip(of_first, of_second, strict=True)
        )
        folds = {"scans": first.scans + second.scans,
                 "reduces": first.reduces + second.reduces}  # fmt: skip
    else:
        pattern, result, types = of_second
        folds = {}
    others = tuple(array for array in second.arrays if array not in made)
    statements = own.body.statements + body.statements
    function = Lambda(parameters, Body(statements, result), types)
    exp = replace(second, arrays=first.arrays + others, function=function, **folds)
    attributes = consumer.attributes or producer.attributes
    return replace(consumer, pattern=pattern, exp=exp, attributes=attributes)


def _composed(
    first: Lambda, producer: Stm, second: Any
) -> tuple[Body, tuple[Any, ...]]:
    """The consumer's body on the producer's results, and all parameters."""
    made = dict(zip((p.name for p in producer.pattern), first.body.result, strict=True))
    fed: dict[Name, Atom] = {}
    parameters = list(first.parameters)
    pairs = zip(second.function.parameters, second.arrays, strict=True)
    for parameter, array in pairs:
        if array in made:
            fed[parameter.name] = made[array]
        else:
            parameters.append(parameter)
    return substitute(second.function.body, fed), tuple(parameters)
