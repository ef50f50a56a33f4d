"""Values for properties: made at random by their type, passed, and shown.

    []{x: i32, y: bool}     leaves: an array of i32 and one of bool, of equal length

A candidate is represented by its leaves, NumPy arrays and scalars in the order of the
core program, whatever it looks like to the entry point that takes or gives it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minifut.errors import UsageError
from minifut.frontend import types
from minifut.values.random import random_value
from minifut.values.structured import close_value
from minifut.values.structured_arguments import Leaves, open_value
from minifut.values.text import format_value
from minifut.values.types import ShapedType

if TYPE_CHECKING:
    from minifut.backend import OpaqueValues
    from minifut.ir.core import Function, Param
    from minifut.ir.entries import Entry, EntryType

BOUNDS = dict.fromkeys(("f16", "f32", "f64"), (-1.0, 1.0))


def generate(type_: types.Type, size: int, seeds: np.random.Generator) -> list[Any]:
    """Random leaves, every array `size` long where the type does not say otherwise.
    Raises `UsageError` for types that cannot be made from their parts."""
    return list(_leaves(type_, size, seeds, ()))


def _leaves(
    type_: types.Type, size: int, seeds: np.random.Generator, outer: tuple[int, ...]
) -> Iterator[Any]:
    match type_:
        case types.Scalar(name):
            seed = int(seeds.integers(1 << 63))
            yield random_value(ShapedType(name, outer), seed, BOUNDS)
        case types.Array(length, element):
            known = length.value if isinstance(length, types.SizeConst) else size
            yield from _leaves(element, size, seeds, (*outer, known))
        case types.Record(fields):
            for _, field in fields:
                yield from _leaves(field, size, seeds, outer)
        case types.Sum() | types.Arrow() | types.Named() | types.Meta():
            raise UsageError(
                f"values of type {types.show(type_)} cannot be made automatically; "
                "name an entry point that makes them: #[prop(gen(f))]"
            )


def show(type_: types.Type, leaves: Sequence[Any]) -> str:
    """A value as Futhark writes it."""
    match type_:
        case types.Scalar():
            return format_value(leaves[0])
        case types.Array(_, element):
            return _show_array(type_, element, leaves)
        case types.Record(fields):
            rest, shown = list(leaves), []
            for name, field in fields:
                count = count_leaves(field)
                text = show(field, rest[:count])
                shown.append(text if type_.is_tuple else f"{name} = {text}")
                del rest[:count]
            inside = ", ".join(shown)
            return f"({inside})" if type_.is_tuple else f"{{{inside}}}"
        case types.Sum() | types.Arrow() | types.Named() | types.Meta():
            return f"<a value of type {types.show(type_)}>"


def _show_array(type_: types.Type, element: types.Type, leaves: Sequence[Any]) -> str:
    innermost = element
    while isinstance(innermost, types.Array):
        innermost = innermost.element
    if isinstance(innermost, types.Scalar):
        return format_value(leaves[0])
    if not isinstance(innermost, types.Record) or not leaves:
        return f"<a value of type {types.show(type_)}>"
    rows = range(len(leaves[0]))
    return f"[{', '.join(show(element, [leaf[i] for leaf in leaves]) for i in rows)}]"


def count_leaves(type_: types.Type) -> int:
    """How many leaves a value has; what is not made of parts counts as one."""
    match type_:
        case types.Array(_, element):
            return count_leaves(element)
        case types.Record(fields):
            return sum(count_leaves(field) for _, field in fields)
        case (
            types.Scalar() | types.Sum() | types.Arrow() | types.Named() | types.Meta()
        ):
            return 1


def parameter_leaves(entry: Entry, function: Function) -> list[list[Param]]:
    """The core parameters that stand for each parameter of an entry point."""
    return _grouped(entry.parameters, function.parameters[entry.sizes :])


def result_leaves(entry: Entry, function: Function) -> list[Param]:
    """The core results of an entry point, without unknown sizes."""
    count = sum(result.leaves for result in entry.results)
    return list(function.results[len(function.results) - count :])


def _grouped(
    described: Sequence[EntryType], leaves: Sequence[Param]
) -> list[list[Param]]:
    rest = iter(leaves)
    return [[next(rest) for _ in range(type_.leaves)] for type_ in described]


def taken_apart(
    described: Sequence[EntryType], values: Sequence[Any], opaques: OpaqueValues
) -> list[Any]:
    """The leaves of values that an entry point gave."""

    def opaque(part: EntryType, value: Any, path: str) -> Leaves:
        return [(leaf, path) for leaf in opaques.leaves(value)]

    return [
        leaf
        for type_, value in zip(described, values, strict=True)
        for leaf, _ in open_value(type_, value, type_.name, opaque)
    ]


def put_together(type_: EntryType, leaves: Iterator[Any], opaques: OpaqueValues) -> Any:
    """A value for an entry point from its leaves."""
    own = [next(leaves) for _ in range(type_.leaves)]
    return close_value(type_, own, lambda part, inner: opaques.make(part.text, inner))
