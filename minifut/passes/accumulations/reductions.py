r"""Updates at indices that some maps around them do not change: reductions.

    map(n, (a, xs), \b x ->
      map(m, (b, iota m, ys), \c j y -> update_acc(c, (j), (x * y))))
    →  let sums = map(m, (ys), \y -> redomap(n, (xs), {op, ne}, \x -> x * y))
       map(m, (a, iota m, sums), \c j sum -> update_acc(c, (j), (sum)))

The levels that the indices do not differ with are summed up by a reduction, inside the
others. So an adjoint that every point of a map adds to is a reduction again, and can be
tiled like one. After the Futhark compiler's `GenRedOpt`.
"""

from __future__ import annotations

from minifut.ir.accumulators import WithAcc
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Body, If, Stm
from minifut.ir.sizes import Size, product
from minifut.ir.soacs import Reduce, redomap
from minifut.ir.traverse import rename
from minifut.ir.types import I64
from minifut.names import Name
from minifut.passes.accumulations.nest import UpdateNest, nest_of
from minifut.passes.flatten.cheap import all_cheap
from minifut.passes.simplify.hoisting import is_total
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(WithAcc)
def reduce_updates(statement: Stm, context: StatementContext) -> Outcome:
    r"""Sum up the values for each index, then update it once.

    before:
        given (n: i64, m: i64, xs: [n]i32, ys: [m]i32, zs: [m]i32)
        let is: [m]i64 = iota i64 (m, 0i64, 1i64)
        let rs: [m]i32 = with_acc((acc([m], (zs), (0i32), add_i32)),
          \(a: acc a [m] (i32)) -> (acc a [m] (i32)) {
          let f: acc a [m] (i32) = map(n, (a, xs),
            \(b: acc a [m] (i32), x: i32) -> (acc a [m] (i32)) {
              let e: acc a [m] (i32) = map(m, (b, is, ys),
                \(c: acc a [m] (i32), i: i64, y: i32) -> (acc a [m] (i32)) {
                  let v: i32 = mul_i32(x, y)
                  return update_acc(c, (i), (v))
                })
              return e
            })
          return f
        })
    after:
        let is: [m]i64 = iota i64 (m, 0i64, 1i64)
        let js: [m]i64 = iota i64 (m, 0i64, 1i64)
        let sums: [m]i32 = map(m, (js), \(j: i64) -> (i32) {
          let ks: [n]i64 = iota i64 (n, 0i64, 1i64)
          return redomap(n, (ks),
            reduce commutative(add_i32, (0i32)), \(k: i64) -> (i32) {
              let x: i32 = xs[k]
              let i: i64 = is[j]
              let y: i32 = ys[j]
              return mul_i32(x, y)
            })
        })
        let rs: [m]i32 = with_acc((acc([m], (zs), (0i32), add_i32)),
          \(a: acc a [m] (i32)) -> (acc a [m] (i32)) {
          let js_1: [m]i64 = iota i64 (m, 0i64, 1i64)
          return map(m, (a, js_1, sums),
            \(c: acc a [m] (i32), j_1: i64, sum_1: i32) -> (acc a [m] (i32)) {
              let i_1: i64 = is[j_1]
              return update_acc(c, (i_1), (sum_1))
            })
        })
    declines: the indices differ with every level
        like declines of distribute_updates
    """
    nest = nest_of(statement.exp_of(WithAcc))
    if nest is None or nest.item.operator is None or not nest.levels:
        return Declined("its body is no nest of maps around an update with an operator")
    differs = nest.differs()
    nothing: frozenset[int] = frozenset()
    kept = nothing.union(*(differs.get(i, nothing) for i in _names(nest.indices)))
    if len(kept) == len(nest.levels):
        return Declined("the indices differ with every level")
    if not all(all_cheap(level.statements) for level in nest.levels[:-1]):
        return Declined("what outer levels compute would be computed again")
    if nest.checks_outside:
        return Declined("outer levels have checks, which may not move inwards")
    for level in (nest.levels[number] for number in kept):
        needs = nothing.union(*(differs.get(n, nothing) for n in level.width.names()))
        if not needs <= kept:
            return Declined("the width of a level depends on one that is summed up")
    build = context.builder(statement)
    outer = sorted(kept)
    summed = [n for n in range(len(nest.levels)) if n not in kept]
    sums = _Sums(nest, summed).over(build, outer, {})
    widths = [nest.levels[number].width for number in summed]
    updates = _updates(build, nest, outer, product(tuple(widths)), sums)
    build.bind(statement.pattern, updates)
    return tuple(build.statements)


def _names(atoms: tuple[Atom, ...]) -> list[Name]:
    return [atom for atom in atoms if isinstance(atom, Name)]


class _Sums:
    """Maps over some levels with reductions over the others inside."""

    def __init__(self, nest: UpdateNest, summed: list[int]) -> None:
        self.nest = nest
        self.summed = summed

    def over(
        self, build: Builder, levels: list[int], at: dict[int, Atom]
    ) -> tuple[Atom, ...]:
        """Emit arrays over these levels; `at` are the points of those outside."""
        if not levels:
            return self.sum(build, self.summed, at)
        width = self.nest.levels[levels[0]].width

        def point(inner: Builder, i: Name) -> tuple[Atom, ...]:
            return self.over(inner, levels[1:], {**at, levels[0]: i})

        return build.map((build.iota(width),), point, row="i")

    def sum(
        self, build: Builder, levels: list[int], at: dict[int, Atom]
    ) -> tuple[Atom, ...]:
        """Emit the values, combined over the levels."""
        if not levels:
            return self.values(build, at)
        width, item = self.nest.levels[levels[0]].width, self.nest.item
        assert item.operator is not None

        def point(inner: Builder, i: Name) -> tuple[Atom, ...]:
            return self.sum(inner, levels[1:], {**at, levels[0]: i})

        points = build.iota(width)
        function = build.function((I64,), point, "i")
        operator = Reduce(rename(item.operator, build.names), item.neutral, True)
        return build.let_many(redomap(width, (points,), (operator,), function))

    def values(self, build: Builder, at: dict[int, Atom]) -> tuple[Atom, ...]:
        """Emit what one point of all levels computes."""
        statements: list[Stm] = []
        for number, level in enumerate(self.nest.levels):
            statements += (*level.rows(at[number]), *level.statements)
        return build.inline(Body(tuple(statements), self.nest.values))


def _updates(
    build: Builder,
    nest: UpdateNest,
    levels: list[int],
    points: Size,
    sums: tuple[Atom, ...],
) -> WithAcc | If:
    """The updates by sums for the points of the levels, if there are points to sum up:
    without them the program computes no indices, and reads nothing for these."""

    def update(
        inner: Builder, acc: Name, at: dict[int, Atom], values: tuple[Atom, ...]
    ) -> Name:
        indices = inner.inline(nest.needed(at, nest.indices))
        return inner.update_acc(acc, indices, values)

    rows = {p for level in nest.levels for p in level.parameters}
    needed = nest.needed(dict.fromkeys(levels, i64(0)), nest.indices).statements
    if all(is_total(s.exp) for s in needed if rows.isdisjoint(s.pattern)):
        return nest.updates(build, levels, update, sums)
    some = build.op("lt", i64(0), build.size_atom(points), base="some")
    inner = build.nested()
    then = inner.finish(*inner.let_many(nest.updates(inner, levels, update, sums)))
    return If(some, then, Body((), nest.item.arrays))
