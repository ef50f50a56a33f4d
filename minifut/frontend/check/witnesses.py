"""Which sizes can be read off the values of a type.

A size is *witnessed* when it is, as a bare name, the size of an array that is not part
of a function: then a value of the type determines it. Positions are "immediate",
"parameter" and "result" (of a function inside the type) and "argument" (of an abstract
type).
"""

from __future__ import annotations

from collections.abc import Iterator

from minifut.frontend import types
from minifut.frontend.sizes import free_in_size
from minifut.frontend.types import Type
from minifut.names import Name


def dimensions(
    type_: Type, position: str = "immediate", bound: frozenset[Name | int] = frozenset()
) -> Iterator[tuple[types.Size, str, frozenset[Name | int]]]:
    """All sizes in a type, left to right, with position and the names bound there."""
    match type_:
        case types.Array(size, element):
            yield size, position, bound
            yield from dimensions(element, position, bound)
        case types.Record(fields):
            for _, inner in fields:
                yield from dimensions(inner, position, bound)
        case types.Sum(constructors):
            for _, payload in constructors:
                for inner in payload:
                    yield from dimensions(inner, position, bound)
        case types.Named(_, arguments):
            for argument in arguments:
                if types.is_size(argument):
                    yield argument, position, bound
                else:
                    yield from dimensions(argument, "argument", bound)
        case types.Arrow(parameter, argument, result, exts):
            more = bound | set(exts)
            if parameter is not None:
                more |= {parameter}
            yield from dimensions(argument, "parameter", more)
            yield from dimensions(result, "result", more)


def free_sizes(type_: Type) -> set[Name | int]:
    """The names and metas free in the sizes of a type."""
    found: set[Name | int] = set()
    if not types.mentioned(type_):
        return found
    for size, _, bound in dimensions(type_):
        names = free_in_size(size)
        found |= names - bound if bound else names
    return found


def must_be_explicit(type_: Type) -> dict[Name | int, bool]:
    """For each size name: True if no value of the type determines it."""
    uses: dict[Name | int, bool] = {}
    for size, position, bound in dimensions(type_):
        if isinstance(size, types.SizeVar) and (
            position == "immediate" or size.name in bound
        ):
            uses[size.name] = False
        else:
            for name in free_in_size(size):
                uses.setdefault(name, True)
    return uses


def witnessed(type_: Type) -> set[Name | int]:
    """The sizes that a value of the type determines."""
    return {name for name, explicit in must_be_explicit(type_).items() if not explicit}


def produced_and_taken(type_: Type) -> tuple[set[Name | int], set[Name | int]]:
    """The free names in immediate positions, and those in parameters of functions."""
    produced: set[Name | int] = set()
    taken: set[Name | int] = set()
    for size, position, bound in dimensions(type_):
        if position in ("result", "argument"):
            continue
        names = free_in_size(size) - bound
        if position == "immediate":
            produced |= names
        else:
            taken |= names
    return produced, taken
