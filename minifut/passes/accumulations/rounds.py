r"""Sums over the rounds of a return sweep: one fold behind its loop.

    loop (w = 0) for j < n do (a = ..;  w + map (\p -> map (\q -> Σ_i a[i,p] b[j,i,q])))
  →
    loop (as = scratch) for j < n do (a = ..;  as with [j] = a)
    map (\p -> map (\q -> Σ_ji as[j,i,p] b[j,i,q]))

What a loop mentions gets a contribution to its adjoint in each round, often a product
of what the round computes and of what is on a tape. The values of all rounds are put on
a tape of their own, so that one product with more terms takes the place of many
products and sums. The order of the terms differs, which only sums that differentiation
makes permit: `RETURN_SWEEP` marks their loops.

Conditions: nothing else in the loop needs the sum. What is added is a map over
positions of scalars, or of their sums over one more dimension, the first of what they
read. One of the arrays that are read has a row for each round outside of the loop, such
as a tape, so that a second tape is in proportion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from minifut.ir import core, derivatives, sizes, soacs, traverse
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Constant, Exp, Lambda, Param, Stm
from minifut.ir.node import replace
from minifut.ir.types import I64, array_of, element_of, shape_of
from minifut.names import Name
from minifut.passes.accumulations.round_terms import (
    RoundTerm,
    products_and_sums,
    terms_of,
)
from minifut.passes.differentiate.arithmetic import adding, plus
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(core.Loop)
def sum_after_loop(statement: Stm, context: StatementContext) -> Outcome:
    r"""Sum what all rounds contribute behind the loop.

    before:
        given (n: i64, m: i64, xs: [n][m]f64, s: f64)
        let zeros: [m]f64 = replicate([m], 0.0f64)
        let js: [m]i64 = iota i64 (m, 0i64, 1i64)
        #[return_sweep] let (t: f64, w: [m]f64) = loop (a: f64 = s, u: [m]f64 = zeros)
            for j: i64 < n do {
          let b: f64 = sin_f64(a)
          let bs: [1]f64 = [b]: f64
          let x: [m]f64 = map(m, (js), \(i: i64) -> (f64) {
            let o: f64 = bs[0i64]
            let p: f64 = xs[j, i]
            return mul_f64(o, p)
          })
          let v: [m]f64 = map(m, (u, x), add_f64)
          return b, v
        }
        return t, w
    after:
        let rows: [n][1]f64 = scratch(f64, [n][1])
        #[return_sweep] let (t: f64, bs_2: [n][1]f64) =
            loop (a: f64 = s, bs_1: [n][1]f64 = rows) for j: i64 < n do {
          let b: f64 = sin_f64(a)
          let bs: [1]f64 = [b]: f64
          let bs_3: [n][1]f64 = bs_1 with [j] = bs
          return b, bs_3
        }
        let rounds: [n]i64 = iota i64 (n, 0i64, 1i64)
        let is: [m]i64 = iota i64 (m, 0i64, 1i64)
        let w: [m]f64 = map(m, (is), \(i: i64) -> (f64) {
          return redomap(n, (rounds), reduce commutative(add_f64, (0.0f64)),
            \(k: i64) -> (f64) {
              let o: f64 = bs_2[k, 0i64]
              let p: f64 = xs[k, i]
              return mul_f64(o, p)
            })
        })
        return t, w
    declines: no product of a round and a tape is only summed
        like before, with
        return b, v => let c: f64 = v[0i64] return c, v
    """
    exp = statement.exp_of(core.Loop)
    if derivatives.RETURN_SWEEP not in statement.attributes or not isinstance(
        exp.form, core.ForLoop
    ):
        return None
    terms = products_and_sums(terms_of(exp, exp.form, context))
    if not terms:
        return Declined("no product of a round and a tape is only summed")
    return _after(statement, exp, exp.form, terms, context)


def _after(
    statement: Stm,
    exp: core.Loop,
    form: core.ForLoop,
    terms: list[RoundTerm],
    context: StatementContext,
) -> tuple[Stm, ...]:
    build = context.builder(statement)
    build.attributes = ()
    count = traverse.atom_size(form.bound)
    arrays = sorted(frozenset().union(*(term.made for term in terms)), key=str)
    types = [array_of(context.scope[name], (count,)) for name in arrays]
    tapes = build.parameters(types, "tape")
    scratch = [
        build.let(core.Scratch(element_of(t), shape_of(t)), "scratch") for t in types
    ]
    summed = {term.number: term for term in terms}
    kept = [n for n in range(len(exp.parameters)) if n not in summed]
    (at,) = frozenset().union(*(term.at for term in terms))
    body = _with_tapes(
        build, exp, terms, dict(zip(arrays, tapes, strict=True)), at, kept
    )
    made = build.parameters(types, "tape")
    parameters = (*(exp.parameters[n] for n in kept), *tapes)
    initial = (*(exp.initial[n] for n in kept), *scratch)
    pattern = (*(statement.pattern[n] for n in kept), *made)
    loop = replace(exp, parameters=parameters, initial=initial, body=body)
    build.append(replace(statement, pattern=pattern, exp=loop))
    build.scope.update({p.name: p.type for p in made})
    of_rounds = {a: p.name for a, p in zip(arrays, made, strict=True)}
    for number, term in summed.items():
        result, start = statement.pattern[number], exp.initial[number]
        total = _total(build, term, count, of_rounds)
        if _is_zero(context.definition(start)):
            build.bind((result,), total)
        else:
            whole = plus(build, start, build.let(total, "total"))
            build.bind((result,), core.Copy(whole))
    return tuple(build.statements)


def _is_zero(exp: Exp | None) -> bool:
    match exp:
        case core.Replicate(_, Constant(0)):
            return True
    return False


def _with_tapes(
    build: Builder,
    exp: core.Loop,
    terms: list[RoundTerm],
    tapes: Mapping[Name, Param],
    at: Atom,
    kept: list[int],
) -> Body:
    """The body of the loop without the sums, which keeps what they read as soon as it
    is there."""
    dropped = frozenset().union(*(term.dropped for term in terms))
    bound = {p.name for s in exp.body.statements for p in s.pattern}
    inner = build.nested()
    waiting = dict(tapes)
    filled: dict[Name, Name] = {}
    known = {p.name for p in exp.parameters}

    def keep() -> None:
        for name in [n for n in waiting if n in known]:
            if at in known or at not in bound:
                filled[name] = inner.update(waiting.pop(name).name, (at,), name)

    keep()
    for each in exp.body.statements:
        if dropped & {p.name for p in each.pattern}:
            continue
        inner.append(each)
        known |= {p.name for p in each.pattern}
        keep()
    result = [exp.body.result[n] for n in kept]
    return inner.finish(*result, *(filled[name] for name in tapes))


def _total(
    build: Builder, term: RoundTerm, count: sizes.Size, of_rounds: Mapping[Name, Name]
) -> soacs.Screma:
    """The sums over all rounds, for all positions."""
    width = count if term.fold is None else count * term.fold[0]
    flat = {}
    for name in (*term.made, *term.kept):
        whole = of_rounds.get(name, name)
        shape = build.shape(whole)
        if term.fold is not None:
            whole = build.reshape(whole, (width, *shape[2:]))
        flat[name] = whole
    rounds = build.iota(width)
    counters = [build.iota(w) for w in term.widths]
    place = build.parameters([I64], "k")[0]
    statements = tuple(_reads(term, flat, place.name))
    type_ = build.scope[term.statements[-1].pattern[0].name]
    reduce = adding(build, type_)
    body = Body(statements, (term.value,))
    exp: soacs.Screma = soacs.redomap(
        width, (rounds,), (reduce,), Lambda((place,), body, (type_,))
    )
    pairs = list(zip(term.positions, counters, term.widths, strict=True))
    for position, counter, size in reversed(pairs):
        result = build.parameters([type_], "total")
        body = Body((Stm(result, exp),), (result[0].name,))
        function = Lambda((position,), body, (type_,))
        exp = soacs.map_(size, (counter,), function)
        type_ = array_of(type_, (size,))
    return traverse.rename(exp, build.names)


def _reads(term: RoundTerm, flat: Mapping[Name, Name], place: Name) -> Iterator[Stm]:
    """The scalars of a point, read from what all rounds have kept."""
    for each in term.statements:
        exp = each.exp
        if not isinstance(exp, core.Index) or exp.array not in flat:
            yield each
            continue
        rest = exp.slice[1:] if exp.array in term.kept else exp.slice
        rest = rest if term.fold is None else rest[1:]
        yield replace(each, exp=core.Index(flat[exp.array], (place, *rest)))
