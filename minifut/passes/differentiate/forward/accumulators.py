r"""Tangents of accumulators: accumulators of tangents.

    with_acc (xs) (\a -> update_acc a i v)
    →
    with_acc (xs, xs') (\a, a' -> {update_acc a i v, update_acc a' i v'})

This holds for sums and for plain writes, which are linear.
"""

from __future__ import annotations

from minifut.ir.accumulators import AccInput, UpdateAcc, WithAcc
from minifut.ir.core import Lambda, Param, Stm
from minifut.names import Name
from minifut.passes.differentiate.forward.sweep import Tangents
from minifut.passes.differentiate.reverse.accumulators import check_operators
from minifut.passes.differentiate.rules import Rewrite
from minifut.rewrite.rule import rule


@rule(paper="SC 2022, section 5.4")
def jvp_with_acc(statement: Stm, sweep: Tangents) -> Rewrite:
    r"""One more accumulator for each that is active.

    before:
        given (n: i64, is: [n]i64, xs: [n]f64)
        let z: [4]f64 = replicate([4], 0.0f64)
        let r: [4]f64 = with_acc((acc([4], (z), (0.0f64), add_f64)),
            \(c_1: acc c_1 [4] (f64)) -> (acc c_1 [4] (f64)) {
          return map(n, (c_1, is, xs), \(e: acc c_1 [4] (f64),
              i: i64, x: f64) -> (acc c_1 [4] (f64)) {update_acc(e, (i), (x))})
        })
    after:
        let z: [4]f64 = replicate([4], 0.0f64)
        let zeros: [4]f64 = replicate([4], 0.0f64)
        let (r: [4]f64, r_tan: [4]f64) = with_acc((acc([4], (z), (0.0f64), add_f64),
          acc([4], (zeros), (0.0f64), add_f64)),
          \(c: acc c [4] (f64), acc: acc acc [4] (f64)) -> (acc c [4] (f64),
            acc acc [4] (f64)) {
          let (m: acc c [4] (f64), m_tan: acc acc [4] (f64)) = map(n, (c, is, xs,
              acc, xs_seed), \(e: acc c [4] (f64), i: i64, x: f64,
              e_tan: acc acc [4] (f64), x_tan: f64) -> (acc c [4] (f64),
              acc acc [4] (f64)) {
            let u: acc c [4] (f64) = update_acc(e, (i), (x))
            let e_tan_1: acc acc [4] (f64) = update_acc(e_tan, (i), (x_tan))
            return u, e_tan_1
          })
          return m, m_tan
        })
        return r, r_tan
    """
    exp = statement.exp_of(WithAcc)
    build = sweep.builder(statement)
    parameters = exp.function.parameters
    active = sweep.activity.of([p.name for p in parameters])
    items, roots = [], []
    for item, parameter, flag in zip(exp.inputs, parameters, active, strict=True):
        if not flag:
            continue
        check_operators(build, statement, [item])
        arrays = tuple(sweep.arrays(build, item.arrays, [True] * len(item.arrays)))
        neutral = tuple(build.zero(build.type(atom)) for atom in item.neutral)
        operator = build.copy(item.operator) if item.operator is not None else None
        made = AccInput(item.shape, arrays, neutral, operator)
        root = build.accumulator(made)
        build.scope[root.name] = root.type
        items.append(made)
        roots.append(root)
        sweep.roots[parameter.name] = root.name
        sweep.values[parameter.name] = root.name
    body = exp.function.body
    count = len(parameters)
    inner = build.nested()
    sweep.statements(inner, body.statements)
    others = sweep.activity.of(body.result[count:])
    result = [
        *body.result[:count],
        *sweep.results(inner, body.result[:count], active),
        *body.result[count:],
        *sweep.results(inner, body.result[count:], others),
    ]
    function = Lambda((*parameters, *roots), inner.finish(*result), inner.types(result))
    arrays_count = sum(len(item.arrays) for item in exp.inputs)
    pattern, rest = statement.pattern[:arrays_count], statement.pattern[arrays_count:]
    tangents = _of_arrays(sweep, exp, pattern, active)
    more = sweep.parameters(rest, others)
    whole = (*pattern, *tangents, *rest, *more)
    build.bind(whole, WithAcc((*exp.inputs, *items), function))
    return tuple(build.statements)


def _of_arrays(
    sweep: Tangents, exp: WithAcc, pattern: tuple[Param, ...], active: tuple[bool, ...]
) -> tuple[Param, ...]:
    """The tangents of the updated arrays of active accumulators."""
    flags = [
        flag for item, flag in zip(exp.inputs, active, strict=True) for _ in item.arrays
    ]
    return sweep.parameters(pattern, flags)


@rule(paper="SC 2022, section 5.4")
def jvp_update_acc(statement: Stm, sweep: Tangents) -> Rewrite:
    r"""The tangent of the value goes where the value goes.

    before:
        given (k: i64, x: f64)
        let z: [4]f64 = replicate([4], 0.0f64)
        let r: [4]f64 = with_acc((acc([4], (z))),
            \(c: acc c [4] (f64)) -> (acc c [4] (f64)) {update_acc(c, (k), (x))})
    after:
        let z: [4]f64 = replicate([4], 0.0f64)
        let zeros: [4]f64 = replicate([4], 0.0f64)
        let (r: [4]f64, r_tan: [4]f64) = with_acc((acc([4], (z)), acc([4], (zeros))),
            \(c: acc c [4] (f64), acc: acc acc [4] (f64)) -> (acc c [4] (f64),
            acc acc [4] (f64)) {
          let u: acc c [4] (f64) = update_acc(c, (k), (x))
          let acc_1: acc acc [4] (f64) = update_acc(acc, (k), (x_seed))
          return u, acc_1
        })
        return r, r_tan
    """
    exp = statement.exp_of(UpdateAcc)
    (result,) = statement.pattern
    build = sweep.builder(statement)
    build.append(statement)
    values = [sweep.or_zero(build, value) for value in exp.values]
    accumulator = sweep.of(exp.accumulator)
    assert isinstance(accumulator, Name)
    updated = build.update_acc(accumulator, exp.indices, values)
    sweep.values[result.name] = updated
    return tuple(build.statements)
