"""Rule: a nest of maps whose conditions single out its ends becomes interior and
borders; see `passes.split`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Body, DimSlice, If, Lambda, Param, Stm, Update
from minifut.ir.scalars import operator
from minifut.ir.sizes import ZERO, Size, maximum, product
from minifut.ir.soacs import SOAC_EXPRESSIONS, Scatter, ScatterDestination, Screma, map_
from minifut.ir.traverse import rename, walk
from minifut.ir.types import I64, Type, array_of
from minifut.names import Name
from minifut.passes.remove_checks.rules import FactContext
from minifut.passes.split.borders import Border, borders
from minifut.passes.split.nest import ScalarNest, find_nest
from minifut.rewrite.rule import Declined, Outcome, rule

SMALL = 32
"""width of a SOAC that flattening leaves in its thread"""
LARGEST = 300
"""statements of a body that is copied"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Per dimension the border, and how many positions are within it."""

    nest: ScalarNest
    borders: tuple[Border, ...]
    inner: tuple[Size, ...]

    @property
    def special(self) -> list[int]:
        """The dimensions that have a border."""
        return [d for d, border in enumerate(self.borders) if sum(border)]

    def slab(self, dimension: int) -> tuple[Size, ...]:
        """The shape of the border at both ends of a dimension: what is within the
        borders of earlier dimensions, and all of later ones."""
        widths = self.nest.widths
        ends = widths[dimension] - self.inner[dimension]
        return (*self.inner[:dimension], ends, *widths[dimension + 1 :])


@rule(Screma, paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_map(statement: Stm, context: FactContext) -> Outcome:
    r"""A map that treats its ends in another way than the rest.

    before:
        given (n: i64, a: [n]i64)
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let b: [n]i64 = map(n, (is), \(i: i64) -> (i64) {
          let first: bool = eq_i64(i, 0i64)
          let x: i64 = if first then {0i64} else {
            let j: i64 = sub_i64(i, 1i64)
            let y: i64 = a[j]
            return y
          }
          return x
        })
    after:
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let js: [n]i64 = iota i64 (n, 0i64, 1i64)
        let b: [n]i64 = map(n, (js), \(j: i64) -> (i64) {
          let i: i64 = j
          let inside: bool = ge_i64(i, 1i64)
          let x: i64 = if inside then {
            let start: bool = eq_i64(i, 0i64)
            let v: i64 = if start then {0i64} else {
              let w: i64 = sub_i64(i, 1i64)
              let z: i64 = a[w]
              return z
            }
            return v
          } else {
            let first: bool = eq_i64(i, 0i64)
            let y: i64 = if first then {0i64} else {
              let l: i64 = sub_i64(i, 1i64)
              let u: i64 = a[l]
              return u
            }
            return y
          }
          return x
        })
    declines: no condition singles out the ends
        given (n: i64, a: [n]i64)
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let b: [n]i64 = map(n, (is), \(i: i64) -> (i64) {
          let x: i64 = a[i]
          return x
        })
    """
    facts = context.facts
    nest = find_nest(statement.exp, facts, context.names)
    if nest is None:
        return None
    if not any(map(_selects, nest.body)):
        return Declined("no condition singles out the ends")
    if sum(isinstance(n, Stm) for s in nest.body for n in walk(s)) > LARGEST:
        return Declined("the body is too large to be copied")
    found = borders(facts, nest)
    if not any(map(sum, found)):
        return Declined("no condition singles out the ends")
    inner = tuple(
        maximum(width - sum(border), ZERO) if sum(border) else width
        for width, border in zip(nest.widths, found, strict=True)
    )
    build = context.builder(statement)
    plan = Plan(nest, found, inner)
    if any(_is_parallel(n) for s in nest.body for n in walk(s)):
        emit(build, plan, statement.pattern)
    else:
        build.bind(statement.pattern, guarded(build, plan))
    return tuple(build.statements)


def _selects(statement: Stm) -> bool:
    """Whether something inside is cheaper where conditions are known."""
    return any(
        isinstance(n, If | core.Assert)
        or (
            isinstance(n, core.ScalarOp)
            and n.operator.name in ("min", "max", "mod", "rem")
            and n.operator.result.is_integer
        )
        for n in walk(statement)
    )


def _is_parallel(node: object) -> bool:
    """Whether flattening may make more of it than a loop in a thread."""
    if not isinstance(node, SOAC_EXPRESSIONS):
        return False
    width = node.width.as_constant
    return width is None or width >= SMALL


def emit(build: Builder, plan: Plan, pattern: tuple[Param, ...]) -> None:
    """Fresh results, the borders written into them, then the interior."""
    nest, widths = plan.nest, plan.nest.widths
    rank = len(widths)
    fresh = tuple(
        build.let(core.Scratch(type_, widths), "whole") for type_ in nest.types
    )
    total = sum((product(plan.slab(d)) for d in plan.special), ZERO)
    points = build.iota(total)
    scatter = Scatter(
        total,
        (points,),
        tuple(ScatterDestination(array, rank, 1) for array in fresh),
        _border_points(build, plan),
    )
    written = build.let_many(scatter, ["edges"] * len(fresh))
    interior = build.let_many(_interior(build, plan), ["within"] * len(fresh))
    where = tuple(
        DimSlice(i64(border[0]), size, i64(1))
        for border, size in zip(plan.borders, plan.inner, strict=True)
    )
    for bound, array, value in zip(pattern, written, interior, strict=True):
        build.bind((bound,), Update(array, where, value))


def guarded(build: Builder, plan: Plan) -> core.Exp:
    """The nest with a branch: the body for the interior, and as it was."""
    nest = plan.nest

    def choose(inner: Builder) -> tuple[Atom, ...]:
        inside: Atom | None = None
        for dimension in plan.special:
            (low, high), level = plan.borders[dimension], nest.levels[dimension]
            tests: list[tuple[str, Atom]] = [("ge", i64(low))] if low else []
            if high:
                tests.append(("lt", inner.size_atom(level.width - high)))
            for name, limit in tests:
                test = inner.op(name, level.index, limit)
                inside = test if inside is None else inner.op("and", inside, test)
        assert inside is not None
        within = rename(Body(nest.body, nest.results), build.names)
        beside = Body(nest.levels[-1].statements, nest.results)
        return inner.let_many(If(inside, within, beside), ["x"] * len(nest.types))

    return _over_positions(build, plan, nest.widths, (0,) * len(nest.levels), choose)


def _interior(build: Builder, plan: Plan) -> core.Exp:
    """The nest over the positions that no border has."""
    lows = tuple(low for low, _ in plan.borders)

    def as_it_was(inner: Builder) -> tuple[Atom, ...]:
        inner.extend(plan.nest.levels[-1].statements)
        return plan.nest.results

    return _over_positions(build, plan, plan.inner, lows, as_it_was)


def _over_positions(
    build: Builder,
    plan: Plan,
    sizes: tuple[Size, ...],
    lows: tuple[int, ...],
    innermost: Callable[[Builder], tuple[Atom, ...]],
) -> core.Exp:
    """The nest over so many positions from `lows` on, with other code of a point."""
    nest = plan.nest
    iotas = [build.iota(size) for size in sizes]
    exp: core.Exp | None = None
    types: tuple[Type, ...] = nest.types
    for depth in reversed(range(len(nest.levels))):
        level, inner = nest.levels[depth], build.nested()
        position, low = build.names.fresh(level.index.base), lows[depth]
        at: core.Exp = core.Copy(position)
        if low:
            at = core.ScalarOp(operator("add", I64), (position, i64(low)))
        inner.bind((Param(level.index, I64),), at)
        inner.extend(level.elements(nest.iotas))
        if exp is None:
            result = innermost(inner)
        else:
            inner.extend(level.statements)
            result = inner.let_many(exp, ["row"] * len(types))
        body = inner.finish(*result)
        function = Lambda((Param(position, I64),), body, types)
        exp = map_(sizes[depth], (iotas[depth],), function)
        types = tuple(array_of(type_, (sizes[depth],)) for type_ in types)
    assert exp is not None
    return rename(exp, build.names)


def _border_points(build: Builder, plan: Plan) -> Lambda:
    """From the number of a point of the borders to its indices and its values."""
    nest = plan.nest
    t = build.parameters((I64,), "t")[0]
    inner = build.nested()
    indices = _decoded(inner, plan, plan.special, t.name)
    levels = {
        level.index: index for level, index in zip(nest.levels, indices, strict=True)
    }
    body = rename(Body(nest.body, nest.results), build.names, levels)
    inner.extend(body.statements)
    result = (*(indices * len(nest.types)), *body.result)
    types = (*((I64,) * (len(indices) * len(nest.types))), *nest.types)
    return Lambda((t,), inner.finish(*result), types)


def _decoded(
    build: Builder, plan: Plan, dimensions: list[int], point: Name
) -> tuple[Atom, ...]:
    """The indices of a point of the borders of these dimensions, slab after slab."""
    dimension, *others = dimensions
    if not others:
        return _within_slab(build, plan, dimension, point)
    count = build.size_atom(product(plan.slab(dimension)))
    here, beyond = build.nested(), build.nested()
    then = here.finish(*_within_slab(here, plan, dimension, point))
    rest = beyond.sub(point, count)
    otherwise = beyond.finish(*_decoded(beyond, plan, others, rest))
    choice = If(build.op("lt", point, count), then, otherwise)
    return build.let_many(choice, ["i"] * len(plan.borders))


def _within_slab(
    build: Builder, plan: Plan, dimension: int, point: Name
) -> tuple[Atom, ...]:
    """The indices of a point of the border of one dimension, in row-major order."""
    places: list[Atom] = []
    rest: Atom = point
    shape = plan.slab(dimension)
    for size in reversed(shape[1:]):
        extent = build.size_atom(size)
        places.insert(0, build.op("rem", rest, extent))
        rest = build.op("quot", rest, extent)
    places.insert(0, rest)
    for earlier in range(dimension):
        low = plan.borders[earlier][0]
        if low:
            places[earlier] = build.add(places[earlier], i64(low))
    at, low = places[dimension], plan.borders[dimension][0]
    skipped = build.size_atom(plan.inner[dimension])
    below = build.op("lt", at, i64(low))
    above = build.add(at, skipped)
    choice = If(below, Body((), (at,)), Body((), (above,)))
    places[dimension] = build.let(choice, "i")
    return tuple(places)
