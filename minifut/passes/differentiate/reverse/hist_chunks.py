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
from minifut.ir.core import Atom, Stm
from minifut.ir.node import replace
from minifut.ir.sizes import ONE, ZERO, Size, as_size, ceil_div, maximum, product
from minifut.ir.soacs import Hist, HistOp
from minifut.ir.types import shape_of
from minifut.names import Name
from minifut.passes.differentiate.reverse.folds import hist_of
from minifut.passes.differentiate.reverse.operators import identity
from minifut.passes.differentiate.reverse.sweep import ReverseSweep
from minifut.passes.differentiate.rules import Rewrite
from minifut.passes.sequentialise import loop_over_hist
from minifut.rewrite.rule import rule

MOST = 256
"""chunks"""
SHORTEST = 4096
"""scalars in the values of a chunk"""
FOR_EACH_BIN = 32
"""values of a chunk, so that its bins are combined in less time than its values"""


@rule(paper="SC 2022, section 5.1")
def vjp_hist_chunks(statement: Stm, sweep: ReverseSweep) -> Rewrite | None:
    r"""Any operator: chunks of values with bins of their own.

    before:
        given (n: i64, is: [n]i64, xs: [n]f64)
        let replicated: [4]f64 = replicate([4], 0.0f64)
        let histogram: [4]f64 = hist(n, (is, xs),
          bins([4], (replicated), (0.0f64), hypot_f64),
          \(x: i64, x_1: f64) -> (i64, f64) {x, x_1})
    after:
        let replicated: [4]f64 = replicate([4], 0.0f64)
        let div: i64 = div_i64(n, 4224i64)
        let min_1: i64 = min_i64(div, 256i64)
        let chunks: i64 = max_i64(1i64, min_1)
        let extent: i64 = size(chunks + n - 1)
        let length: i64 = div_i64(extent, chunks)
        let replicated_1: [chunks * length - n]i64 = replicate([chunks * length - n],
            -1i64)
        let is_1: [chunks * length]i64 = concat(0, chunks * length, is, replicated_1)
        let is_2: [chunks][length]i64 = reshape([chunks][length], is_1)
        let replicated_2: [chunks * length - n]f64 = replicate([chunks * length - n],
            0.0f64)
        let xs_1: [chunks * length]f64 = concat(0, chunks * length, xs, replicated_2)
        let xs_2: [chunks][length]f64 = reshape([chunks][length], xs_1)
        let x: [chunks][4]f64 = map(chunks, (is_2, xs_2), \(x_1: [length]i64,
            x_2: [length]f64) -> ([4]f64) {
          let replicated_3: [4]f64 = replicate([4], 0.0f64)
          return loop (hist_1: [4]f64 = replicated_3) for i: i64 < length do
              {
            let x_4: i64 = x_1[i]
            let x_5: f64 = x_2[i]
            let le: bool = le_i64(0i64, x_4)
            let lt: bool = lt_i64(x_4, 4i64)
            let and: bool = and_bool(le, lt)
            return if and then {
              let hist_3: f64 = hist_1[x_4]
              let xs_3: f64 = hist_3
              let xs_4: f64 = x_5
              let c: f64 = hypot_f64(xs_3, xs_4)
              return hist_1 with [x_4] = c
            } else {hist_1}
          }
        })
        let x_6: [4][chunks]f64 = rearrange((1, 0), x)
        let x_7: [4]f64 = map(4, (replicated, x_6), \(x_8: f64,
            x_9: [chunks]f64) -> (f64) {
          let x_10: f64 = redomap(chunks, (x_9),
            reduce commutative(hypot_f64, (0.0f64)),
            \(x_11: f64) -> (f64) {x_11})
          let xs_7: f64 = x_8
          let xs_8: f64 = x_10
          return hypot_f64(xs_7, xs_8)
        })
        let histogram: [4]f64 = x_7
    """
    exp = statement.exp_of(Hist)
    (operator,) = exp.operators
    build = sweep.builder(statement)
    rank = len(operator.shape)
    chunks, length = _lengths(build, exp.width, operator)
    fillers = (*[i64(-1)] * rank, *operator.neutral)
    pairs = zip(exp.arrays, fillers, strict=True)
    given = [_chunks(build, array, filler, chunks, length) for array, filler in pairs]

    def chunk(inner: Builder, *rows: Name) -> tuple[Name, ...]:
        start = tuple(inner.replicate(operator.shape, x) for x in operator.neutral)
        one = hist_of(
            inner, Size.of(length), rows, replace(operator, destinations=start)
        )
        made = inner.parameters(inner.types(start), "hist")
        loop_over_hist(inner, Stm(made, one), one)
        return tuple(parameter.name for parameter in made)

    partial = build.map(given, chunk)
    arrays = (*operator.destinations, *[_bins_first(build, a, rank) for a in partial])
    whole = _combined(Size.of(chunks), operator)
    for _ in operator.shape:
        whole = _for_each(whole)
    made = whole(build, *arrays)
    for parameter, atom in zip(statement.pattern, made, strict=True):
        build.bind((parameter,), core.Copy(atom))
    return tuple(build.statements)


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


def _bins_first(build: Builder, array: Name, rank: int) -> Name:
    """The dimension of the chunks behind those of the bins."""
    rest = range(rank + 1, len(build.shape(array)))
    return build.rearrange(array, (*range(1, rank + 1), 0, *rest))


TupleFunction = Callable[..., tuple[Atom, ...]]


def _for_each(function: TupleFunction) -> TupleFunction:
    """The map of a function."""
    return lambda build, *arrays: build.map(arrays, function)


def _combined(chunks: Size, operator: HistOp) -> TupleFunction:
    """The function from what was in a bin and the partial results of all chunks to what
    is in it afterwards."""

    def of_bin(inner: Builder, *given: Name) -> tuple[Atom, ...]:
        count = len(operator.destinations)
        fold = soacs.Reduce(inner.copy(operator.operator), operator.neutral, True)
        function = identity(inner, operator.operator.results)
        rows = given[count:]
        reduced = inner.let_many(soacs.redomap(chunks, rows, (fold,), function))
        return inner.apply(operator.operator, [*given[:count], *reduced])

    return of_bin
