"""Loops brought into a form whose rounds are known in advance, and into strips.

while      the rounds are counted first; then it is a loop of that many rounds
bound      a loop of so many rounds, of which those after the last do nothing
stripmine  a nest of loops: less is on tapes, and more is run again
"""

from __future__ import annotations

from minifut.ir import core, scope, traverse
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Body, Constant, Param, Stm
from minifut.ir.node import replace
from minifut.ir.types import F64, I64
from minifut.passes.differentiate.activity import PASSIVE
from minifut.passes.differentiate.context import without_checks
from minifut.passes.differentiate.reverse.loop import pattern_of, varying_parameters
from minifut.passes.differentiate.reverse.overwriting import length_of
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Rewrite
from minifut.rewrite.rule import rule


@rule(paper="SC 2022")
def vjp_while(statement: Stm, sweep: ReverseSweep) -> Rewrite | None:
    r"""The rounds are counted first; then it is a loop of that many rounds.

    before:
        given (x: f64)
        let (x_1: f64, x_2: i64, continue: bool) = loop (x_3: f64 = x, x_4: i64 = 0i64,
            continue_1: bool = true) while continue_1 do {
          let mul: f64 = mul_f64(x_3, x)
          let add: i64 = add_i64(x_4, 1i64)
          let lt: bool = lt_i64(add, 4i64)
          return mul, add, lt
        }
        return x_1
    after:
        #[passive] let (x_5: f64, x_2: i64, continue: bool,
            count_1: i64) = loop (x_3: f64 = x, x_4: i64 = 0i64,
            continue_1: bool = true, count_2: i64 = 0i64) while continue_1 do {
          let mul: f64 = mul_f64(x_3, x)
          let add: i64 = add_i64(x_4, 1i64)
          let lt: bool = lt_i64(add, 4i64)
          let add_1: i64 = add_i64(count_2, 1i64)
          return mul, add, lt, add_1
        }
        let (x_1: f64, x_6: i64, continue_2: bool) = loop (x_7: f64 = x,
            x_8: i64 = 0i64, continue_3: bool = true) for i: i64 < count_1 do {
          let mul_1: f64 = mul_f64(x_7, x)
          let add_2: i64 = add_i64(x_8, 1i64)
          let lt_1: bool = lt_i64(add_2, 4i64)
          return mul_1, add_2, lt_1
        }
    """
    exp = statement.exp_of(core.Loop)
    if not isinstance(exp.form, core.WhileLoop):
        return None
    build = sweep.builder(statement)
    counting: core.Loop = sweep.context.copy(without_checks(exp))
    (count,) = build.parameters((I64,), "count")
    inner = build.nested()
    inner.extend(counting.body.statements)
    following = inner.add(count.name, i64(1))
    loop = core.Loop(
        (*counting.parameters, count),
        (*counting.initial, i64(0)),
        counting.form,
        inner.finish(*counting.body.result, following),
    )
    pattern = pattern_of(build, loop.parameters)
    build.attributes = (PASSIVE,)
    build.bind(pattern, loop)
    form = core.ForLoop(build.names.fresh("i"), pattern[-1].name, I64)
    sweep.context.scope[form.index] = I64
    counted = replace(statement, exp=replace(exp, form=form))
    return (*build.statements, counted)


@rule(paper="SC 2022")
def vjp_bounded_while(statement: Stm, sweep: ReverseSweep) -> Rewrite | None:
    r"""A loop marked `#[bound(k)]` has k rounds, of which those after its last do
    nothing; so it is run once, with tapes of that length. More rounds are an error.

    before:
        given (x: f64)
        #[bound(9)] let (x_1: f64, continue: bool) = loop (x_2: f64 = x,
            continue_1: bool = true) while continue_1 do {
          let mul: f64 = mul_f64(x_2, x_2)
          let gt: bool = gt_f64(mul, 40.0f64)
          return mul, gt
        }
        return x_1
    after:
        let (x_1: f64, continue: bool) = loop (x_2: f64 = x,
            continue_1: bool = true) for i: i64 < 9i64 do {
          let (following: f64, following_1: bool) = if continue_1 then {
            let mul: f64 = mul_f64(x_2, x_2)
            let gt: bool = gt_f64(mul, 40.0f64)
            return mul, gt
          } else {x_2, continue_1}
          return following, following_1
        }
        let not: bool = not_bool(continue)
        let () = assert(not, ["the loop has more than 9 rounds"], [])
    """
    exp = statement.exp_of(core.Loop)
    rounds = _number(statement, "bound")
    if (
        not isinstance(exp.form, core.WhileLoop)
        or not rounds
        or varying_parameters(exp)
    ):
        return None
    build = sweep.builder(statement)
    build.attributes = ()
    names = [parameter.name for parameter in exp.parameters]
    condition = exp.form.condition
    inner = build.nested()
    types = [parameter.type for parameter in exp.parameters]
    branch = core.If(condition, exp.body, Body((), tuple(names)))
    pattern = inner.parameters(types, "following")
    results = inner.bind(pattern, branch)
    form = core.ForLoop(build.names.fresh("i"), i64(rounds), I64)
    sweep.context.scope[form.index] = I64
    loop = replace(exp, form=form, body=inner.finish(*results))
    ended = statement.pattern[names.index(condition)].name
    build.check(build.op("not", ended), (f"the loop has more than {rounds} rounds",))
    return (_unmarked(statement, "bound", loop), *build.statements)


@rule(paper="SC 2022")
def vjp_stripmine(statement: Stm, sweep: ReverseSweep) -> Rewrite | None:
    r"""A loop marked `#[stripmine(k)]` is a nest of k + 1 loops of about the same
    number of rounds each: only those of one loop at each level are on a tape.

    before:
        given (n: i64, x: f64)
        #[stripmine(1)] let x_1: f64 = loop (x_2: f64 = x) for _i: i64 < n do {
          return mul_f64(x_2, x_2)
        }
    after:
        let rounds: i64 = max_i64(n, 0i64)
        let converted: f64 = convert_i64_f64(rounds)
        let pow: f64 = pow_f64(converted, 0.5f64)
        let ceil: f64 = ceil_f64(pow)
        let converted_1: i64 = convert_f64_i64(ceil)
        let max_1: i64 = max_i64(converted_1, 1i64)
        let sub: i64 = sub_i64(max_1, 1i64)
        let add: i64 = add_i64(rounds, sub)
        let quot: i64 = quot_i64(add, max_1)
        let x_1: f64 = loop (x_2: f64 = x) for strip: i64 < max_1 do {
          let mul: i64 = mul_i64(strip, quot)
          let sub_1: i64 = sub_i64(rounds, mul)
          let min_1: i64 = min_i64(quot, sub_1)
          return loop (x_4: f64 = x_2) for place: i64 < min_1 do {
            let add_1: i64 = add_i64(mul, place)
            return mul_f64(x_4, x_4)
          }
        }
    """
    exp = statement.exp_of(core.Loop)
    depth = _number(statement, "stripmine")
    if not depth or not isinstance(exp.form, core.ForLoop):
        return None
    build = sweep.builder(statement)
    build.attributes = ()
    index, type_ = exp.form.index, exp.form.type
    rounds = length_of(build, exp.form)
    outer = _root(build, rounds, depth + 1)
    one = build.sub(outer, i64(1))
    strip = build.op("quot", build.add(rounds, one), outer)
    at, place = build.names.fresh("strip"), build.names.fresh("place")
    build.scope.update({at: I64, place: I64})
    with build.body() as inner:
        start = inner.mul(at, strip)
        left = inner.op("min", strip, inner.sub(rounds, start))
        with inner.body() as innermost:
            whole = innermost.convert(innermost.add(start, place), type_)
            copied = traverse.rename(exp.body, build.names, {index: whole})
            innermost.extend(copied.statements)
            body = innermost.finish(*copied.result)
        few = build.copy(
            core.Loop(exp.parameters, (), core.ForLoop(place, left, I64), body)
        )
        own = tuple(Param(build.names.like(p.name), p.type) for p in exp.parameters)
        mapping = {p.name: o.name for p, o in zip(exp.parameters, own, strict=True)}
        own = traverse.substitute(own, mapping)
        build.scope.update(scope.scope_of(*own))
        few = replace(few, initial=tuple(p.name for p in own))
        results = pattern_of(build, few.parameters)
        deeper = (f"stripmine({depth - 1})",) if depth > 1 else ()
        inner.append(Stm(results, few, deeper, statement.location))
        outer_body = inner.finish(*[p.name for p in results])
    nest = core.Loop(own, exp.initial, core.ForLoop(at, outer, I64), outer_body)
    made = _unmarked(statement, "stripmine", nest)
    return (*build.statements, made)


def _root(build: Builder, number: Atom, degree: int) -> Atom:
    """A root of a number of rounds, rounded up, at least 1."""
    real = build.convert(number, F64)
    power = build.op("pow", real, Constant(1.0 / degree, F64))
    return build.op("max", build.convert(build.op("ceil", power), I64), i64(1))


def _number(statement: Stm, mark: str) -> int:
    """The number k in `mark(k)`; 0 if the statement is not marked so."""
    for attribute in statement.attributes:
        name, _, rest = attribute.partition("(")
        if name == mark and rest[:-1].isdigit():
            return int(rest[:-1])
    return 0


def _unmarked(statement: Stm, mark: str, exp: core.Loop) -> Stm:
    """The statement with this loop, and without the mark."""
    attributes = tuple(a for a in statement.attributes if not a.startswith(mark))
    return Stm(statement.pattern, exp, attributes, statement.location)
