r"""Updates at shifted indices: every element gathers its one value
(`gather_shifted_updates`).

    with_acc(.. map(n, (a, iota n, xs), \b i x -> update_acc(b, (i + c), (f x))))
    →  map(k, (as, iota k), \old j ->
         let i = j - c  in op(old, if i < 0 || i >= n then ne else f xs[i]))

So the adjoint of a stencil is a stencil. Each index is the number of another level,
plus what does not change in the nest, so that no element has two updates. An index may
be chosen by a branch that updates nothing otherwise (index -1). Conditions: the
operator is known, there are no checks, and levels outside compute only what is cheap to
repeat.
"""

from __future__ import annotations

from minifut.ir import search, soacs, types
from minifut.ir.accumulators import WithAcc
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Assert, Atom, Body, If, Lambda, ScalarOp, Stm, Trace
from minifut.ir.node import immutable
from minifut.names import Name
from minifut.passes.accumulations.branches import OUTSIDE
from minifut.passes.accumulations.elements import all_neutral, level_of
from minifut.passes.accumulations.nest import UpdateNest, nest_of
from minifut.passes.flatten.cheap import all_cheap
from minifut.rewrite.context import StatementContext
from minifut.rewrite.rule import Declined, Outcome, rule

OTHER_INDICES = Declined("its indices are not those of its levels, shifted")


@immutable
class _Shift:
    """An index: the number of a level, then `add` or `sub` of atoms, in that order."""

    level: int
    steps: tuple[tuple[str, Atom], ...] = ()


@rule(WithAcc)
def gather_shifted_updates(statement: Stm, context: StatementContext) -> Outcome:
    r"""Fetch for every element what would have been sent to it.

    before:
        given (n: i64, xs: [n]i32, ys: [n]i32)
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let zs: [n]i32 = with_acc((acc([n], (ys), (0i32), add_i32)),
          \(a: acc a [n] (i32)) -> (acc a [n] (i32)) {
          return map(n, (a, is, xs),
            \(b: acc a [n] (i32), i: i64, x: i32) -> (acc a [n] (i32)) {
              let j: i64 = add_i64(i, 2i64)
              let c: acc a [n] (i32) = update_acc(b, (j), (x))
              return c
            })
        })
    after:
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let is_1: [n]i64 = iota i64 (n, 0i64, 1i64)
        let zs: [n]i32 = map(n, (ys, is_1), \(old: i32, at: i64) -> (i32) {
          let i: i64 = sub_i64(at, 2i64)
          let lt: bool = lt_i64(i, 0i64)
          let ge: bool = ge_i64(i, n)
          let outside: bool = or_bool(lt, ge)
          let value: i32 = if outside then {0i32} else {
            let i_1: i64 = is[i]
            let x: i32 = xs[i]
            let j: i64 = add_i64(i_1, 2i64)
            return x
          }
          let p: i32 = old
          let q: i32 = value
          return add_i32(p, q)
        })
    declines: its indices are not those of its levels, shifted
        like before, with
        add_i64(i, 2i64) => mul_i64(i, 2i64)
    """
    nest = nest_of(statement.exp_of(WithAcc))
    if nest is None or nest.item.operator is None or not nest.levels:
        return OTHER_INDICES
    guard = _guard(nest)
    shifts = [_shift(nest, guard, index, context) for index in nest.indices]
    found = [shift for shift in shifts if shift is not None]
    if sorted(s.level for s in found) != list(range(len(nest.levels))):
        return OTHER_INDICES
    if len(found) != len(nest.indices):
        return OTHER_INDICES
    statements = [s for level in nest.levels for s in level.statements]
    if any(search.contains(s, Assert | Trace) for s in statements):
        return Declined("it has checks, which may not depend on where values go")
    if not all(all_cheap(level.statements) for level in nest.levels[:-1]):
        return Declined("what outer levels compute would be computed again")
    build = context.builder(statement)
    fresh = all_neutral(nest.item, context)
    gather = _Gather(nest, guard, tuple(found), fresh)
    build.bind(statement.pattern, gather.over(build, (), nest.item.arrays))
    return tuple(build.statements)


def _guard(nest: UpdateNest) -> Stm | None:
    """The branch of the innermost level that chooses an index or none."""
    for statement in nest.levels[-1].statements:
        names = {p.name for p in statement.pattern}
        if isinstance(statement.exp, If) and names.intersection(nest.indices):
            return statement
    return None


def _branches(guard: Stm) -> tuple[Body, Body]:
    """The branch that updates nothing (if it is one), and the other one."""
    assert isinstance(guard.exp, If)
    then, otherwise = guard.exp.then, guard.exp.otherwise
    return (then, otherwise) if OUTSIDE in then.result else (otherwise, then)


def _shift(
    nest: UpdateNest, guard: Stm | None, index: Atom, context: StatementContext
) -> _Shift | None:
    """What an index is, if it is the shifted number of a level."""
    inside = nest.differs()
    defined = {p.name: s for v in nest.levels for s in v.statements for p in s.pattern}
    if guard is not None and index in [p.name for p in guard.pattern]:
        nothing, other = _branches(guard)
        number = [p.name for p in guard.pattern].index(index)
        if nothing.result[number] != OUTSIDE:
            return None
        defined |= {p.name: s for s in other.statements for p in s.pattern}
        index = other.result[number]
    steps: list[tuple[str, Atom]] = []
    while isinstance(index, Name):
        level = level_of(nest, index, context)
        if level >= 0:
            return _Shift(level, tuple(steps))
        made = defined.get(index)
        if made is None or not isinstance(made.exp, ScalarOp):
            return None
        name, operands = made.exp.operator.name, made.exp.operands
        if name not in ("add", "sub"):
            return None
        index, amount = operands
        if name == "add" and not _varies(index, defined, inside):
            index, amount = amount, index
        if _varies(amount, defined, inside):
            return None
        steps.append((name, amount))
    return None


def _varies(
    atom: Atom, defined: dict[Name, Stm], inside: dict[Name, frozenset[int]]
) -> bool:
    """Whether an atom is not the same at all points of the nest."""
    return isinstance(atom, Name) and (atom in defined or bool(inside.get(atom)))


@immutable
class _Gather:
    """Maps over the elements of the accumulated arrays."""

    nest: UpdateNest
    guard: Stm | None
    shifts: tuple[_Shift, ...]
    fresh: bool
    """whether the arrays hold the neutral element only"""

    def over(
        self, build: Builder, at: tuple[Name, ...], arrays: tuple[Name, ...]
    ) -> soacs.Screma:
        """The map over the next dimension."""
        width = self.nest.item.shape[len(at)]
        old = build.parameters([types.row_type(t) for t in build.types(arrays)], "old")
        points = build.iota(width)
        (number,) = build.parameters((types.I64,), "at")
        inner = build.nested()
        names, here = tuple(p.name for p in old), (*at, number.name)
        if len(here) < len(self.shifts):
            result: tuple[Atom, ...] = inner.let_many(self.over(inner, here, names))
        else:
            result = self.element(inner, here, names)
        function = Lambda((*old, number), inner.finish(*result), inner.types(result))
        return soacs.map_(width, (*arrays, points), function)

    def element(
        self, build: Builder, at: tuple[Name, ...], old: tuple[Name, ...]
    ) -> tuple[Atom, ...]:
        """Emit an element: the old one combined with the value for it, if any."""
        nest, outside = self.nest, None
        sources: dict[int, Atom] = {}
        for here, shift, size in zip(at, self.shifts, nest.item.shape, strict=True):
            source: Name = here
            for name, amount in shift.steps:
                source = build.op("sub" if name == "add" else "add", source, amount)
            sources[shift.level] = source
            width = nest.levels[shift.level].width
            if shift.steps or width != size:
                low = build.op("lt", source, i64(0))
                high = build.op("ge", source, build.size_atom(width))
                own = build.op("or", low, high)
                outside = own if outside is None else build.op("or", outside, own)
        if outside is None:
            values = self.values(build, sources)
        else:
            inner = build.nested()
            found = inner.finish(*self.values(inner, sources))
            branch = If(outside, Body((), nest.item.neutral), found)
            values = build.let_many(branch, ["value"] * len(old))
        if self.fresh:
            return values
        assert nest.item.operator is not None
        return build.apply(nest.item.operator, (*old, *values))

    def values(self, build: Builder, sources: dict[int, Atom]) -> tuple[Atom, ...]:
        """Emit what a point of all levels sends: the neutral element where its branch
        updates nothing."""
        statements: list[Stm] = []
        for number, level in enumerate(self.nest.levels):
            statements += level.rows(sources[number])
            for statement in level.statements:
                kept = statement if statement is not self.guard else self.guarded()
                statements.append(kept)
        return build.inline(Body(tuple(statements), self.nest.values))

    def guarded(self) -> Stm:
        """The branch, with neutral elements for values that are not sent."""
        guard = self.guard
        assert guard is not None and isinstance(guard.exp, If)
        neutral = dict(zip(self.nest.values, self.nest.item.neutral, strict=True))
        nothing, _ = _branches(guard)
        pairs = zip(guard.pattern, nothing.result, strict=True)
        result = tuple(neutral.get(p.name, other) for p, other in pairs)
        made = Body(nothing.statements, result)
        then, otherwise = guard.exp.then, guard.exp.otherwise
        branches = (made, otherwise) if nothing is then else (then, made)
        return Stm(guard.pattern, If(guard.exp.condition, *branches))
