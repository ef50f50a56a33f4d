"""Sizes that go out of scope become unknown.

    let n = f x in iota n      [n]i64  →  [d]i64, with d unknown

Where the type is that of a function, what is unknown in its result is bound there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from minifut.errors import Location
from minifut.frontend import types
from minifut.frontend.check.sizing.state import Sizing
from minifut.frontend.check.sizing.unify import same_size
from minifut.frontend.check.witnesses import dimensions, free_sizes, produced_and_taken
from minifut.frontend.sizes import free_in_size, map_size_parts, size_parts
from minifut.frontend.types import Type
from minifut.names import Name


def unscope(
    state: Sizing, location: Location, unscoped: Collection[Name], type_: Type
) -> tuple[Type, tuple[Name, ...]]:
    """Replace sizes that mention names going out of scope by unknown ones."""
    if not unscoped:
        return type_, ()
    names = set(unscoped)
    if names.isdisjoint(types.mentioned(type_)) or not free_sizes(type_) & names:
        return type_, ()

    def killer(size: types.Size) -> Name | None:
        hit = names & free_in_size(size)
        return min(hit, key=lambda n: n.tag) if hit else None

    return replace_sizes(state, location, killer, type_)


def replace_sizes(
    state: Sizing,
    location: Location,
    killer: Callable[[types.Size], object | None],
    type_: Type,
) -> tuple[Type, tuple[Name, ...]]:
    """Make each size that has a killer unknown, the same one everywhere where the
    size can be read off a value; the new names that are outside of functions."""
    return _Replacer(state, location, killer).run(type_)


def _depth(size: types.Size) -> int:
    return max((1 + _depth(part) for part in size_parts(size)), default=0)


class _Replacer:
    def __init__(
        self,
        state: Sizing,
        location: Location,
        killer: Callable[[types.Size], object | None],
    ) -> None:
        self.state = state
        self.location = location
        self.killer = killer
        self.made: list[Name] = []

    def run(self, type_: Type) -> tuple[Type, tuple[Name, ...]]:
        mapping = self._seen_in(type_, [])
        done = self._type(type_, mapping)
        return done, tuple(self.made)

    def _seen_in(
        self, type_: Type, mapping: list[tuple[types.Size, types.Size]]
    ) -> list[tuple[types.Size, types.Size]]:
        """Decide on the sizes that values of the type determine, small ones first."""
        immediate = [s for s, where, _ in dimensions(type_) if where == "immediate"]
        mapping = list(mapping)
        for size in sorted(immediate, key=_depth):
            mapping.append((size, self._size(size, mapping)))
        return mapping

    def _size(
        self, size: types.Size, mapping: list[tuple[types.Size, types.Size]]
    ) -> types.Size:
        size = self._replace(self.state.normal(size), mapping)
        cause = self.killer(size)
        if cause is None:
            return size
        name = getattr(cause, "base", None)
        source = (
            f'an unknown size arising from "{name}" going out of scope' if name else ""
        )
        fresh = self.state.unknown(self.location, source or "an unknown size")
        self.made.append(fresh)
        return types.SizeVar(fresh)

    def _replace(
        self, size: types.Size, mapping: list[tuple[types.Size, types.Size]]
    ) -> types.Size:
        for old, new in mapping:
            if same_size(old, size):
                return new
        return map_size_parts(size, lambda part: self._replace(part, mapping))

    def _type(self, type_: Type, mapping: list[tuple[types.Size, types.Size]]) -> Type:
        match type_:
            case types.Arrow(parameter, argument, result, exts):
                argument = self._type(argument, mapping)
                before = len(self.made)
                inside = self._seen_in(result, mapping)
                result = self._type(result, inside)
                more = tuple(self.made[before:])
                del self.made[before:]
                return types.Arrow(parameter, argument, result, (*exts, *more))
            case _:
                return types.map_parts(
                    type_,
                    lambda inner: self._type(inner, mapping),
                    lambda size: self._size(size, mapping),
                )


def move_exts_inwards(
    exts: tuple[Name, ...], type_: Type
) -> tuple[tuple[Name, ...], Type]:
    """`?[n].bool -> [n]bool` becomes `bool -> ?[n].[n]bool`; what stays here, type."""
    if not exts:
        return (), type_
    produced, _ = produced_and_taken(type_)
    here = tuple(e for e in exts if e in produced)
    there = tuple(e for e in exts if e not in produced)

    def deeper(term: Type) -> Type:
        match term:
            case types.Arrow(parameter, argument, result, own):
                inner, result = move_exts_inwards(
                    tuple(dict.fromkeys((*there, *own))), result
                )
                return types.Arrow(parameter, argument, result, inner)
            case types.Record() | types.Sum():
                return types.map_parts(term, deeper)
            case types.Scalar() | types.Array() | types.Named() | types.Meta():
                return term

    return here, (deeper(type_) if there else type_)
