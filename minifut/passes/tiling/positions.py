"""Where the threads of a group read an array: per dimension a range, or one place.

    a[min(g * t * r + x * r + j, n - 1), b * d + l]      x < t, j < r, l < d
      dimension 0: from g * t * r, t * r long, of an index range that ends at n
      dimension 1: from b * d, d long

A place is expanded to a size over the names that differ within the group (indices of
threads and registers, the step in a block) and those that do not. It must be linear in
the first with coefficients that are products of parameters and numbers of one sign,
once limited by the end of its dimension at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from minifut.ir.core import Atom, Copy, ForLoop, ScalarOp, SizeExp, Stm
from minifut.ir.kernels import GetParameter, SegMap, SegSpace
from minifut.ir.node import immutable, mutable
from minifut.ir.scalars import OF_POLYNOMIALS
from minifut.ir.sizes import ONE, ZERO, Extreme, Size
from minifut.ir.traverse import atom_size, walk
from minifut.ir.types import I64
from minifut.names import Name


@immutable
class IndexRange:
    """One dimension of a read: `start` is the same for the whole group, `own` which
    element from there each point reads (no `own`: the one at `start`), `length` how
    many there are, `apart` how far they are from each other. With a `limit`, these are
    positions that end there, and the array is read at `offset + stride * position`."""

    start: Size
    own: Size = ZERO
    length: Size = ONE
    apart: int = 1
    limit: Size | None = None
    offset: Size = ZERO
    stride: Size = ONE

    @property
    def is_place(self) -> bool:
        return self.own == ZERO


@mutable
class Places:
    """What is known inside a nest of threads: how far each name goes that differs
    between points, and what other names stand for."""

    bounds: dict[Name, Size]
    meanings: dict[Name, Size]
    unknown: set[Name]

    def expanded(self, size: Size) -> Size:
        """The size over indices and names from outside."""
        return size.substitute(self.meanings)

    def index_range(self, place: Atom) -> IndexRange | None:
        """The index_range that all points together read; None if it is none."""
        size = self.expanded(atom_size(place))
        if not self.unknown.isdisjoint(size.names()):
            return None
        shared, own = size.split(self.bounds)
        clamps = [m for m, _ in own.terms if any(isinstance(a, Extreme) for a in m)]
        if not clamps:
            apart = _common_factor(own)
            own = Size(tuple((m, number // apart) for m, number in own.terms))
            length = self._length(own)
            return None if length is None else IndexRange(shared, own, length, apart)
        if len(own.terms) != 1:
            return None
        return self._limited(own, shared)

    def _limited(self, own: Size, offset: Size) -> IndexRange | None:
        """offset + factor * min(place, last)."""
        ((monomial, coefficient),) = own.terms
        (clamp, *more) = [a for a in monomial if isinstance(a, Extreme)]
        if more or clamp.greatest or len(clamp.operands) != 2:
            return None
        factor = Size.constant(coefficient)
        for atom in monomial:
            if atom is not clamp:
                factor = factor * Size.of(atom)
        moving = [o for o in clamp.operands if not self._is_shared(o)]
        fixed = [o for o in clamp.operands if self._is_shared(o)]
        if len(moving) != 1 or not self._is_shared(factor):
            return None
        start, own = moving[0].split(self.bounds)
        length = self._length(own)
        if length is None or any(
            isinstance(a, Extreme) for m, _ in own.terms for a in m
        ):
            return None
        return IndexRange(start, own, length, 1, fixed[0] + 1, offset, factor)

    def _is_shared(self, size: Size) -> bool:
        return self.bounds.keys().isdisjoint(size.names())

    def _length(self, own: Size) -> Size | None:
        """One more than the greatest value."""
        for monomial, coefficient in own.terms:
            differing = [a for a in monomial if a in self.bounds]
            if coefficient < 1 or len(differing) != 1:
                return None
            if not all(isinstance(a, Name) for a in monomial):
                return None
        return own.substitute({n: b - 1 for n, b in self.bounds.items()}) + 1


def _common_factor(own: Size) -> int:
    """The greatest common factor of the coefficients, with their sign if they all have
    the same."""
    numbers = [coefficient for _, coefficient in own.terms]
    factor = gcd(*numbers) or 1
    return -factor if numbers and all(number < 0 for number in numbers) else factor


def places_in(threads: SegMap, definitions: Mapping[Name, Stm]) -> Places:
    """What is known about the names inside a nest of threads."""
    places = Places({}, {}, set())
    for node in walk(threads):
        match node:
            case SegSpace(indices, sizes):
                places.bounds.update(zip(indices, sizes, strict=True))
            case ForLoop(index, bound, type_) if type_ == I64:
                places.bounds[index] = _most(places, bound, definitions)
            case Stm(pattern, exp):
                size = _meaning(exp) if pattern and pattern[0].type == I64 else None
                meaning = size and size.substitute_short(places.meanings)
                if meaning is not None:
                    places.meanings[pattern[0].name] = meaning
                else:
                    places.unknown.update(p.name for p in pattern)
    return places


def _meaning(exp: object) -> Size | None:
    match exp:
        case SizeExp(size):
            return size
        case Copy(atom) if isinstance(atom, Name) or atom.type == I64:
            return atom_size(atom)
        case ScalarOp(operator, (left, right)) if (
            operator.type == I64 and operator.name in OF_POLYNOMIALS
        ):
            return OF_POLYNOMIALS[operator.name](atom_size(left), atom_size(right))
    return None


def _most(places: Places, bound: Atom, definitions: Mapping[Name, Stm]) -> Size:
    """How often a loop runs at most: a parameter where it is limited by one."""
    size = places.expanded(atom_size(bound))
    name = size.as_name
    known = definitions.get(name) if name is not None else None
    if known is not None and isinstance(known.exp, SizeExp):
        size = known.exp.size
    only = size.terms[0][0] if len(size.terms) == 1 else ()
    if len(only) == 1 and isinstance(only[0], Extreme) and not only[0].greatest:
        for operand in only[0].operands:
            if all(_is_parameter(n, definitions) for n in operand.names()):
                return operand
    return size


def _is_parameter(name: Name, definitions: Mapping[Name, Stm]) -> bool:
    known = definitions.get(name)
    return known is not None and isinstance(known.exp, GetParameter)


def is_tile_size(size: Size, definitions: Mapping[Name, Stm]) -> bool:
    """Whether only parameters and constants decide it."""
    return all(_is_parameter(name, definitions) for name in size.names())
