"""Parameters and results of entry points, the same for every backend.

Parameter("xs", "[]f32", "array", False, ("n",))      shown as `xs: [n]f32`
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from minifut.immutables import immutable
from minifut.values.structured import Described as StructuredType
from minifut.values.types import ValueType

ParameterShape = tuple["int | str | None", ...]
"""dimensions: a number, the name of a size, or any"""


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
    shape: ParameterShape | None
    """the sizes of an array's dimensions; None for what is no array"""
    structure: StructuredType
    """its components"""

    @property
    def sized_text(self) -> str:
        """The type with its sizes: `[n][3]f32`."""
        element = re.sub(r"^\*?(\[\])*", "", self.type_text)
        if self.shape is None or self.kind != "array":
            return self.type_text
        sizes = ("" if size is None else str(size) for size in self.shape)
        dimensions = "".join(f"[{size}]" for size in sizes)
        return f"{'*' if self.type_text.startswith('*') else ''}{dimensions}{element}"

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
    parts: Iterable[DescribedType], shapes: Iterable[ParameterShape | None]
) -> tuple[Parameter, ...]:
    """Parameters or results from what a backend says about them."""
    return tuple(
        Parameter(p.name, p.text, p.kind, p.unique, shape, p)
        for p, shape in zip(parts, shapes, strict=True)
    )
