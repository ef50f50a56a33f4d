"""Adjoints through loops: the rounds in reverse, with the parameters of each.

    y = loop (p = x) for i < n do f p i
  →
    y, ps = loop (p = x, ps = scratch) for i < n do {f p i, ps with [i] = p}
    x' = loop (p' = y') for j < n do (let i = n - 1 - j; p = ps[i] in the adjoint of f)

The parameters of all rounds are kept on a tape. Where their sizes change from round to
round no tape can hold them, and they are computed again from the start for each round.
The adjoints of what the body mentions are carried beside those of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Constant, ForLoop, Loop, Param, Stm
from minifut.ir.node import replace
from minifut.ir.scope import scope_of
from minifut.ir.traverse import atom_size, rename, size_names, substitute
from minifut.ir.types import I64, ArrayType, array_of, element_of
from minifut.names import Name
from minifut.passes.differentiate.context import without_checks
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule

Read = Callable[[Builder, Atom], list[Name]]
"""emits the parameters at the start of a round, whose number is an i64"""


@rule(paper="SC 2022, section 4.2")
def vjp_loop(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""The parameters of each round go on a tape.

    before:
        given (n: i64, x: f64, w: f64)
        let (result_2: f64, derivative: f64) = vjp(\(x_1: f64) -> (f64) {
          let x_2: f64 = loop (x_3: f64 = x_1) for _i: i64 < n do {
            let mul: f64 = mul_f64(x_3, x_3)
            return mul
          }
          return x_2
        }, (x), (w), [])
        return result_2, derivative
    after:
        let rounds: i64 = max_i64(n, 0i64)
        let scratch_1: [rounds]f64 = scratch(f64, [rounds])
        let (x_1: f64, tape: [rounds]f64) = loop (x_2: f64 = x,
            tape_1: [rounds]f64 = scratch_1) for _i: i64 < n do {
          let tape_2: [rounds]f64 = tape_1 with [_i] = x_2
          let mul: f64 = mul_f64(x_2, x_2)
          return mul, tape_2
        }
        let sub: i64 = sub_i64(rounds, 1i64)
        let adj: f64 = loop (adj_1: f64 = w) for j: i64 < rounds do {
          let sub_1: i64 = sub_i64(sub, j)
          let x_3: f64 = tape[sub_1]
          let mul_1: f64 = mul_f64(x_3, adj_1)
          let add: f64 = add_f64(mul_1, mul_1)
          return add
        }
        return x_1, adj
    """
    exp = statement.exp
    assert isinstance(exp, Loop) and isinstance(exp.form, ForLoop)
    own = {parameter.name for parameter in exp.parameters}
    if any(size_names(parameter.type) & own for parameter in exp.parameters):
        return None
    build = sweep.builder(statement)
    count = length_of(build, exp.form)
    rounds = (atom_size(count),)
    types = [array_of(parameter.type, rounds) for parameter in exp.parameters]
    tapes = build.parameters(types, "tape")
    scratch = [
        build.let(core.Scratch(element_of(t), t.shape), "scratch")
        for t in types
        if isinstance(t, ArrayType)
    ]
    with build.body() as inner:
        at = inner.convert(exp.form.index, I64)
        kept = [
            inner.update(tape.name, (at,), parameter.name)
            for tape, parameter in zip(tapes, exp.parameters, strict=True)
        ]
        inner.extend(exp.body.statements)
        body = inner.finish(*exp.body.result, *kept)
    loop = Loop((*exp.parameters, *tapes), (*exp.initial, *scratch), exp.form, body)
    results = tuple(Param(build.names.like(t.name), t.type) for t in tapes)
    build.bind((*statement.pattern, *results), loop)

    def read(inner: Builder, at: Atom) -> list[Name]:
        pairs = zip(results, exp.parameters, strict=True)
        return [inner.index(t.name, at, base=p.name.base) for t, p in pairs]

    back = _Return(statement, exp, sweep, count, read)
    return Reversed(tuple(build.statements), back)


@rule()
def vjp_loop_of_varying_sizes(statement: Stm, sweep: ReverseSweep) -> Reversed:
    r"""Sizes that change: the parameters of a round are computed from the start.

    before:
        given (k: i64, n: i64, xs: [k]f64, dy: f64)
        let (y: f64, dx: [k]f64) = vjp(\(a: [k]f64) -> (f64) {
          let (m: i64, r: [m]f64) = loop (p: i64 = k,
              b: [p]f64 = a) for i: i64 < n do {
            let q: i64 = add_i64(p, k)
            let c: [k + p]f64 = concat(0, k + p, b, a)
            let d: [q]f64 = reshape([q], c)
            return q, d
          }
          let s: f64 = redomap(m, (r),
            reduce(\(e: f64, g: f64) -> (f64) {
              let h: f64 = add_f64(e, g)
              return h
            }, (0.0f64)),
            \(o: f64) -> (f64) {o})
          return s
        }, (xs), (dy), [])
        return y, dx
    after:
        let rounds: i64 = max_i64(n, 0i64)
        let (m: i64, r: [m]f64) = loop (p: i64 = k,
            b: [p]f64 = xs) for i: i64 < n do {
          let q: i64 = add_i64(p, k)
          let c: [k + p]f64 = concat(0, k + p, b, xs)
          let d: [q]f64 = reshape([q], c)
          return q, d
        }
        let s: f64 = redomap(m, (r),
          reduce(\(e: f64, g: f64) -> (f64) {
            let h: f64 = add_f64(e, g)
            return h
          }, (0.0f64)),
          \(o: f64) -> (f64) {o})
        let r_adj: [m]f64 = replicate([m], dy)
        let zeros: [k]f64 = replicate([k], 0.0f64)
        let sub: i64 = sub_i64(rounds, 1i64)
        let (size_1: i64, adj: [size_1]f64, adj_1: [k]f64) = loop (size_2: i64 = m,
            adj_2: [size_2]f64 = r_adj,
            adj_3: [k]f64 = zeros) for j: i64 < rounds do {
          let sub_1: i64 = sub_i64(sub, j)
          let p_1: i64 = loop (p_2: i64 = k) for i_1: i64 < sub_1 do {
            let q_1: i64 = add_i64(p_2, k)
            return q_1
          }
          let adj_4: [k + p_1]f64 = reshape([k + p_1], adj_2)
          let adj_5: [p_1]f64 = adj_4[0i64 :+ p_1 by 1i64]
          let adj_6: [k]f64 = adj_4[p_1 :+ k by 1i64]
          let sum: [k]f64 = map(k, (adj_3, adj_6), \(x: f64, x_1: f64) -> (f64) {
            let add: f64 = add_f64(x, x_1)
            return add
          })
          return p_1, adj_5, sum
        }
        let adj_7: [k]f64 = reshape([k], adj)
        let sum_1: [k]f64 = map(k, (adj_1, adj_7), \(x_2: f64, x_3: f64) -> (f64) {
          let add_1: f64 = add_f64(x_2, x_3)
          return add_1
        })
        return s, sum_1
    """
    exp = statement.exp
    assert isinstance(exp, Loop) and isinstance(exp.form, ForLoop)
    form = exp.form
    build = sweep.builder(statement)
    count = length_of(build, form)
    build.append(statement)

    def read(inner: Builder, at: Atom) -> list[Name]:
        until = inner.convert(at, form.type)
        again: Loop = sweep.context.copy(without_checks(exp))
        assert isinstance(again.form, ForLoop)
        shorter = replace(again, form=replace(again.form, bound=until))
        pattern = pattern_of(inner, shorter.parameters)
        inner.bind(pattern, shorter)
        return [parameter.name for parameter in pattern]

    back = _Return(statement, exp, sweep, count, read)
    return Reversed(tuple(build.statements), back)


class _Return:
    """The return sweep of a counted loop."""

    def __init__(
        self, statement: Stm, exp: Loop, sweep: ReverseSweep, count: Atom, read: Read
    ) -> None:
        self.statement, self.exp, self.sweep = statement, exp, sweep
        self.count, self.read = count, read
        assert isinstance(exp.form, ForLoop)
        self.form = exp.form
        own = {parameter.name for parameter in exp.parameters}
        sizes = {n for p in exp.parameters for n in size_names(p.type)} & own
        self.sizes = [n for n, p in enumerate(exp.parameters) if p.name in sizes]
        flags = sweep.activity.of([p.name for p in exp.parameters])
        self.active = [
            n for n, flag in enumerate(flags) if flag and n not in self.sizes
        ]

    def __call__(self, build: Builder, adjoints: Adjoints) -> None:
        exp, pattern = self.exp, self.statement.pattern
        if not any(adjoints.of_pattern(pattern)):
            return
        bound = {p.name for p in exp.parameters} | {self.form.index}
        names = [n for n in self.sweep.mentioned(exp.body) if n not in bound]
        sizes = build.parameters([I64] * len(self.sizes), "size")
        renamed: dict[Name, Atom] = {
            exp.parameters[n].name: size.name
            for n, size in zip(self.sizes, sizes, strict=True)
        }
        own = build.parameters(
            [substitute(exp.parameters[n].type, renamed) for n in self.active], "adj"
        )
        types = [adjoints.type(build, name) for name in names]
        outer = build.parameters(types, "adj")
        place = build.names.fresh("j")
        build.scope[place] = I64
        inner = adjoints.child()
        carried = {n: p.name for n, p in zip(names, outer, strict=True)}
        inner.values.update(carried)
        round_ = build.nested()
        reads = self.round(round_, place, inner, [p.name for p in own])
        result: list[Atom] = [reads[n] for n in self.sizes]
        result += [inner.or_zero(round_, reads[n]) for n in self.active]
        changed = [n for n in names if inner.values[n] != carried[n]]
        result += [inner.or_zero(round_, name) for name in changed]
        initial: list[Atom] = [pattern[n].name for n in self.sizes]
        initial += [adjoints.or_zero(build, pattern[n].name) for n in self.active]
        initial += [adjoints.or_zero(build, name) for name in changed]
        kept = [p for n, p in zip(names, outer, strict=True) if n in changed]
        loop = Loop(
            (*sizes, *own, *kept),
            tuple(initial),
            ForLoop(place, self.count, I64),
            round_.finish(*result),
        )
        made = [p.name for p in _bind(build, loop)][len(sizes) :]
        adjoints.values.update(zip(changed, made[len(own) :], strict=True))
        for n, adjoint in zip(self.active, made, strict=False):
            adjoints.add(build, exp.initial[n], adjoint)

    def round(
        self, build: Builder, place: Name, adjoints: Adjoints, results: list[Name]
    ) -> list[Name]:
        """One round backwards; the names of the parameters in it."""
        exp, activity = self.exp, self.sweep.activity
        last = build.sub(self.count, i64(1))
        at = build.sub(last, place)
        reads = self.read(build, at)
        for n in self.active:
            activity.names.add(reads[n])
        mapping: dict[Name, Atom] = {self.form.index: build.convert(at, self.form.type)}
        mapping |= zip((p.name for p in exp.parameters), reads, strict=True)
        body = rename(without_checks(exp.body), build.names, mapping)
        build.scope.update(scope_of(body))
        given: list[Atom | None] = [None] * len(reads)
        for n, result in zip(self.active, results, strict=True):
            given[n] = result
        self.sweep.again(build, body, adjoints, given)
        return reads


# --- pieces ----------------------------------------------------------------------


def _bind(build: Builder, loop: Loop) -> tuple[Param, ...]:
    pattern = pattern_of(build, loop.parameters)
    build.bind(pattern, loop)
    return pattern


def pattern_of(build: Builder, parameters: Iterable[Param]) -> tuple[Param, ...]:
    """Fresh results for the parameters of a loop, whose sizes may be among them."""
    parameters = tuple(parameters)
    mapping: dict[Name, Atom] = {p.name: build.names.like(p.name) for p in parameters}
    made = []
    for parameter in parameters:
        name = mapping[parameter.name]
        assert isinstance(name, Name)
        made.append(Param(name, substitute(parameter.type, mapping)))
    return tuple(made)


def length_of(build: Builder, form: ForLoop) -> Atom:
    """The number of rounds, as an i64 that is not negative."""
    if isinstance(form.bound, Constant):
        return i64(max(0, int(form.bound.value)))
    return build.op("max", build.convert(form.bound, I64), i64(0), base="rounds")
