"""Adjoints through loops: the rounds in reverse, with the parameters of each.

    y = loop (p = x) for i < n do f p i
  →
    y, ps = loop (p = x, ps = scratch) for i < n do {f p i, ps with [i] = p}
    x' = loop (p' = y') for j < n do (let i = n - 1 - j; p = ps[i] in the adjoint of f)

The parameters of all rounds are kept on tapes, and what reductions in the body have
found, if it has no more dimensions than a parameter. Arrays whose sizes change from
round to round are flattened and put behind each other, and the places where they start
are kept; a loop before counts their elements. The adjoints of what the body mentions
are carried beside those of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, ForLoop, Loop, Param, Stm
from minifut.ir.derivatives import RETURN_SWEEP
from minifut.ir.node import replace
from minifut.ir.sizes import Size, product
from minifut.ir.traverse import atom_size, size_names, substitute
from minifut.ir.types import I64, ArrayType, Type, array_of, element_of, shape_of
from minifut.names import Name
from minifut.passes.differentiate.context import without_checks
from minifut.passes.differentiate.reverse.adjoints import Adjoints
from minifut.passes.differentiate.reverse.overwriting import length_of, overwriting
from minifut.passes.differentiate.reverse.sweep import ReverseSweep, SweptBody
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule

Read = Callable[[Builder, Atom], None]
"""binds the parameters at the start of a round, whose number is an i64, and what was
kept of it"""


@rule(paper="SC 2022, section 4.2")
def vjp_loop(statement: Stm, sweep: ReverseSweep) -> Reversed:
    r"""The parameters of each round go on a tape; the elements of all rounds are behind
    each other where sizes change.

    before:
        given (n: i64, x: f64)
        let x_1: f64 = loop (x_2: f64 = x) for _i: i64 < n do {mul_f64(x_2, x_2)}
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
        #[return_sweep] let adj: f64 = loop (adj_1: f64 = x_seed_1)
            for j: i64 < rounds do {
          let sub_1: i64 = sub_i64(sub, j)
          let x_3: f64 = tape[sub_1]
          let add: f64 = add_f64(adj_1, adj_1)
          return mul_f64(x_3, add)
        }
        return x_1, adj
    before:
        given (k: i64, n: i64, xs: [k]f64)
        let (m: i64, r: [m]f64) = loop (p: i64 = k, b: [p]f64 = xs) for i: i64 < n do {
          let q: i64 = add_i64(p, k)
          let t: [p]f64 = map(p, (b), \(u: f64) -> (f64) {mul_f64(u, u)})
          let c_1: [k + p]f64 = concat(0, k + p, t, xs)
          let d: [q]f64 = reshape([q], c_1)
          return q, d
        }
        let s: f64 = redomap(m, (r),
          reduce(add_f64, (0.0f64)),
          \(o: f64) -> (f64) {o})
    after:
        let rounds: i64 = max_i64(n, 0i64)
        let (p: i64, total: i64) = loop (p_1: i64 = k,
            total_1: i64 = 0i64) for i: i64 < n do {
          let q: i64 = add_i64(p_1, k)
          let add: i64 = add_i64(total_1, p_1)
          return q, add
        }
        let scratch_1: [rounds]i64 = scratch(i64, [rounds])
        let scratch_2: [total]f64 = scratch(f64, [total])
        let scratch_3: [rounds]i64 = scratch(i64, [rounds])
        let (m: i64, r: [m]f64, tape: [rounds]i64, tape_1: [total]f64,
            starts: [rounds]i64, start: i64) = loop (p_2: i64 = k, b: [p_2]f64 = xs,
                tape_2: [rounds]i64 = scratch_1, tape_3: [total]f64 = scratch_2,
                    starts_1: [rounds]i64 = scratch_3,
                        start_1: i64 = 0i64) for i_1: i64 < n do {
          let tape_4: [rounds]i64 = tape_2 with [i_1] = p_2
          let tape_5: [total]f64 = tape_3 with [start_1 :+ p_2 by 1i64] = b
          let add_1: i64 = add_i64(start_1, p_2)
          let starts_2: [rounds]i64 = starts_1 with [i_1] = start_1
          let q_1: i64 = add_i64(p_2, k)
          let t: [p_2]f64 = map(p_2, (b), \(u: f64) -> (f64) {mul_f64(u, u)})
          let c: [k + p_2]f64 = concat(0, k + p_2, t, xs)
          let d: [q_1]f64 = reshape([q_1], c)
          return q_1, d, tape_4, tape_5, starts_2, add_1
        }
        let s: f64 = redomap(m, (r), reduce(add_f64, (0.0f64)),
          \(o: f64) -> (f64) {o})
        let r_adj: [m]f64 = replicate([m], s_seed)
        let zeros: [k]f64 = replicate([k], 0.0f64)
        let sub: i64 = sub_i64(rounds, 1i64)
        #[return_sweep] let (size_1: i64, adj: [size_1]f64, adj_1: [k]f64) =
            loop (size_2: i64 = m, adj_2: [size_2]f64 = r_adj, adj_3: [k]f64 = zeros)
            for j: i64 < rounds do {
          let sub_1: i64 = sub_i64(sub, j)
          let p_3: i64 = tape[sub_1]
          let starts_3: i64 = starts[sub_1]
          let b_1: [p_3]f64 = tape_1[starts_3 :+ p_3 by 1i64]
          let adj_4: [k + p_3]f64 = reshape([k + p_3], adj_2)
          let adj_5: [p_3]f64 = adj_4[0i64 :+ p_3 by 1i64]
          let adj_6: [k]f64 = adj_4[p_3 :+ k by 1i64]
          let sum: [k]f64 = map(k, (adj_3, adj_6), add_f64)
          let x_2: [p_3]f64 = map(p_3, (b_1, adj_5), \(u_1: f64, adj_7: f64) -> (f64) {
            let add_2: f64 = add_f64(adj_7, adj_7)
            return mul_f64(u_1, add_2)
          })
          return p_3, x_2, sum
        }
        let adj_8: [k]f64 = reshape([k], adj)
        let sum_1: [k]f64 = map(k, (adj_1, adj_8), add_f64)
        return s, sum_1
    """
    exp = statement.exp_of(Loop)
    assert isinstance(exp.form, ForLoop)
    build, form = sweep.builder(statement), exp.form
    count = length_of(build, form)
    varying = set(varying_parameters(exp))
    undone = overwriting(sweep.context, build, exp)
    exp = undone.loop
    swept = _swept(build, exp, sweep, undone.old)
    made = enumerate(_tapes(sweep, build, exp, count))
    tapes = {exp.parameters[n]: t for n, t in made if n not in undone.after}
    rounds = (atom_size(count),)
    found = build.parameters([array_of(p.type, rounds) for p in swept.kept], "tape")
    shifts = [p for n, p in enumerate(exp.parameters) if n in varying]
    starts = dict(
        zip(shifts, build.parameters([I64] * len(shifts), "start"), strict=True)
    )
    kept_starts = build.parameters([array_of(I64, rounds)] * len(shifts), "starts")
    filled = (*tapes.values(), *kept_starts, *found)
    scratch = [_scratch(build, tape.type) for tape in filled]
    with build.body() as inner:
        at = inner.convert(form.index, I64)
        kept, following = [], []
        for parameter, tape in tapes.items():
            start = starts.get(parameter)
            if start is None:
                kept.append(inner.update(tape.name, (at,), parameter.name))
                continue
            flat, size = _flat(inner, parameter)
            part = (core.DimSlice(start.name, size, i64(1)),)
            kept.append(inner.let(core.Update(tape.name, part, flat), tape.name.base))
            following.append(inner.add(start.name, inner.size_atom(size)))
        for tape, parameter in zip(kept_starts, shifts, strict=True):
            kept.append(inner.update(tape.name, (at,), starts[parameter].name))
        inner.extend(swept.statements if found else exp.body.statements)
        for tape, value in zip(found, swept.kept, strict=True):
            kept.append(inner.update(tape.name, (at,), value.name))
        body = inner.finish(*exp.body.result, *kept, *following)
    loop = Loop(
        (*exp.parameters, *filled, *starts.values()),
        (*exp.initial, *scratch, *[i64(0)] * len(shifts)),
        form,
        body,
    )
    results = pattern_of(build, (*filled, *starts.values()))
    build.bind((*statement.pattern, *results), sweep.context.copy(loop))
    of_starts = dict(zip(shifts, results[len(tapes) :], strict=False))
    pairs = list(zip(tapes, results, strict=False))
    rows = [(p, tape) for p, tape in pairs if p not in of_starts]
    rows += zip(swept.kept, results[len(tapes) + len(shifts) :], strict=False)

    def read(inner: Builder, at: Atom) -> None:
        for parameter, tape in rows:
            inner.bind((parameter,), core.Index(tape.name, (at,)))
        for parameter, tape in pairs:
            if parameter in of_starts:
                start = inner.index(of_starts[parameter].name, at)
                shape = shape_of(parameter.type)
                part = core.DimSlice(start, product(shape), i64(1))
                flat = inner.index(tape.name, part, base=parameter.name.base)
                inner.bind((parameter,), core.Reshape(shape, flat))
        inner.extend(undone.undo)

    back = _Return(statement, exp, sweep, count, swept, read, undone.after)
    return Reversed(tuple(build.statements), back)


def _swept(build: Builder, exp: Loop, sweep: ReverseSweep, old: Set[Name]) -> SweptBody:
    """The body swept forward; `old` is kept. What else is kept has no more dimensions
    than what the loop carries, so that its tapes do not outgrow those by far."""
    assert isinstance(exp.form, ForLoop)
    own = [*[p.name for p in exp.parameters], exp.form.index]
    rank = max((len(shape_of(p.type)) for p in exp.parameters), default=0)
    return sweep.swept(build, own, exp.body, rank, old)


def varying_parameters(exp: Loop) -> list[int]:
    """The arrays whose sizes are parameters, too."""
    own = {parameter.name for parameter in exp.parameters}
    pairs = enumerate(exp.parameters)
    return [n for n, parameter in pairs if size_names(parameter.type) & own]


def _flat(build: Builder, parameter: Param) -> tuple[Name, Size]:
    """An array as a vector, and its length."""
    size = product(shape_of(parameter.type))
    return build.reshape(parameter.name, (size,)), size


def _scratch(build: Builder, type_: Type) -> Name:
    assert isinstance(type_, ArrayType)
    return build.let(core.Scratch(element_of(type_), type_.shape), "scratch")


def _tapes(
    sweep: ReverseSweep, build: Builder, exp: Loop, count: Atom
) -> tuple[Param, ...]:
    """The tapes of the parameters: a row for each round, or all elements of arrays
    whose sizes vary, which a copy of the loop counts."""
    varying = varying_parameters(exp)
    types: list[Type] = [
        array_of(parameter.type, (atom_size(count),)) for parameter in exp.parameters
    ]
    if varying:
        counting: Loop = sweep.context.copy(without_checks(exp))
        totals = build.parameters([I64] * len(varying), "total")
        inner = build.nested()
        inner.extend(counting.body.statements)
        after = []
        for total, n in zip(totals, varying, strict=True):
            size = product(shape_of(counting.parameters[n].type))
            after.append(inner.add(total.name, inner.size_atom(size)))
        loop = replace(
            counting,
            parameters=(*counting.parameters, *totals),
            initial=(*counting.initial, *[i64(0)] * len(varying)),
            body=inner.finish(*counting.body.result, *after),
        )
        made = _bind(build, loop)[len(exp.parameters) :]
        for total, n in zip(made, varying, strict=True):
            element = element_of(exp.parameters[n].type)
            types[n] = ArrayType(element, (atom_size(total.name),))
    return build.parameters(types, "tape")


class _Return:
    """The return sweep of a counted loop."""

    def __init__(
        self,
        statement: Stm,
        exp: Loop,
        sweep: ReverseSweep,
        count: Atom,
        swept: SweptBody,
        read: Read,
        after: dict[int, Param],
    ) -> None:
        self.statement, self.exp, self.sweep = statement, exp, sweep
        self.count, self.swept, self.read, self.after = count, swept, read, after
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
        restored = {**dict(zip(self.sizes, sizes, strict=True)), **self.after}
        renamed: dict[Name, Atom] = {
            exp.parameters[n].name: p.name for n, p in restored.items()
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
        self.round(round_, place, inner, [p.name for p in own])
        read = [p.name for p in exp.parameters]
        result: list[Atom] = [inner.undone.get(read[n], read[n]) for n in restored]
        result += [inner.or_zero(round_, read[n]) for n in self.active]
        changed = [n for n in names if inner.values[n] != carried[n]]
        result += [inner.or_zero(round_, name) for name in changed]
        last = [pattern[n].name for n in restored]
        initial: list[Atom] = [adjoints.undone.get(name, name) for name in last]
        initial += [adjoints.or_zero(build, pattern[n].name) for n in self.active]
        initial += [adjoints.or_zero(build, name) for name in changed]
        kept = [p for n, p in zip(names, outer, strict=True) if n in changed]
        loop = Loop(
            (*restored.values(), *own, *kept),
            tuple(initial),
            ForLoop(place, self.count, I64),
            round_.finish(*result),
        )
        attributes, build.attributes = build.attributes, (RETURN_SWEEP,)
        results = [p.name for p in _bind(build, loop)]
        build.attributes = attributes
        made = results[len(restored) :]
        for n, name in zip(restored, results, strict=False):
            if n in self.after and isinstance(start := exp.initial[n], Name):
                adjoints.undone[start] = name
        adjoints.values.update(zip(changed, made[len(own) :], strict=True))
        for n, adjoint in zip(self.active, made, strict=False):
            adjoints.add(build, exp.initial[n], adjoint)

    def round(
        self, build: Builder, place: Name, adjoints: Adjoints, results: list[Name]
    ) -> None:
        """One round backwards."""
        last = build.sub(self.count, i64(1))
        at = build.sub(last, place)
        index = Param(self.form.index, self.form.type)
        build.bind((index,), core.Copy(build.convert(at, self.form.type)))
        self.read(build, at)
        given: list[Atom | None] = [None] * len(self.exp.parameters)
        for n, result in zip(self.active, results, strict=True):
            given[n] = result
        self.swept.back(build, adjoints, given)


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
