r"""Adjoints of histograms with any operator, chunk by chunk (`vjp_hist_chunks`).

    hist is xs
    →  ps = map (\is xs -> loop that combines one value at a time) (chunks of is, xs)
       map2 (\d p -> op d (reduce op p)) destinations (transpose ps)

Each chunk has bins of its own, and the loops over the chunks run in parallel, backwards
as well. There are so many chunks that combining their bins is less than the values are.

IFL 2023 sorts the values by bin instead and scans the segments from both sides. On two
cores a sort alone took 2 to 7 times as long as this gradient (docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Callable

from minifut.ir import core, soacs
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Stm
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, HistOp, map_
from minifut.ir.types import row_type
from minifut.names import Name
from minifut.passes.differentiate.reverse.folds import takes
from minifut.passes.differentiate.reverse.hist_loop import loop_of
from minifut.passes.differentiate.reverse.operators import (
    all_scalar,
    apply,
    copy,
    identity,
)
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.rewrite.rule import rule

MOST = 256
"""chunks"""
SHORTEST = 4096
"""values of a chunk"""
FOR_EACH_BIN = 32
"""values of a chunk, so that its bins are combined in less time than its values"""


@rule(paper="SC 2022, section 5.1")
def vjp_hist_chunks(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""Any operator on scalars: chunks of values with bins of their own.

    before:
        given (n: i64, is: [n]i64, xs: [n]f64, w: [4]f64)
        let (result_2: [4]f64, derivative: [n]f64) = vjp(\(xs_1: [n]f64) -> ([4]f64) {
          let replicated: [4]f64 = replicate([4], 0.0f64)
          let histogram: [4]f64 = hist(n, (is, xs_1),
            bins([4], (replicated), (0.0f64), \(xs_2: f64, xs_3: f64) -> (f64) {
              let add: f64 = add_f64(xs_2, xs_3)
              let mul: f64 = mul_f64(xs_2, xs_3)
              return add_f64(add, mul)
            }),
            \(x: i64, x_1: f64) -> (i64, f64) {x, x_1})
          return histogram
        }, (xs), (w), [])
        return result_2, derivative
    after:
        let div: i64 = div_i64(n, 4224i64)
        let min_1: i64 = min_i64(div, 256i64)
        let chunks: i64 = max_i64(1i64, min_1)
        let extent: i64 = size(chunks + n - 1)
        let length: i64 = div_i64(extent, chunks)
        let replicated: [chunks * length - n]i64 = replicate([chunks * length - n],
            -1i64)
        let is_99: [chunks * length]i64 = concat(0, chunks * length, is, replicated)
        let is_2: [chunks][length]i64 = reshape([chunks][length], is_99)
        let replicated_1: [chunks * length - n]f64 = replicate([chunks * length - n],
            0.0f64)
        let xs_99: [chunks * length]f64 = concat(0, chunks * length, xs, replicated_1)
        let xs_2: [chunks][length]f64 = reshape([chunks][length], xs_99)
        let x: [chunks][4]f64 = map(chunks, (is_2, xs_2), \(x_1: [length]i64, x_2:
            [length]f64) -> ([4]f64) {
          let replicated_2: [4]f64 = replicate([4], 0.0f64)
          let x_3: [4]f64 = loop (hist_1: [4]f64 = replicated_2) for i: i64 < length do
              {
            let x_4: i64 = x_1[i]
            let le: bool = le_i64(0i64, x_4)
            let lt: bool = lt_i64(x_4, 4i64)
            let and: bool = and_bool(le, lt)
            let hist_2: [4]f64 = if and then {
              let hist_3: f64 = hist_1[x_4]
              let x_5: f64 = x_2[i]
              let add: f64 = add_f64(hist_3, x_5)
              let mul: f64 = mul_f64(hist_3, x_5)
              let c: f64 = add_f64(add, mul)
              let hist_4: [4]f64 = hist_1 with [x_4] = c
              return hist_4
            } else {hist_1}
            return hist_2
          }
          return x_3
        })
        let x_6: [4][chunks]f64 = rearrange((1, 0), x)
        let histogram: [4]f64 = map(4, (x_6), \(x_7: [chunks]f64) -> (f64) {
          let x_8: f64 = redomap(chunks, (x_7),
            reduce commutative(\(xs_3: f64, xs_4: f64) -> (f64) {
              let add_1: f64 = add_f64(xs_3, xs_4)
              let mul_1: f64 = mul_f64(xs_3, xs_4)
              return add_f64(add_1, mul_1)
            }, (0.0f64)),
            \(x_9: f64) -> (f64) {x_9})
          let mul_2: f64 = mul_f64(0.0f64, x_8)
          return add_f64(x_8, mul_2)
        })
        let extent_1: i64 = size(chunks - 1)
        let iota_1: [chunks]i64 = iota i64 (chunks, 0i64, 1i64)
        let x_10: [4][chunks]f64 = map(4, (x_6, w), \(x_11: [chunks]f64, adj: f64) ->
            ([chunks]f64) {
          let mul_3: f64 = mul_f64(0.0f64, adj)
          let add_2: f64 = add_f64(mul_3, adj)
          let x_12: [chunks]f64 = scanomap(chunks, (x_11),
            scan(\(xs_5: f64, xs_6: f64) -> (f64) {
              let add_3: f64 = add_f64(xs_5, xs_6)
              let mul_4: f64 = mul_f64(xs_5, xs_6)
              return add_f64(add_3, mul_4)
            }, (0.0f64)),
            \(x_13: f64) -> (f64) {x_13})
          let x_14: [chunks]f64 = x_11[extent_1 :+ chunks by -1i64]
          let x_15: [chunks]f64 = scanomap(chunks, (x_14),
            scan(\(xs_7: f64, xs_8: f64) -> (f64) {
              let add_4: f64 = add_f64(xs_8, xs_7)
              let mul_5: f64 = mul_f64(xs_8, xs_7)
              return add_f64(add_4, mul_5)
            }, (0.0f64)),
            \(x_16: f64) -> (f64) {x_16})
          let x_17: [chunks]f64 = map(chunks, (iota_1), \(x_18: i64) -> (f64) {
            let eq: bool = eq_i64(x_18, 0i64)
            let before: f64 = if eq then {0.0f64} else {
              let sub: i64 = sub_i64(x_18, 1i64)
              let x_19: f64 = x_12[sub]
              return x_19
            }
            let sub_1: i64 = sub_i64(extent_1, x_18)
            let eq_1: bool = eq_i64(sub_1, 0i64)
            let before_1: f64 = if eq_1 then {0.0f64} else {
              let sub_2: i64 = sub_i64(sub_1, 1i64)
              let x_20: f64 = x_15[sub_2]
              return x_20
            }
            let mul_6: f64 = mul_f64(before, add_2)
            let add_5: f64 = add_f64(mul_6, add_2)
            let mul_7: f64 = mul_f64(before_1, add_5)
            return add_f64(mul_7, add_5)
          })
          return x_17
        })
        let x_21: [chunks][4]f64 = rearrange((1, 0), x_10)
        let rounds: i64 = max_i64(length, 0i64)
        let sub_3: i64 = sub_i64(rounds, 1i64)
        let x_22: [chunks][length]f64 = map(chunks, (is_2, xs_2, x_21), \(x_23:
            [length]i64, x_24: [length]f64, adj_1: [4]f64) -> ([length]f64) {
          let replicated_3: [4]f64 = replicate([4], 0.0f64)
          let scratch_1: [rounds]f64 = scratch(f64, [rounds])
          let scratch_2: [rounds]i64 = scratch(i64, [rounds])
          let scratch_3: [rounds]bool = scratch(bool, [rounds])
          let (x_25: [4]f64, tape: [rounds]f64, tape_1: [rounds]i64, tape_2:
              [rounds]bool) = loop (hist_5: [4]f64 = replicated_3, tape_3: [rounds]f64
              = scratch_1, tape_4: [rounds]i64 = scratch_2, tape_5: [rounds]bool =
              scratch_3) for i_1: i64 < length do {
            let x_26: i64 = x_23[i_1]
            let le_1: bool = le_i64(0i64, x_26)
            let lt_1: bool = lt_i64(x_26, 4i64)
            let and_1: bool = and_bool(le_1, lt_1)
            let (hist_6: [4]f64, given: f64, given_1: i64) = if and_1 then {
              let hist_7: f64 = hist_5[x_26]
              let x_27: f64 = x_24[i_1]
              let add_7: f64 = add_f64(hist_7, x_27)
              let mul_8: f64 = mul_f64(hist_7, x_27)
              let c_5: f64 = add_f64(add_7, mul_8)
              let hist_8: [4]f64 = hist_5 with [x_26] = c_5
              return hist_8, hist_7, x_26
            } else {hist_5, 0.0f64, 0i64}
            let tape_6: [rounds]f64 = tape_3 with [i_1] = given
            let tape_7: [rounds]i64 = tape_4 with [i_1] = given_1
            let tape_8: [rounds]bool = tape_5 with [i_1] = and_1
            return hist_6, tape_6, tape_7, tape_8
          }
          let zeros: [length]f64 = replicate([length], 0.0f64)
          let (after: [4]f64, adj_2: [4]f64, adj_3: [length]f64) = loop (after_1:
              [4]f64 = x_25, adj_4: [4]f64 = adj_1, adj_5: [length]f64 = zeros) for j:
              i64 < rounds do {
            let sub_4: i64 = sub_i64(sub_3, j)
            let old: f64 = tape[sub_4]
            let old_1: i64 = tape_1[sub_4]
            let taken: bool = tape_2[sub_4]
            let after_2: [4]f64 = if taken then {
              let after_3: [4]f64 = after_1 with [old_1] = old
              return after_3
            } else {after_1}
            let x_28: i64 = x_23[sub_4]
            let le_2: bool = le_i64(0i64, x_28)
            let lt_2: bool = lt_i64(x_28, 4i64)
            let and_2: bool = and_bool(le_2, lt_2)
            let (x_adj: [length]f64, hist_adj: [4]f64) = if and_2 then {
              let hist_9: f64 = after_2[x_28]
              let x_29: f64 = x_24[sub_4]
              let adj_6: f64 = adj_4[x_28]
              let hist_adj_1: [4]f64 = adj_4 with [x_28] = 0.0f64
              let mul_9: f64 = mul_f64(x_29, adj_6)
              let mul_10: f64 = mul_f64(hist_9, adj_6)
              let add_8: f64 = add_f64(mul_9, adj_6)
              let add_9: f64 = add_f64(mul_10, adj_6)
              let adj_7: f64 = adj_5[sub_4]
              let add_10: f64 = add_f64(adj_7, add_9)
              let x_adj_1: [length]f64 = adj_5 with [sub_4] = add_10
              let hist_adj_2: f64 = hist_adj_1[x_28]
              let add_11: f64 = add_f64(hist_adj_2, add_8)
              let hist_adj_3: [4]f64 = hist_adj_1 with [x_28] = add_11
              return x_adj_1, hist_adj_3
            } else {adj_5, adj_4}
            return after_2, hist_adj, x_adj
          }
          return adj_3
        })
        let x_30: [chunks * length]f64 = reshape([chunks * length], x_22)
        let x_31: [n]f64 = x_30[0i64 :+ n by 1i64]
        return histogram, x_31
    """
    exp = statement.exp
    assert isinstance(exp, Hist)
    (operator,) = exp.operators
    scalars = all_scalar(operator.operator.results)
    if len(operator.shape) != 1 or not scalars or not takes(operator.operator, sweep):
        return None
    build = sweep.builder(statement)
    (bins,) = operator.shape
    least = build.size_atom(bins * FOR_EACH_BIN + SHORTEST)
    wanted = build.op("div", build.size_atom(exp.width), least)
    chunks = build.op("max", i64(1), build.op("min", wanted, i64(MOST)), base="chunks")
    last = build.size_atom(exp.width + Size.of(chunks) - 1)
    length = build.op("div", last, chunks, base="length")
    fillers = (i64(-1), *operator.neutral)
    pairs = zip(exp.arrays, fillers, strict=True)
    given = [_chunks(build, array, filler, chunks, length) for array, filler in pairs]

    def chunk(inner: Builder, *rows: Name) -> tuple[Name, ...]:
        start = tuple(inner.replicate([bins], atom) for atom in operator.neutral)
        one = loop_of(inner, Size.of(length), rows, operator, start)
        return inner.let_many(one)

    function = build.function([row_type(build.type(a)) for a in given], chunk)
    partial = build.let_many(map_(Size.of(chunks), tuple(given), function))
    of_bins = [build.rearrange(array, (1, 0)) for array in partial]
    whole = _combined(build, Size.of(chunks), operator)
    arrays = (*operator.destinations, *of_bins)
    function = build.function([row_type(build.type(a)) for a in arrays], whole)
    build.bind(statement.pattern, map_(bins, arrays, function))
    return sweep.through(build, build.statements)


def _chunks(
    build: Builder, array: Name, filler: Atom, chunks: Name, length: Name
) -> Name:
    """An array as rows, one for each chunk, filled up."""
    (size,) = build.shape(array)
    whole = Size.of(chunks) * Size.of(length)
    rest = build.replicate([whole - size], filler)
    filled = build.let(core.Concat(0, (array, rest), whole), array.base)
    return build.reshape(filled, [Size.of(chunks), Size.of(length)])


def _combined(
    build: Builder, chunks: Size, operator: HistOp
) -> Callable[..., tuple[Atom, ...]]:
    """The function from what was in a bin and the partial results of all chunks to what
    is in it afterwards."""

    def of_bin(inner: Builder, *given: Name) -> tuple[Atom, ...]:
        count = len(operator.destinations)
        fold = soacs.Reduce(copy(build, operator.operator), operator.neutral, True)
        function = identity(inner, operator.operator.results)
        rows = given[count:]
        reduced = inner.let_many(soacs.redomap(chunks, rows, (fold,), function))
        return apply(inner, operator.operator, [*given[:count], *reduced])

    return of_bin
