r"""Histograms of joined arrays without the joined array (`split_histogram_of_concat`).

    hist (concat is js) hs   →   hist js (hist is hs)

The parts are combined with the bins one after the other, which an operator that is
associative and commutative allows, so that nothing is copied and what makes a part may
fuse with its histogram. Each histogram has bins for each thread to combine, so that
there may be few parts only.
"""

from __future__ import annotations

from minifut.ir.builder import i64
from minifut.ir.core import Concat, Copy, DimSlice, Stm
from minifut.ir.node import replace
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist
from minifut.ir.traverse import rename
from minifut.ir.types import shape_of
from minifut.names import Name
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

PARTS = 4


@rule(Hist)
def split_histogram_of_concat(statement: Stm, context: StatementContext) -> Outcome:
    r"""Combine the bins with the parts of a concatenation one after the other.

    before:
        given (n: i64, m: i64, k: i64, hs: [k]i32, is: [n]i64, js: [m]i64)
        let both: [n + m]i64 = concat(0, n + m, is, js)
        let rs: [k]i32 = hist(n + m, (both), bins([k], (hs), (0i32), add_i32),
          \(i: i64) -> (i64, i32) {i, 1i32})
    after:
        let both: [n + m]i64 = concat(0, n + m, is, js)
        let hs_1: [k]i32 = hist(n, (is), bins([k], (hs), (0i32), add_i32),
          \(i: i64) -> (i64, i32) {i, 1i32})
        let rs_1: [k]i32 = hist(m, (js), bins([k], (hs_1), (0i32), add_i32),
          \(i_1: i64) -> (i64, i32) {i_1, 1i32})
        let rs: [k]i32 = rs_1
    declines: no input is joined of a few arrays
        given (n: i64, k: i64, hs: [k]i32, is: [n]i64)
        let rs: [k]i32 = hist(n, (is), bins([k], (hs), (0i32), add_i32),
          \(i: i64) -> (i64, i32) {i, 1i32})
    """
    exp = statement.exp_of(Hist)
    joined = {array: _parts(context, array) for array in exp.arrays}
    sizes = next((_sizes(context, parts) for parts in joined.values() if parts), ())
    if not 1 < len(sizes) <= PARTS:
        return Declined("no input is joined of a few arrays")
    build = context.builder(statement)
    destinations = [operator.destinations for operator in exp.operators]
    start = Size.constant(0)
    made: list[Name] = []
    for number, size in enumerate(sizes):
        arrays = []
        for array in exp.arrays:
            parts = joined[array]
            if _sizes(context, parts) == sizes:
                arrays.append(parts[number])
                continue
            own = DimSlice(build.size_atom(start), size, i64(1))
            arrays.append(build.index(array, own))
        operators = tuple(
            replace(operator, destinations=own)
            for operator, own in zip(exp.operators, destinations, strict=True)
        )
        part = Hist(size, tuple(arrays), operators, exp.function)
        bases = [parameter.name.base for parameter in statement.pattern]
        made = list(build.let_many(rename(part, build.names), bases))
        rest = iter(made)
        destinations = [tuple(next(rest) for _ in own) for own in destinations]
        start = start + size
    for bound, name in zip(statement.pattern, made, strict=True):
        build.bind((bound,), Copy(name))
    return tuple(build.statements)


def _parts(context: StatementContext, array: Name) -> tuple[Name, ...]:
    """What an array is joined of along its first dimension."""
    match context.definition(array):
        case Concat(0, parts):
            return parts
    return ()


def _sizes(context: StatementContext, parts: tuple[Name, ...]) -> tuple[Size, ...]:
    return tuple(shape_of(context.scope[part])[0] for part in parts)
