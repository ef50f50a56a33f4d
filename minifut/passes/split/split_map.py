"""Rule: a nest of maps whose conditions single out its ends becomes interior and
borders; see `passes.split`."""

from __future__ import annotations

from minifut.analysis.facts.forms import CONSTANT, Form
from minifut.analysis.facts.known import SIZE_LIMIT
from minifut.ir import core
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, Body, If, Lambda, Param, Stm
from minifut.ir.search import contains, count_of, nodes_of
from minifut.ir.soacs import SOAC_EXPRESSIONS, Screma
from minifut.ir.traverse import rename
from minifut.ir.types import I64, Type, array_of
from minifut.names import Name
from minifut.passes.remove_checks.rules import SELECTING, FactContext
from minifut.passes.split.borders import Borders, borders
from minifut.passes.split.nest import SMALL, ScalarNest, find_nest
from minifut.rewrite.rule import Declined, Outcome, rule

LARGEST = 300
"""statements of a body that is copied"""


@rule(Screma, paper="Griebl, Feautrier, Lengauer, Index set splitting (2000)")
def split_map(statement: Stm, context: FactContext) -> Outcome:
    r"""A map that treats its ends in another way than the rest.

    before:
        given (n: i64, a: [n]i64)
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let b: [n]i64 = map(n, (is), \(i: i64) -> (i64) {
          let first: bool = eq_i64(i, 0i64)
          return if first then {0i64} else {
            let j: i64 = sub_i64(i, 1i64)
            let y: i64 = a[j]
            return y
          }
        })
    after:
        let is: [n]i64 = iota i64 (n, 0i64, 1i64)
        let js: [n]i64 = iota i64 (n, 0i64, 1i64)
        let b: [n]i64 = map(n, (js), \(j: i64) -> (i64) {
          let i: i64 = j
          let inside: bool = ge_i64(i, 1i64)
          return if inside then {
            let start: bool = eq_i64(i, 0i64)
            let v: i64 = if start then {0i64} else {
              let w: i64 = sub_i64(i, 1i64)
              return a[w]
            }
            return v
          } else {
            let first: bool = eq_i64(i, 0i64)
            let y: i64 = if first then {0i64} else {
              let l: i64 = sub_i64(i, 1i64)
              return a[l]
            }
            return y
          }
        })
    declines: no condition singles out the ends
        like before, with
        eq_i64(i, 0i64) => eq_i64(n, 0i64)
    declines: a branch would hide what is parallel inside of it
        like before, with
        given (n: i64, a: [n]i64) => given (n: i64, a: [n][n]i64)
        let y: i64 = a[j]
        => let row: [n]i64 = a[j]
        => let y: i64 = redomap(n, (row), reduce(add_i64, (0i64)), \(p: i64) -> (i64) {
        => return p
        => })
    """
    facts = context.facts
    nest = find_nest(statement.exp, facts, context.names)
    if nest is None:
        return None
    if not any(map(selects, nest.body)):
        return Declined("no condition singles out the ends")
    if count_of(Stm, *nest.body) > LARGEST:
        return Declined("the body is too large to be copied")
    found = borders(facts, nest)
    if not found:
        return Declined("no condition singles out the ends")
    if any(map(_is_parallel, nodes_of(SOAC_EXPRESSIONS, *nest.body))):
        return Declined("a branch would hide what is parallel inside of it")
    build = context.builder(statement)
    build.bind(statement.pattern, guarded(build, nest, found))
    return tuple(build.statements)


def selects(node: Stm | Screma) -> bool:
    """Whether something inside is cheaper where conditions are known."""
    return contains(node, If | core.Assert) or any(
        n.operator.name in SELECTING and n.operator.result.is_integer
        for n in nodes_of(core.ScalarOp, node)
    )


def _is_parallel(node: object) -> bool:
    """Whether flattening may make more of it than a loop in a thread."""
    if not isinstance(node, SOAC_EXPRESSIONS):
        return False
    width = node.width.as_constant
    return width is None or width >= SMALL


def guarded(build: Builder, nest: ScalarNest, found: Borders) -> core.Exp:
    """The nest with a branch: the body for the interior, and as it was."""
    tests = _tests(build, nest, found)

    def choose(inner: Builder) -> tuple[Atom, ...]:
        made = [inner.op(name, left, right) for name, left, right in tests]
        inside = inner.all_of(made)
        within = rename(Body(nest.body, nest.results), build.names)
        beside = Body(nest.levels[-1].statements, nest.results)
        return inner.let_many(If(inside, within, beside), ["x"] * len(nest.types))

    iotas = [build.iota(width) for width in nest.widths]
    exp: Screma | None = None
    types: tuple[Type, ...] = nest.types
    for depth in reversed(range(len(nest.levels))):
        level, inner = nest.levels[depth], build.nested()
        position = build.names.fresh(level.index.base)
        inner.bind((Param(level.index, I64),), core.Copy(position))
        inner.extend(level.elements(nest.iotas))
        if exp is None:
            result = choose(inner)
        else:
            inner.extend(level.statements)
            result = inner.let_many(exp, ["row"] * len(types))
        function = Lambda((Param(position, I64),), inner.finish(*result), types)
        exp = Screma(level.width, (iotas[depth],), (), level.reduces, function)
        rows = (array_of(type_, (level.width,)) for type_ in types[level.reduced :])
        types = (*types[: level.reduced], *rows)
    assert exp is not None
    return rename(exp, build.names)


def _tests(
    build: Builder, nest: ScalarNest, found: Borders
) -> list[tuple[str, Atom, Atom]]:
    """The comparisons that say whether a point is in the interior. Radii are sizes
    there, so that no sum of them wraps."""
    tests: list[tuple[str, Atom, Atom]] = []
    for radius in sorted(found.radii, key=str):
        tests += [("ge", radius, i64(0)), ("lt", radius, i64(SIZE_LIMIT))]
    for dimension, level in enumerate(nest.levels):
        low, high = found.fixed[dimension]
        width = build.size_atom(level.width)
        if low:
            tests.append(("ge", level.index, i64(low)))
        if high:
            tests.append(("lt", level.index, build.size_atom(level.width - high)))
        for distance in found.distances.get((dimension, False), ()):
            tests.append(("ge", level.index, _sum(build, distance)))
        for distance in found.distances.get((dimension, True), ()):
            limit = build.sub(width, _sum(build, distance))
            tests.append(("lt", level.index, limit))
    return tests


def _sum(build: Builder, form: Form) -> Atom:
    """The value of a form without products, which may wrap around."""
    total: Atom = i64(form.get(CONSTANT, 0))
    for monomial, coefficient in form.items():
        for name in monomial:
            assert isinstance(name, Name)
            total = build.add(total, build.mul(name, i64(coefficient)))
    return total
