r"""Updates of a map at indices that it computes: a histogram (`gather_in_histogram`).

    with_acc((acc(hs, op)), \a -> map(n, (a, xs), \b x -> update_acc(b, g x)))
    →  hist(n, (xs), bins([k], (hs), (ne), op), g)

Histograms have lowerings of their own: bins in local memory, several sub-histograms.
Levels inside that number the last dimensions update rows: a histogram of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minifut.ir.accumulators import WithAcc
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Lambda, Stm
from minifut.ir.sizes import Size
from minifut.ir.soacs import Hist, HistOp, map_
from minifut.ir.traverse import rename
from minifut.ir.types import array_of
from minifut.names import Name
from minifut.passes.accumulations.elements import level_of
from minifut.passes.accumulations.nest import MapLevel, UpdateNest, nest_of
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(WithAcc)
def gather_in_histogram(statement: Stm, context: StatementContext) -> Outcome:
    r"""Make a histogram of a map whose points update an element or a row each.

    before:
        given (n: i64, k: i64, hs: [k]i32, xs: [n]i32)
        let ys: [k]i32 = with_acc((acc([k], (hs), (0i32), add_i32)),
          \(a: acc a [k] (i32)) -> (acc a [k] (i32)) {
          return map(n, (a, xs), \(b: acc a [k] (i32), x: i32) -> (acc a [k] (i32)) {
              let i: i64 = convert_i32_i64(x)
              return update_acc(b, (i), (x))
            })
        })
    after:
        let ys: [k]i32 = hist(n, (xs),
          bins([k], (hs), (0i32), add_i32), \(x: i32) -> (i64, i32) {
            let i: i64 = convert_i32_i64(x)
            return i, x
          })
    declines: its updates overwrite each other
        like before, with
        (hs), (0i32), add_i32 => (hs)
    """
    nest = nest_of(statement.exp_of(WithAcc))
    if nest is None or not nest.levels or not _of_rows(nest, context):
        return Declined("its updates are not those of one map, of elements or rows")
    if nest.item.operator is None:
        return Declined("its updates overwrite each other")
    build = context.builder(statement)
    rank = len(nest.indices) - len(nest.levels) + 1
    level, item = nest.levels[0], nest.item
    operator, neutral = nest.item.operator, list(nest.item.neutral)
    for size in reversed(item.shape[rank:]):
        operator = _by_rows(build, operator, size)
        neutral = [build.replicate((size,), atom) for atom in neutral]

    def point(inner: Builder) -> tuple[Atom, ...]:
        return (*nest.indices[:rank], *_values(inner, nest, nest.levels[1:]))

    function = _lambda(build, level, point)
    bins = HistOp(item.shape[:rank], item.arrays, tuple(neutral), operator)
    build.bind(statement.pattern, Hist(level.width, level.arrays, (bins,), function))
    return tuple(build.statements)


def _of_rows(nest: UpdateNest, context: StatementContext) -> bool:
    """Whether the levels but the first number the last dimensions, in order, and the
    other indices are the same for all their points."""
    rank = len(nest.indices) - len(nest.levels) + 1
    if rank < 1:
        return False
    for number, level in enumerate(nest.levels[1:], start=1):
        dimension = rank + number - 1
        if level_of(nest, nest.indices[dimension], context) != number:
            return False
        if level.width != nest.item.shape[dimension]:
            return False
    differs = nest.differs()
    indices = [i for i in nest.indices[:rank] if isinstance(i, Name)]
    return all(differs.get(index, frozenset()) <= {0} for index in indices)


def _lambda(
    build: Builder, level: MapLevel, make: Callable[..., Sequence[Atom]]
) -> Lambda:
    """What one point of a level computes, as a function of its parameters."""
    build.scope.update((p.name, p.type) for p in level.parameters)
    inner = build.nested()
    inner.extend(level.statements)
    result = make(inner)
    return Lambda(level.parameters, inner.finish(*result), inner.types(result))


def _values(
    build: Builder, nest: UpdateNest, levels: Sequence[MapLevel]
) -> tuple[Atom, ...]:
    """Emit the values for all points of the levels, as rows."""
    if not levels:
        return nest.values
    first, *rest = levels
    function = _lambda(build, first, lambda inner: _values(inner, nest, rest))
    return build.let_many(map_(first.width, first.arrays, function))


def _by_rows(build: Builder, operator: Lambda, size: Size) -> Lambda:
    """The operator on rows, element by element."""
    rows = [array_of(p.type, (size,)) for p in operator.parameters]

    def combine(inner: Builder, *both: Name) -> tuple[Name, ...]:
        return inner.map(both, rename(operator, build.names))

    return build.function(rows, combine)
