r"""Moves: maps that only give elements of other arrays in other places.

    map (\d -> map (\i -> xs[(i + d) % n]) (iota n)) ds

That is a nest of cheap scalar code, whose innermost level loads nothing but the element
that it gives. An array of which only elements are read needs not be made: `element`
emits what gives one. `passes.read_through` replaces the reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minifut.analysis.in_place import may_overwrite
from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Lambda, Param, Stm
from minifut.ir.node import immutable, replace
from minifut.ir.scalar_table import OperatorCost
from minifut.ir.scalars import operator_cost
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import free_names, rename, used_names, walk
from minifut.ir.types import ArrayType, ScalarType, shape_of
from minifut.names import Name

MOST = 16
"""statements that find the place of an element"""
FEW = 32
"""points of a SOAC around a reader that does not count as one"""
NOTHING = Lambda((), Body((), ()), ())


@immutable
class Move:
    """Result `position` of a move, at the indices `places` of some dimensions, with the
    others in the order of `free`. Dimensions count from -1, the innermost, outwards."""

    exp: Screma
    position: int
    free: tuple[int, ...]
    places: tuple[tuple[int, Atom], ...] = ()

    def at(self, places: Sequence[Any]) -> Move:
        found = tuple(zip(self.free, places, strict=False))
        free = self.free[len(places) :]
        return Move(self.exp, self.position, free, (*self.places, *found))

    def rearranged(self, permutation: tuple[int, ...]) -> Move:
        free = _permuted(self.free, permutation)
        return Move(self.exp, self.position, free, self.places)

    def element(self, build: Builder) -> Name:
        """The element, or the row of inner dimensions, that it is."""
        places = [place for _, place in sorted(self.places, key=lambda known: known[0])]
        return element(build, self.exp, self.position, places)


def _permuted(free: tuple[int, ...], permutation: tuple[int, ...]) -> tuple[int, ...]:
    return (*(free[p] for p in permutation), *free[len(permutation) :])


def element(build: Builder, exp: Screma, position: int, places: Sequence[Atom]) -> Name:
    """A result of a nest of maps at these places: what its functions give there."""
    place, *rest = places
    function = exp.function
    pairs = zip(function.parameters, exp.arrays, strict=True)
    known: dict[Name, Atom] = {p.name: build.index(a, place) for p, a in pairs}
    body = rename(function.body, build.names, known)
    result = body.result[position]
    assert isinstance(result, Name)
    for statement in body.statements:
        if rest and isinstance(statement.exp, Screma):
            made = [bound.name for bound in statement.pattern]
            return element(build, statement.exp, made.index(result), rest)
        build.append(statement)
    return build.index(result, *rest) if rest else result


def readable_moves(
    statement: Stm, rest: Body, iotas: Callable[[], set[Name]]
) -> dict[Name, Move]:
    """The results of a move of which the rest of the body reads elements only."""
    exp = statement.exp
    if not isinstance(exp, Screma) or statement.attributes or not is_move(exp, iotas):
        return {}
    moves = {}
    for position, bound in enumerate(statement.pattern):
        rank = len(shape_of(bound.type))
        free = tuple(range(-rank, 0))
        stays = _stays_readable(statement, bound, rest)
        if stays and reads_elements(bound, rest, rank, free):
            moves[bound.name] = Move(exp, position, free)
    return moves


def is_move(exp: Screma, iotas: Callable[[], set[Name]]) -> bool:
    """Whether it is a nest of maps that only finds elements of other arrays."""
    function = exp.function
    *before, last = function.body.statements or (None,)
    if not exp.is_map or last is None or len(before) >= MOST:
        return False
    if not all(map(_finds_place, before)):
        return False
    results = set(function.body.result)
    if isinstance(last.exp, Screma):
        return {p.name for p in last.pattern} == results and is_move(last.exp, iotas)
    loaded = {
        s.pattern[0].name
        for s in function.body.statements
        if isinstance(s.exp, core.Index | core.Rearrange)
    }
    if not _finds_place(last) or not results <= loaded:
        return False
    if any(isinstance(type_, ArrayType) for type_ in function.results):
        return True
    inputs = zip(function.parameters, exp.arrays, strict=True)
    given = (p for p, array in inputs if array not in iotas())
    return loaded == results and all(isinstance(p.type, ArrayType) for p in given)


def _finds_place(statement: Stm) -> bool:
    exp = statement.exp
    if isinstance(exp, core.ScalarOp):
        return operator_cost(exp.operator) is not OperatorCost.FUNCTION
    return isinstance(exp, core.Index | core.Rearrange | core.SizeExp)


def _stays_readable(move: Stm, bound: Param, rest: Body) -> bool:
    """Whether nothing overwrites what the move reads while its result is needed."""
    uses = [n for n, s in enumerate(rest.statements) if bound.name in free_names(s)]
    sources = free_names(move.exp)
    return not any(
        isinstance(node, Stm) and not sources.isdisjoint(may_overwrite(node))
        for statement in rest.statements[: max(uses, default=-1) + 1]
        for node in walk(statement)
    )


def reads_elements(
    array: Param, body: Body, levels: int, free: tuple[int, ...]
) -> bool:
    """Whether the body only reads elements of the array, each reader in at most so many
    SOACs and loops of the body. `free` are the dimensions of the move that the array
    has left."""
    if array.name in body.result:
        return False
    for at, statement in enumerate(body.statements, 1):
        rest = Body(body.statements[at:], body.result)
        uses = array.name in free_names(statement)
        if uses and not _reads_elements(array, statement, rest, levels, free):
            return False
    return True


def _reads_elements(
    array: Param, statement: Stm, rest: Body, levels: int, free: tuple[int, ...]
) -> bool:
    """The same of a statement; the rest of the body may read rows that it takes."""
    exp = statement.exp
    match exp:
        case core.Index(_, places):
            if any(isinstance(place, core.DimSlice) for place in places):
                return False
            (row,) = statement.pattern
            free = free[len(places) :]
            if free and not rest.statements and rest.result == (row.name,):
                return len(free) <= levels and free == tuple(range(-len(free), 0))
            return not free or reads_elements(row, rest, levels, free)
        case core.Rearrange(permutation, _):
            (view,) = statement.pattern
            return reads_elements(view, rest, levels, _permuted(free, permutation))
        case core.If(_, then, otherwise):
            return all(
                reads_elements(array, b, levels, free) for b in (then, otherwise)
            )
        case core.Loop(_, initial, _, body):
            if array.name in initial or levels < 1:
                return False
            return reads_elements(array, body, levels - 1, free)
        case Screma() | Scatter() | Hist():
            others = replace(exp, arrays=(), function=NOTHING)
            width = exp.width.as_constant
            levels -= width is None or width > FEW
            if array.name in used_names(others) or levels < 0:
                return False
            body = exp.function.body
            pairs = zip(exp.function.parameters, exp.arrays, strict=True)
            rows = [p for p, taken in pairs if taken == array.name]
            return reads_elements(array, body, levels, free) and all(
                isinstance(row.type, ScalarType)
                or reads_elements(row, body, levels, free[1:])
                for row in rows
            )
    return False
