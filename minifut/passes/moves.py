r"""Moves: maps that only give elements of other arrays in other places.

    map (\d -> map (\i -> xs[(i + d) % n]) (iota n)) ds

That is a nest of cheap scalar code, whose innermost level loads nothing but the element
that it gives. An array of which only elements are read needs not be made: `element`
emits what gives one. `passes.read_through` replaces the reads.

Any nest of scalar code is like one for a single SOAC that takes its flattened results:

    hist .. (flatten (map (\i -> map (\j -> f i j) (iota m)) (iota n)))

There each element is computed once, as it is in the nest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from minifut.analysis.in_place import may_overwrite
from minifut.ir import core
from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Body, Constant, Lambda, Param, Stm
from minifut.ir.node import immutable, replace
from minifut.ir.scalar_table import OperatorCost
from minifut.ir.scalars import operator_cost
from minifut.ir.sizes import Size, product
from minifut.ir.soacs import SOAC_EXPRESSIONS, Hist, Scatter, Screma
from minifut.ir.traverse import free_names, rename, used_names, walk
from minifut.ir.types import ArrayType, ScalarType, shape_of
from minifut.names import Name
from minifut.passes.flatten.cheap import is_scalar_code

MOST = 16
"""statements that find the place of an element"""
FEW = 32
"""points of a SOAC around a reader that does not count as one"""
NOTHING = Lambda((), Body((), ()), ())

NestDimension: TypeAlias = int | tuple[int, ...]
"""from -1, the innermost, outwards; or several that a view flattens to one"""


@immutable
class Move:
    """Result `position` of a move, at the indices `places` of some dimensions, with the
    others in the order of `free`."""

    made: Stm
    position: int
    free: tuple[NestDimension, ...]
    places: tuple[tuple[NestDimension, Atom], ...] = ()

    def at(self, places: Sequence[Any]) -> Move:
        found = tuple(zip(self.free, places, strict=False))
        free = self.free[len(places) :]
        return replace(self, free=free, places=(*self.places, *found))

    def rearranged(self, permutation: tuple[int, ...]) -> Move:
        return replace(self, free=_permuted(self.free, permutation))

    def flattened(self, rank: int) -> Move:
        """With its outer dimensions as one, so that it has so many."""
        return replace(self, free=_flattened(self.free, rank))

    def element(self, build: Builder) -> Atom:
        """The element, or the row of inner dimensions, that it is."""
        shape = shape_of(self.made.pattern[self.position].type)
        known: dict[int, Atom] = {}
        for dimension, place in self.places:
            if isinstance(dimension, int):
                known[dimension] = place
                continue
            first, *others = dimension
            for each in reversed(others):
                size = build.size_atom(shape[each])
                known[each] = build.op("rem", place, size)
                place = build.op("quot", place, size)
            known[first] = place
        places = [place for _, place in sorted(known.items())]
        exp = self.made.exp
        if isinstance(exp, core.Replicate):
            return _repeated(build, exp, places)
        assert isinstance(exp, Screma)
        return element(build, exp, self.position, places)


def _permuted(
    free: tuple[NestDimension, ...], permutation: tuple[int, ...]
) -> tuple[NestDimension, ...]:
    return (*(free[p] for p in permutation), *free[len(permutation) :])


def _flattened(free: tuple[NestDimension, ...], rank: int) -> tuple[NestDimension, ...]:
    count = len(free) - rank + 1
    joined: tuple[int, ...] = ()
    for dimension in free[:count]:
        joined += (dimension,) if isinstance(dimension, int) else dimension
    return (joined if len(joined) > 1 else joined[0], *free[count:])


def _repeated(build: Builder, exp: core.Replicate, places: Sequence[Atom]) -> Atom:
    inner = places[len(exp.shape) :]
    if not inner or not isinstance(exp.value, Name):
        return exp.value
    return build.index(exp.value, *inner)


def element(build: Builder, exp: Screma, position: int, places: Sequence[Atom]) -> Atom:
    """A result of a nest of maps at these places: what its functions give there."""
    place, *rest = places
    function = exp.function
    pairs = zip(function.parameters, exp.arrays, strict=True)
    known: dict[Name, Atom] = {p.name: build.index(a, place) for p, a in pairs}
    body = rename(function.body, build.names, known)
    result = body.result[position]
    if not isinstance(result, Name):
        return result
    for statement in body.statements:
        if rest and isinstance(statement.exp, Screma):
            made = [bound.name for bound in statement.pattern]
            if result in made:
                return element(build, statement.exp, made.index(result), rest)
        else:
            build.append(statement)
    return build.index(result, *rest) if rest else result


def readable_moves(
    statement: Stm, rest: Body, iotas: Callable[[], set[Name]]
) -> dict[Name, Move]:
    """The results of a move of which the rest of the body reads elements only; all of
    another nest if one SOAC reads each element once."""
    exp = statement.exp
    if statement.attributes or not isinstance(exp, Screma | core.Replicate):
        return {}
    moving = isinstance(exp, Screma) and is_move(exp, iotas)
    if not moving and not (_is_nest(exp) and _is_read_flat(statement, rest)):
        return {}
    moves = {}
    for position, bound in enumerate(statement.pattern):
        rank = len(shape_of(bound.type))
        free = tuple(range(-rank, 0))
        stays = _stays_readable(statement, bound, rest)
        if stays and reads_elements(bound, rest, rank, free):
            moves[bound.name] = Move(statement, position, free)
        elif not moving:
            return {}
    return moves


def _is_nest(exp: core.Exp, cheap: bool = False) -> bool:
    """Whether it is a nest of maps of scalar code, without checks; `cheap`: of few
    statements that are no divisions or functions."""
    if isinstance(exp, core.Replicate):
        return True
    if not isinstance(exp, Screma) or not exp.is_map:
        return False
    own, nested = list[Stm](), list[Stm]()
    for s in exp.function.body.statements:
        inner = isinstance(s.exp, Screma | core.Replicate)
        (nested if inner else own).append(s)
    if sum(isinstance(s.exp, Screma) for s in nested) > 1:
        return False
    if cheap and len(own) >= MOST:
        return False
    if cheap and any(map(_divides, own)):
        return False
    return all(_is_nest(s.exp, cheap) for s in nested) and all(
        _finds_place(s) or (not cheap and is_scalar_code([s])) for s in own
    )


def _divides(statement: Stm) -> bool:
    exp = statement.exp
    if not isinstance(exp, core.ScalarOp) or isinstance(exp.operands[-1], Constant):
        return False
    return operator_cost(exp.operator) is OperatorCost.DIVISION


def _is_read_flat(nest: Stm, rest: Body) -> bool:
    """Whether SOACs take all results of a nest, flattened, and nothing else needs them:
    one map, or any if the nest is cheap. Other work is done in parallel, which large
    histograms are not. A scan alone does not: it goes by vectors over elements that lie
    side by side."""
    found = [_flat_readers(bound.name, rest, False) for bound in nest.pattern]
    readers = [reader for each in found for reader in each or ()]
    if None in found or not readers:
        return False
    scatters = any(isinstance(s.exp, Scatter) for s in readers)
    if not scatters and any(isinstance(s.exp, Screma) and s.exp.scans for s in readers):
        return False
    if len({id(reader) for reader in readers}) == 1 and _is_map(readers[0].exp):
        return True
    return _is_nest(nest.exp, cheap=True)


def _is_map(exp: core.Exp) -> bool:
    return isinstance(exp, Screma) and exp.is_map


def _flat_readers(array: Name, rest: Body, flat: bool) -> list[Stm] | None:
    """The SOACs that take an array, once it is flattened, element by element; None if
    anything else needs it."""
    if array in rest.result:
        return None
    readers = list[Stm]()
    for statement in rest.statements:
        exp = statement.exp
        if array not in free_names(statement):
            continue
        if isinstance(exp, core.Rearrange | core.Reshape):
            flattened = flat or isinstance(exp, core.Reshape)
            found = _flat_readers(statement.pattern[0].name, rest, flattened)
            if found is None:
                return None
            readers += found
        elif flat and isinstance(exp, SOAC_EXPRESSIONS) and _takes(exp, array):
            readers.append(statement)
        else:
            return None
    return readers


def _takes(exp: Screma | Scatter | Hist, array: Name) -> bool:
    """Whether a SOAC needs an array for its elements in order alone."""
    return array not in free_names(replace(exp, arrays=()))


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
    read, uses = {bound.name}, list[int]()
    for at, statement in enumerate(rest.statements):
        if not read.isdisjoint(free_names(statement)):
            uses.append(at)
            read |= {p.name for p in statement.pattern if _is_view(statement)}
    sources = free_names(move.exp)
    return not any(
        isinstance(node, Stm) and not sources.isdisjoint(may_overwrite(node))
        for statement in rest.statements[: max(uses, default=-1) + 1]
        for node in walk(statement)
    )


def is_flattened(before: tuple[Size, ...], after: tuple[Size, ...]) -> bool:
    """Whether a view makes one of the outer dimensions, and leaves the others."""
    count = len(before) - len(after) + 1
    if not after or count < 1:
        return False
    return before[count:] == after[1:] and product(before[:count]) == after[0]


def _is_view(statement: Stm) -> bool:
    views = (core.Index, core.Rearrange, core.Reshape)
    return isinstance(statement.exp, views)


def reads_elements(
    array: Param, body: Body, levels: int, free: tuple[NestDimension, ...]
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
    array: Param,
    statement: Stm,
    rest: Body,
    levels: int,
    free: tuple[NestDimension, ...],
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
        case core.Reshape(shape, _):
            (view,) = statement.pattern
            if not is_flattened(shape_of(array.type), shape):
                return False
            left = levels - len(free) + len(shape)
            return reads_elements(view, rest, left, _flattened(free, len(shape)))
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
