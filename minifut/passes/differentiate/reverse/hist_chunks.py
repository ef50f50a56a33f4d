r"""Adjoints of histograms with any operator, chunk by chunk (`vjp_hist_chunks`).

    hist is xs
    →  ps = map (\is xs -> loop that combines one value at a time) (chunks of is, xs)
       map2 (\d p -> op d (reduce op p)) destinations (transpose ps)

Each chunk has bins of its own, and the loops over the chunks run in parallel, backwards
as well. There are so many chunks that combining their bins is less than the values are.
Bins may have any number of dimensions, values may be arrays, and the operator may
mention what the derivative is of.

IFL 2023 sorts the values by bin instead and scans the segments from both sides. On two
cores a sort alone took 2 to 7 times as long as this gradient (docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Callable

from minifut.ir import core, soacs
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, ForLoop, Stm
from minifut.ir.sizes import ONE, ZERO, Size, as_size, ceil_div, maximum, product
from minifut.ir.soacs import Hist, HistOp, map_
from minifut.ir.types import I64, row_type, shape_of
from minifut.names import Name
from minifut.passes.differentiate.reverse.operators import (
    apply,
    copy,
    identity,
)
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Reversed
from minifut.passes.sequential_parts import in_bounds
from minifut.rewrite.rule import rule

MOST = 256
"""chunks"""
SHORTEST = 4096
"""scalars in the values of a chunk"""
FOR_EACH_BIN = 32
"""values of a chunk, so that its bins are combined in less time than its values"""


@rule(paper="SC 2022, section 5.1")
def vjp_hist_chunks(statement: Stm, sweep: ReverseSweep) -> Reversed | None:
    r"""Any operator: chunks of values with bins of their own.

    before:
        given (n: i64, is: [n]i64, xs: [n]f64, w: [4]f64)
        let (result_2: [4]f64, derivative: [n]f64) = vjp(\(xs_1: [n]f64) -> ([4]f64) {
          let replicated: [4]f64 = replicate([4], -9.0f64)
          let histogram: [4]f64 = hist(n, (is, xs_1),
            bins([4], (replicated), (-9.0f64), \(xs_2: f64, xs_3: f64) -> (f64) {
              let a: f64 = exp_f64(xs_2)
              let b: f64 = exp_f64(xs_3)
              let sum: f64 = add_f64(a, b)
              return log_f64(sum)
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
            -9.0f64)
        let xs_99: [chunks * length]f64 = concat(0, chunks * length, xs, replicated_1)
        let xs_2: [chunks][length]f64 = reshape([chunks][length], xs_99)
        let x: [chunks][4]f64 = map(chunks, (is_2, xs_2), \(x_1: [length]i64, x_2:
            [length]f64) -> ([4]f64) {
          let replicated_2: [4]f64 = replicate([4], -9.0f64)
          let x_3: [4]f64 = loop (hist_1: [4]f64 = replicated_2) for i: i64 < length do
              {
            let x_4: i64 = x_1[i]
            let le: bool = le_i64(0i64, x_4)
            let lt: bool = lt_i64(x_4, 4i64)
            let and: bool = and_bool(le, lt)
            let hist_2: [4]f64 = if and then {
              let hist_3: f64 = hist_1[x_4]
              let x_5: f64 = x_2[i]
              let a: f64 = exp_f64(hist_3)
              let b: f64 = exp_f64(x_5)
              let sum: f64 = add_f64(a, b)
              let c: f64 = log_f64(sum)
              let hist_4: [4]f64 = hist_1 with [x_4] = c
              return hist_4
            } else {hist_1}
            return hist_2
          }
          return x_3
        })
        let x_6: [4][chunks]f64 = rearrange((1, 0), x)
        let (x_7: [4]f64, tape: [4]f64) = map(4, (x_6), \(x_8: [chunks]f64) -> (f64,
            f64) {
          let x_9: f64 = redomap(chunks, (x_8),
            reduce commutative(\(xs_3: f64, xs_4: f64) -> (f64) {
              let a_1: f64 = exp_f64(xs_3)
              let b_1: f64 = exp_f64(xs_4)
              let sum_1: f64 = add_f64(a_1, b_1)
              let c_1: f64 = log_f64(sum_1)
              return c_1
            }, (-9.0f64)),
            \(x_10: f64) -> (f64) {x_10})
          let b_2: f64 = exp_f64(x_9)
          let sum_2: f64 = add_f64(0.00012340980408667956f64, b_2)
          let c_2: f64 = log_f64(sum_2)
          return c_2, x_9
        })
        let extent_1: i64 = size(chunks - 1)
        let iota_1: [chunks]i64 = iota i64 (chunks, 0i64, 1i64)
        let x_11: [4][chunks]f64 = map(4, (x_6, w, tape), \(x_12: [chunks]f64, adj:
            f64, x_13: f64) -> ([chunks]f64) {
          let b_3: f64 = exp_f64(x_13)
          let sum_3: f64 = add_f64(0.00012340980408667956f64, b_3)
          let div_1: f64 = div_f64(1.0f64, sum_3)
          let mul: f64 = mul_f64(div_1, adj)
          let mul_1: f64 = mul_f64(b_3, mul)
          let x_14: [chunks]f64 = scanomap(chunks, (x_12),
            scan(\(xs_5: f64, xs_6: f64) -> (f64) {
              let a_2: f64 = exp_f64(xs_5)
              let b_4: f64 = exp_f64(xs_6)
              let sum_4: f64 = add_f64(a_2, b_4)
              let c_3: f64 = log_f64(sum_4)
              return c_3
            }, (-9.0f64)),
            \(x_15: f64) -> (f64) {x_15})
          let x_16: [chunks]f64 = x_12[extent_1 :+ chunks by -1i64]
          let x_17: [chunks]f64 = scanomap(chunks, (x_16),
            scan(\(xs_7: f64, xs_8: f64) -> (f64) {
              let a_3: f64 = exp_f64(xs_8)
              let b_5: f64 = exp_f64(xs_7)
              let sum_5: f64 = add_f64(a_3, b_5)
              let c_4: f64 = log_f64(sum_5)
              return c_4
            }, (-9.0f64)),
            \(x_18: f64) -> (f64) {x_18})
          let x_19: [chunks]f64 = map(chunks, (iota_1, x_12), \(x_20: i64, x_21: f64)
              -> (f64) {
            let eq: bool = eq_i64(x_20, 0i64)
            let before: f64 = if eq then {-9.0f64} else {
              let sub: i64 = sub_i64(x_20, 1i64)
              let x_22: f64 = x_14[sub]
              return x_22
            }
            let sub_1: i64 = sub_i64(extent_1, x_20)
            let eq_1: bool = eq_i64(sub_1, 0i64)
            let before_1: f64 = if eq_1 then {-9.0f64} else {
              let sub_2: i64 = sub_i64(sub_1, 1i64)
              let x_23: f64 = x_17[sub_2]
              return x_23
            }
            let a_4: f64 = exp_f64(x_21)
            let b_6: f64 = exp_f64(before_1)
            let sum_6: f64 = add_f64(a_4, b_6)
            let c_5: f64 = log_f64(sum_6)
            let a_5: f64 = exp_f64(before)
            let b_7: f64 = exp_f64(c_5)
            let sum_7: f64 = add_f64(a_5, b_7)
            let div_2: f64 = div_f64(1.0f64, sum_7)
            let mul_2: f64 = mul_f64(div_2, mul_1)
            let mul_3: f64 = mul_f64(b_7, mul_2)
            let div_3: f64 = div_f64(1.0f64, sum_6)
            let mul_4: f64 = mul_f64(div_3, mul_3)
            let mul_5: f64 = mul_f64(a_4, mul_4)
            return mul_5
          })
          return x_19
        })
        let x_24: [chunks][4]f64 = rearrange((1, 0), x_11)
        let rounds: i64 = max_i64(length, 0i64)
        let sub_3: i64 = sub_i64(rounds, 1i64)
        let x_25: [chunks][length]f64 = map(chunks, (is_2, xs_2, x_24), \(x_26:
            [length]i64, x_27: [length]f64, adj_1: [4]f64) -> ([length]f64) {
          let replicated_3: [4]f64 = replicate([4], -9.0f64)
          let scratch_1: [rounds]f64 = scratch(f64, [rounds])
          let scratch_2: [rounds]i64 = scratch(i64, [rounds])
          let scratch_3: [rounds]bool = scratch(bool, [rounds])
          let (x_28: [4]f64, tape_1: [rounds]f64, tape_2: [rounds]i64, tape_3:
              [rounds]bool) = loop (hist_5: [4]f64 = replicated_3, tape_4: [rounds]f64
                  = scratch_1, tape_5: [rounds]i64 = scratch_2, tape_6: [rounds]bool =
                      scratch_3) for i_1: i64 < length do {
            let x_29: i64 = x_26[i_1]
            let le_1: bool = le_i64(0i64, x_29)
            let lt_1: bool = lt_i64(x_29, 4i64)
            let and_1: bool = and_bool(le_1, lt_1)
            let (hist_6: [4]f64, given: f64, given_1: i64) = if and_1 then {
              let hist_7: f64 = hist_5[x_29]
              let x_30: f64 = x_27[i_1]
              let a_6: f64 = exp_f64(hist_7)
              let b_8: f64 = exp_f64(x_30)
              let sum_8: f64 = add_f64(a_6, b_8)
              let c_6: f64 = log_f64(sum_8)
              let hist_8: [4]f64 = hist_5 with [x_29] = c_6
              return hist_8, hist_7, x_29
            } else {hist_5, 0.0f64, 0i64}
            let tape_7: [rounds]f64 = tape_4 with [i_1] = given
            let tape_8: [rounds]i64 = tape_5 with [i_1] = given_1
            let tape_9: [rounds]bool = tape_6 with [i_1] = and_1
            return hist_6, tape_7, tape_8, tape_9
          }
          let zeros: [length]f64 = replicate([length], 0.0f64)
          let (after: [4]f64, adj_2: [4]f64, adj_3: [length]f64) = loop (after_1:
              [4]f64 = x_28, adj_4: [4]f64 = adj_1, adj_5: [length]f64 = zeros) for j:
                  i64 < rounds do {
            let sub_4: i64 = sub_i64(sub_3, j)
            let old: f64 = tape_1[sub_4]
            let old_1: i64 = tape_2[sub_4]
            let taken: bool = tape_3[sub_4]
            let after_2: [4]f64 = if taken then {
              let after_3: [4]f64 = after_1 with [old_1] = old
              return after_3
            } else {after_1}
            let x_31: i64 = x_26[sub_4]
            let le_2: bool = le_i64(0i64, x_31)
            let lt_2: bool = lt_i64(x_31, 4i64)
            let and_2: bool = and_bool(le_2, lt_2)
            let (x_adj: [length]f64, hist_adj: [4]f64) = if and_2 then {
              let hist_9: f64 = after_2[x_31]
              let x_32: f64 = x_27[sub_4]
              let a_7: f64 = exp_f64(hist_9)
              let b_9: f64 = exp_f64(x_32)
              let sum_9: f64 = add_f64(a_7, b_9)
              let adj_6: f64 = adj_4[x_31]
              let hist_adj_1: [4]f64 = adj_4 with [x_31] = 0.0f64
              let div_4: f64 = div_f64(1.0f64, sum_9)
              let mul_6: f64 = mul_f64(div_4, adj_6)
              let mul_7: f64 = mul_f64(b_9, mul_6)
              let mul_8: f64 = mul_f64(a_7, mul_6)
              let adj_7: f64 = adj_5[sub_4]
              let add: f64 = add_f64(adj_7, mul_7)
              let x_adj_1: [length]f64 = adj_5 with [sub_4] = add
              let hist_adj_2: f64 = hist_adj_1[x_31]
              let add_1: f64 = add_f64(hist_adj_2, mul_8)
              let hist_adj_3: [4]f64 = hist_adj_1 with [x_31] = add_1
              return x_adj_1, hist_adj_3
            } else {adj_5, adj_4}
            return after_2, hist_adj, x_adj
          }
          return adj_3
        })
        let x_33: [chunks * length]f64 = reshape([chunks * length], x_25)
        let x_34: [n]f64 = x_33[0i64 :+ n by 1i64]
        return x_7, x_34
    """
    exp = statement.exp
    assert isinstance(exp, Hist)
    (operator,) = exp.operators
    build = sweep.builder(statement)
    rank = len(operator.shape)
    chunks, length = _lengths(build, exp.width, operator)
    fillers = (*[i64(-1)] * rank, *operator.neutral)
    pairs = zip(exp.arrays, fillers, strict=True)
    given = [_chunks(build, array, filler, chunks, length) for array, filler in pairs]

    def chunk(inner: Builder, *rows: Name) -> tuple[Name, ...]:
        start = tuple(inner.replicate(operator.shape, x) for x in operator.neutral)
        return inner.let_many(_loop(inner, Size.of(length), rows, operator, start))

    function = build.function([row_type(build.type(a)) for a in given], chunk)
    partial = build.let_many(map_(Size.of(chunks), tuple(given), function))
    arrays = (*operator.destinations, *[_bins_first(build, a, rank) for a in partial])
    whole = _combined(Size.of(chunks), operator)
    for size in reversed(operator.shape):
        whole = _for_each(size, whole)
    made = whole(build, *arrays)
    for parameter, atom in zip(statement.pattern, made, strict=True):
        build.bind((parameter,), core.Copy(atom))
    return sweep.through(build, build.statements)


def _lengths(build: Builder, width: Size, operator: HistOp) -> tuple[Name, Name]:
    """How many chunks, of how many values each."""
    bins = product(operator.shape)
    scalars = sum((product(shape_of(t)) for t in operator.operator.results), ZERO)
    shortest = ceil_div(as_size(SHORTEST), maximum(scalars, ONE))
    least = build.size_atom(bins * FOR_EACH_BIN + shortest)
    wanted = build.op("div", build.size_atom(width), least)
    chunks = build.op("max", i64(1), build.op("min", wanted, i64(MOST)), base="chunks")
    last = build.size_atom(width + Size.of(chunks) - 1)
    return chunks, build.op("div", last, chunks, base="length")


def _chunks(
    build: Builder, array: Name, filler: Atom, chunks: Name, length: Name
) -> Name:
    """An array as rows, one for each chunk, filled up."""
    size, *row = build.shape(array)
    whole = Size.of(chunks) * Size.of(length)
    rest = build.replicate([whole - size], filler)
    filled = build.let(core.Concat(0, (array, rest), whole), array.base)
    return build.reshape(filled, [Size.of(chunks), Size.of(length), *row])


def _loop(
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


def _bins_first(build: Builder, array: Name, rank: int) -> Name:
    """The dimension of the chunks behind those of the bins."""
    rest = range(rank + 1, len(build.shape(array)))
    return build.rearrange(array, (*range(1, rank + 1), 0, *rest))


TupleFunction = Callable[..., tuple[Atom, ...]]


def _for_each(size: Size, function: TupleFunction) -> TupleFunction:
    """The map of a function."""

    def mapped(build: Builder, *arrays: Name) -> tuple[Atom, ...]:
        types = [row_type(build.type(array)) for array in arrays]
        return build.let_many(map_(size, arrays, build.function(types, function)))

    return mapped


def _combined(chunks: Size, operator: HistOp) -> TupleFunction:
    """The function from what was in a bin and the partial results of all chunks to what
    is in it afterwards."""

    def of_bin(inner: Builder, *given: Name) -> tuple[Atom, ...]:
        count = len(operator.destinations)
        fold = soacs.Reduce(copy(inner, operator.operator), operator.neutral, True)
        function = identity(inner, operator.operator.results)
        rows = given[count:]
        reduced = inner.let_many(soacs.redomap(chunks, rows, (fold,), function))
        return apply(inner, operator.operator, [*given[:count], *reduced])

    return of_bin
