r"""Adjoints of histograms with any operator: a loop that combines one value at a time
(`vjp_hist`).
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, ForLoop, Stm
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, HistOp
from minifut.ir.types import I64
from minifut.names import Name
from minifut.passes.differentiate.reverse.operators import apply
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.passes.sequential_parts import in_bounds
from minifut.rewrite.rule import rule


@rule(paper="IFL 2023")
def vjp_hist(statement: Stm, sweep: ReverseSweep) -> Reversed:
    r"""Any operator: a loop that combines one value at a time.

    before:
        given (n: i64, is: [n]i64, js: [n]i64, xs: [n]f64, w: [4][2]f64)
        let (result_2: [4][2]f64,
            derivative: [n]f64) = vjp(\(xs_1: [n]f64) -> ([4][2]f64) {
          let replicated: [4][2]f64 = replicate([4][2], 0.0f64)
          let histogram: [4][2]f64 = hist(n, (is, js, xs_1),
            bins([4][2], (replicated), (0.0f64), \(xs_2: f64, xs_3: f64) -> (f64) {
              let add: f64 = add_f64(xs_2, xs_3)
              let mul: f64 = mul_f64(xs_2, xs_3)
              return add_f64(add, mul)
            }),
            \(x: i64, y: i64, x_1: f64) -> (i64, i64, f64) {x, y, x_1})
          return histogram
        }, (xs), (w), [])
        return result_2, derivative
    after:
        let replicated: [4][2]f64 = replicate([4][2], 0.0f64)
        let rounds: i64 = max_i64(n, 0i64)
        let scratch_1: [rounds]f64 = scratch(f64, [rounds])
        let scratch_2: [rounds]i64 = scratch(i64, [rounds])
        let scratch_3: [rounds]i64 = scratch(i64, [rounds])
        let scratch_4: [rounds]bool = scratch(bool, [rounds])
        let (histogram: [4][2]f64, tape: [rounds]f64, tape_1: [rounds]i64, tape_2:
            [rounds]i64, tape_3: [rounds]bool) = loop (hist_1: [4][2]f64 = replicated,
            tape_4: [rounds]f64 = scratch_1, tape_5: [rounds]i64 = scratch_2, tape_6:
            [rounds]i64 = scratch_3, tape_7: [rounds]bool = scratch_4) for i: i64 < n
            do {
          let is_99: i64 = is[i]
          let js_99: i64 = js[i]
          let le: bool = le_i64(0i64, is_99)
          let lt: bool = lt_i64(is_99, 4i64)
          let le_1: bool = le_i64(0i64, js_99)
          let lt_1: bool = lt_i64(js_99, 2i64)
          let and: bool = and_bool(le, lt)
          let and_1: bool = and_bool(and, le_1)
          let and_2: bool = and_bool(and_1, lt_1)
          let (hist_2: [4][2]f64, given: f64, given_1: i64, given_2: i64) = if and_2
              then {
            let hist_3: f64 = hist_1[is_99, js_99]
            let xs_99: f64 = xs[i]
            let add: f64 = add_f64(hist_3, xs_99)
            let mul: f64 = mul_f64(hist_3, xs_99)
            let c: f64 = add_f64(add, mul)
            let hist_4: [4][2]f64 = hist_1 with [is_99, js_99] = c
            return hist_4, hist_3, is_99, js_99
          } else {hist_1, 0.0f64, 0i64, 0i64}
          let tape_8: [rounds]f64 = tape_4 with [i] = given
          let tape_9: [rounds]i64 = tape_5 with [i] = given_1
          let tape_10: [rounds]i64 = tape_6 with [i] = given_2
          let tape_11: [rounds]bool = tape_7 with [i] = and_2
          return hist_2, tape_8, tape_9, tape_10, tape_11
        }
        let zeros: [n]f64 = replicate([n], 0.0f64)
        let sub: i64 = sub_i64(rounds, 1i64)
        let (after: [4][2]f64, adj: [4][2]f64, adj_1: [n]f64) = loop (after_1:
            [4][2]f64 = histogram, adj_2: [4][2]f64 = w, adj_3: [n]f64 = zeros) for j:
            i64 < rounds do {
          let sub_1: i64 = sub_i64(sub, j)
          let old: f64 = tape[sub_1]
          let old_1: i64 = tape_1[sub_1]
          let old_2: i64 = tape_2[sub_1]
          let taken: bool = tape_3[sub_1]
          let after_2: [4][2]f64 = if taken then {
            let after_3: [4][2]f64 = after_1 with [old_1, old_2] = old
            return after_3
          } else {after_1}
          let is_2: i64 = is[sub_1]
          let js_2: i64 = js[sub_1]
          let le_2: bool = le_i64(0i64, is_2)
          let lt_2: bool = lt_i64(is_2, 4i64)
          let le_3: bool = le_i64(0i64, js_2)
          let lt_3: bool = lt_i64(js_2, 2i64)
          let and_3: bool = and_bool(le_2, lt_2)
          let and_4: bool = and_bool(and_3, le_3)
          let and_5: bool = and_bool(and_4, lt_3)
          let (xs_adj: [n]f64, hist_adj: [4][2]f64) = if and_5 then {
            let hist_5: f64 = after_2[is_2, js_2]
            let xs_2: f64 = xs[sub_1]
            let adj_4: f64 = adj_2[is_2, js_2]
            let hist_adj_1: [4][2]f64 = adj_2 with [is_2, js_2] = 0.0f64
            let mul_1: f64 = mul_f64(xs_2, adj_4)
            let mul_2: f64 = mul_f64(hist_5, adj_4)
            let add_1: f64 = add_f64(mul_1, adj_4)
            let add_2: f64 = add_f64(mul_2, adj_4)
            let adj_5: f64 = adj_3[sub_1]
            let add_3: f64 = add_f64(adj_5, add_2)
            let xs_adj_1: [n]f64 = adj_3 with [sub_1] = add_3
            let hist_adj_2: f64 = hist_adj_1[is_2, js_2]
            let add_4: f64 = add_f64(hist_adj_2, add_1)
            let hist_adj_3: [4][2]f64 = hist_adj_1 with [is_2, js_2] = add_4
            return xs_adj_1, hist_adj_3
          } else {adj_3, adj_2}
          return after_2, hist_adj, xs_adj
        }
        return histogram, adj_1
    """
    exp = statement.exp
    assert isinstance(exp, Hist)
    build = sweep.builder(statement)
    (operator,) = exp.operators
    loop = loop_of(build, exp.width, exp.arrays, operator, operator.destinations)
    build.bind(statement.pattern, loop)
    return sweep.through(build, build.statements)


def loop_of(
    build: Builder,
    width: Size,
    arrays: tuple[Name, ...],
    operator: HistOp,
    start: tuple[Name, ...],
) -> core.Loop:
    """The loop that combines one value at a time, from what is in the bins at the
    start."""
    rank = len(operator.shape)
    bins, values = arrays[:rank], arrays[rank:]
    carried = build.parameters([build.type(d) for d in start], "hist")
    names = [parameter.name for parameter in carried]
    index = build.names.fresh("i")
    build.scope[index] = I64
    with build.body() as inner:
        at: tuple[Atom, ...] = tuple(inner.index(array, index) for array in bins)
        inside = in_bounds(inner, at, operator.shape)
        with inner.body() as then, inner.body() as otherwise:
            old = [then.index(array, *at) for array in names]
            new = [then.index(array, index) for array in values]
            made = apply(then, operator.operator, [*old, *new])
            pairs = zip(names, made, strict=True)
            changed = then.finish(*[then.update(a, at, x) for a, x in pairs])
            same = otherwise.finish(*names)
        results = inner.parameters([p.type for p in carried], "hist")
        following = inner.bind(results, core.If(inside, changed, same))
        body = inner.finish(*following)
    form = ForLoop(index, build.size_atom(width), I64)
    return core.Loop(carried, start, form, body)
