"""Parameters and results of entry points, the same for every backend.

Parameter("xs", "[]f32", "array", False, (("n",),), ..)      shown as `xs: [n]f32`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from minifut.immutables import immutable
from minifut.values.sized_text import ParameterShape, sized_text
from minifut.values.structured import Described as StructuredType
from minifut.values.types import ValueType


class DescribedType(StructuredType, Protocol):
    """What backends say about a parameter or result."""

    @property
    def unique(self) -> bool: ...


@immutable
class Parameter:
    """A parameter or a result of an entry point."""

    name: str
    type_text: str
    kind: str
    """"array" (scalars included), "tuple", "record", "array_of", "sum" or "opaque" """
    unique: bool
    shapes: tuple[ParameterShape | None, ...] | None
    """the sizes of the dimensions of its leaves, of which a scalar has none; None if
    they are not known"""
    structure: StructuredType
    """its components"""

    @property
    def shape(self) -> ParameterShape | None:
        """The sizes of an array's dimensions; None for what is no array."""
        if self.shapes is None or self.kind != "array":
            return None
        return self.shapes[0] or ()

    @property
    def sized_text(self) -> str:
        """The type with its sizes: `[n][3]f32`."""
        if self.shapes is None:
            return self.type_text
        return sized_text(self.structure, self.shapes)

    @property
    def value_type(self) -> ValueType | None:
        """The type of its values, None if it is not an array or a scalar."""
        return value_type_of_text(self.type_text) if self.kind == "array" else None


_ARRAY_TYPE = re.compile(r"\*?((?:\[\])*)([iuf][0-9]+|bool)\Z")


def value_type_of_text(text: str) -> ValueType | None:
    """Read `[][]f32`."""
    from minifut.values.types import ValueType

    found = _ARRAY_TYPE.match(text)
    return None if found is None else ValueType(found[2], len(found[1]) // 2)


def describe(
    parts: Iterable[DescribedType], shapes: Sequence[ParameterShape | None]
) -> tuple[Parameter, ...]:
    """Parameters or results from what a backend says about them, and the shapes of
    all their leaves."""
    found, at = [], 0
    for p in parts:
        own, at = tuple(shapes[at : at + p.count]), at + p.count
        found.append(Parameter(p.name, p.text, p.kind, p.unique, own, p))
    return tuple(found)
