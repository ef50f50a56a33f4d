"""Nests of maps around an update of an accumulator.

    map(n, (a, xss), \\b xs ->
      let s = f xs  in map(m, (b, xs), \\c x -> update_acc(c, ..)))

A nest is a list of levels, outermost first: the width of a map, its arrays without the
accumulator, and the statements before what is inside. What a level binds *differs* with
the levels whose points it needs: with its own, and with others through what it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from minifut.ir.accumulators import AccInput, UpdateAcc, WithAcc
from minifut.ir.builder import Builder
from minifut.ir.core import Assert, Atom, Body, Index, Param, Stm, Trace
from minifut.ir.node import immutable
from minifut.ir.sizes import Size
from minifut.ir.soacs import Screma
from minifut.ir.traverse import free_names, walk
from minifut.ir.types import AccType
from minifut.names import Name
from minifut.passes.simplify.dead_code import remove_dead_code_in

UpdatePoint: TypeAlias = Callable[
    [Builder, Name, dict[int, Atom], tuple[Atom, ...]], Name
]
"""emits the update of an accumulator at a point, by its numbers in levels and the
elements of arrays there; gives the accumulator"""


@immutable
class MapLevel:
    """A map without its accumulator; `statements` come before what is inside."""

    width: Size
    arrays: tuple[Name, ...]
    parameters: tuple[Param, ...]
    statements: tuple[Stm, ...]

    def rows(self, index: Atom) -> tuple[Stm, ...]:
        """The parameters as elements of the arrays at an index."""
        return tuple(
            Stm((parameter,), Index(array, (index,)))
            for parameter, array in zip(self.parameters, self.arrays, strict=True)
        )


@immutable
class UpdateNest:
    """A `WithAcc` of one input whose body is a nest of maps around one update."""

    item: AccInput
    levels: tuple[MapLevel, ...]
    indices: tuple[Atom, ...]
    values: tuple[Atom, ...]

    def differs(self) -> dict[Name, frozenset[int]]:
        """For each name that the nest binds the levels that it differs with."""
        found: dict[Name, frozenset[int]] = {}
        nothing: frozenset[int] = frozenset()
        for number, level in enumerate(self.levels):
            for parameter, array in zip(level.parameters, level.arrays, strict=True):
                found[parameter.name] = found.get(array, nothing) | {number}
            for statement in level.statements:
                needs = [found.get(name, nothing) for name in free_names(statement)]
                for bound in statement.pattern:
                    found[bound.name] = nothing.union(*needs)
        return found

    def needed(self, at: Mapping[int, Atom], results: tuple[Atom, ...]) -> Body:
        """What computes results at points of some levels: nothing that differs with
        others."""
        differs = self.differs()
        statements: list[Stm] = []
        for number, level in enumerate(self.levels):
            rows = level.rows(at[number]) if number in at else ()
            for s in (*rows, *level.statements):
                if s.pattern and all(differs[p.name] <= at.keys() for p in s.pattern):
                    statements.append(s)
        return remove_dead_code_in(Body(tuple(statements), results))

    def updates(
        self,
        build: Builder,
        levels: Sequence[int],
        update: UpdatePoint,
        values: tuple[Atom, ...] = (),
    ) -> WithAcc:
        """Maps over some levels, each point of which is updated, with its elements of
        these arrays."""

        def over(
            inner: Builder, accumulator: Name, at: dict[int, Atom], rows: Sequence[Atom]
        ) -> Name:
            if len(at) == len(levels):
                return update(inner, accumulator, at, tuple(rows))
            level = levels[len(at)]

            def point(one: Builder, own: Name, i: Name, *rows: Name) -> Name:
                return over(one, own, {**at, level: i}, rows)

            arrays = [row for row in rows if isinstance(row, Name)]
            points = inner.iota(self.levels[level].width)
            return inner.map((accumulator, points, *arrays), point, row="i")[0]

        return build.lending(
            (self.item,), lambda inner, acc: (over(inner, acc, {}, values),)
        )

    @property
    def checks_outside(self) -> bool:
        """Whether a level that is not the innermost has effects, which must be seen
        even where a level inside has no points."""
        return any(
            isinstance(node, Assert | Trace)
            for level in self.levels[:-1]
            for statement in level.statements
            for node in walk(statement)
        )


def nest_of(exp: WithAcc) -> UpdateNest | None:
    """The nest, if the body is one."""
    if len(exp.inputs) != 1 or len(exp.function.results) != 1:
        return None
    accumulator = exp.function.parameters[0].name
    levels: list[MapLevel] = []
    body = exp.function.body
    while True:
        found = _last(body, accumulator)
        if found is None:
            return None
        before, last = found
        if levels:
            levels[-1] = replace(levels[-1], statements=before)
        elif before:
            return None
        if isinstance(last, UpdateAcc):
            return UpdateNest(exp.inputs[0], tuple(levels), last.indices, last.values)
        pairs = list(zip(last.function.parameters, last.arrays, strict=True))
        data = [(p, array) for p, array in pairs if array != accumulator]
        inside = [p.name for p, array in pairs if array == accumulator]
        accumulator, body = inside[0], last.function.body
        arrays, own = tuple(a for _, a in data), tuple(p for p, _ in data)
        levels.append(MapLevel(last.width, arrays, own, ()))


def _last(
    body: Body, accumulator: Name
) -> tuple[tuple[Stm, ...], UpdateAcc | Screma] | None:
    """The statements of a body before its last, which is the one that uses the
    accumulator and gives the result."""
    if not body.statements:
        return None
    *before, last = body.statements
    if len(last.pattern) != 1 or body.result != (last.pattern[0].name,):
        return None
    if any(accumulator in free_names(s.exp) for s in before):
        return None
    match last.exp:
        case UpdateAcc(used) if used == accumulator:
            return tuple(before), last.exp
        case Screma() as soac if _carries(soac, accumulator) and not last.attributes:
            return tuple(before), soac
    return None


def _carries(soac: Screma, accumulator: Name) -> bool:
    accumulators = [p for p in soac.function.parameters if isinstance(p.type, AccType)]
    return soac.is_map and len(accumulators) == 1 and accumulator in soac.arrays
