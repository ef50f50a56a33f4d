"""Tuples, records, sums, arrays of them: Python's values, and the leaves of the core.

    {x: f32, y: i32}       {"x": 1.5, "y": 2}        leaves: 1.5, 2
    (f32, i32)             (1.5, 2)
    #circle f32 | #point   Variant("circle", 1.5)    leaves: its tag, 1.5
    []{x: f32, y: i32}     {"x": xs, "y": ys}        leaves: xs, ys

Arrays of such values are kept as a structure of arrays, one for each leaf, as the core
has them. `structured_arguments` takes them in other forms, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from minifut.suggestions import unknown
from minifut.values.types import ValueType


class Described(Protocol):
    """How a value looks from outside: see `ir.entries.EntryType`."""

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def slots(self) -> tuple[int, ...]: ...
    @property
    def parts(self) -> Sequence[Described]: ...


class Variant:
    """A value of a sum type: `Variant("circle", 1.5)` is `#circle 1.5`.

    `case Variant("circle", (radius,))` takes it apart.
    """

    __match_args__ = ("constructor", "payload")
    __slots__ = ("constructor", "payload")

    def __init__(self, constructor: str, *payload: Any) -> None:
        self.constructor = constructor.removeprefix("#")
        self.payload = payload

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variant):
            return NotImplemented
        return self.constructor == other.constructor and self.payload == other.payload

    def __hash__(self) -> int:
        return hash((self.constructor, self.payload))

    def __repr__(self) -> str:
        return f"Variant({', '.join(map(repr, (self.constructor, *self.payload)))})"


def leaf_types(type_: Described) -> list[ValueType]:
    """The types of the leaves; those of opaque values, which only their program
    defines, are given as bytes."""
    match type_.kind:
        case "array":
            element = type_.text.lstrip("*[]")
            return [ValueType(element, type_.text.count("["))]
        case "array_of":
            inner = leaf_types(type_.parts[0])
            return [ValueType(leaf.element, leaf.rank + 1) for leaf in inner]
        case "tuple" | "record" | "constructor":
            return [leaf for part in type_.parts for leaf in leaf_types(part)]
    found = [ValueType("u8", 0)] * type_.count
    for part in type_.parts:
        for slot, leaf in zip(part.slots, leaf_types(part), strict=True):
            found[slot] = leaf
    return found


def close_value(
    type_: Described, leaves: Sequence[Any], opaque: Callable[[Any, Sequence[Any]], Any]
) -> Any:
    """The value with these leaves; `opaque(type, leaves)` makes the opaque ones."""
    match type_.kind:
        case "array":
            return leaves[0]
        case "tuple" | "record":
            groups = grouped(type_.parts, leaves)
            return _product(type_, [close_value(p, own, opaque) for p, own in groups])
        case "array_of":
            return _struct_array(type_, 0, leaves)
        case "sum":
            chosen = type_.parts[int(leaves[0])]
            own = [leaves[slot] for slot in chosen.slots]
            payload = (
                close_value(part, inner, opaque)
                for part, inner in grouped(chosen.parts, own)
            )
            return Variant(chosen.name, *payload)
    return opaque(type_, leaves)


def compose(type_: Described, components: Iterator[Any]) -> Any:
    """The tuple or record of the next components; of another type the next one."""
    if type_.kind not in ("tuple", "record"):
        return next(components)
    return _product(type_, [compose(part, components) for part in type_.parts])


def _product(type_: Described, values: Sequence[Any]) -> Any:
    if type_.kind == "tuple":
        return tuple(values)
    return {part.name: value for part, value in zip(type_.parts, values, strict=True)}


def grouped(
    parts: Sequence[Described], leaves: Sequence[Any]
) -> Iterator[tuple[Described, Sequence[Any]]]:
    """Each part with its leaves."""
    at = 0
    for part in parts:
        yield part, leaves[at : at + part.count]
        at += part.count


def _struct_array(type_: Described, rank: int, leaves: Sequence[Any]) -> StructArray:
    while type_.kind == "array_of":
        type_, rank = type_.parts[0], rank + 1
    return StructArray(type_, rank, tuple(leaves))


class StructArray:
    """An array of records, tuples or sums: a structure of arrays.

    `a["x"]` is the array of a field, `a[3]` an element, `a[2:5]` or `a[:, 1]` a part,
    `dict(a)` a dict of arrays, `np.asarray(a)` a structured array of NumPy. Calls
    take it as it is, without a copy of its `leaves`.
    """

    __slots__ = ("element", "leaves", "rank")

    def __init__(self, element: Described, rank: int, leaves: tuple[Any, ...]) -> None:
        self.element, self.rank, self.leaves = element, rank, leaves

    def is_of(self, type_: Described, depth: int) -> bool:
        """Whether it is an array of that many dimensions around the type."""
        while type_.kind == "array_of":
            type_, depth = type_.parts[0], depth + 1
        own = self.element
        is_same = (type_.text, type_.count) == (own.text, own.count)
        return is_same and depth == self.rank

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its dimensions, without those of fields."""
        return tuple(self.leaves[0].shape[: self.rank]) if self.leaves else (0,)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields of its elements; a tuple's are "0", "1", .."""
        if self.element.kind == "sum":
            return ()
        return tuple(part.name for part in self.element.parts)

    def keys(self) -> tuple[str, ...]:
        """The fields, for `dict`."""
        return self.fields

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        whole = self.on_host()
        return (whole[i] for i in range(len(whole)))

    def on_host(self) -> StructArray:
        """The same array with leaves of NumPy."""
        return StructArray(
            self.element, self.rank, tuple(np.asarray(leaf) for leaf in self.leaves)
        )

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._field(key)
        if isinstance(key, int | np.integer):
            rank = self.rank - 1
            taken = [np.asarray(leaf)[key] for leaf in self.leaves]
        else:
            key = key if isinstance(key, tuple) else (key,)
            for place, name in enumerate(key):
                if isinstance(name, str):  # of a field, before it the elements
                    field = (self[key[:place]] if place else self)[name]
                    return field[key[place + 1 :]] if key[place + 1 :] else field
            rank = np.ndim(np.broadcast_to(False, self.shape)[key])
            taken = [self._part(np.asarray(leaf), key) for leaf in self.leaves]
        if rank:
            return StructArray(self.element, rank, tuple(taken))
        return close_value(self.element, taken, lambda type_, leaves: None)

    def _part(self, leaf: np.ndarray, key: tuple[Any, ...]) -> Any:
        """The part of a leaf, whose own dimensions are the last ones."""
        if any(index is Ellipsis for index in key):
            key += (slice(None),) * (leaf.ndim - self.rank)
        return leaf[key][()]

    def __contains__(self, value: object) -> bool:
        """Whether it is the name of a field, or equal to an element."""
        if isinstance(value, str):
            return value in self.fields
        return any(value == element for element in self)

    def _field(self, name: str) -> Any:
        if name in self.fields:
            for part, leaves in grouped(self.element.parts, self.leaves):
                if part.name == name:
                    if part.kind == "array":
                        return leaves[0]
                    return _struct_array(part, self.rank, leaves)
        raise KeyError(unknown("field", name, self.fields))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """A structured array; of sums, an array of `Variant` objects."""
        if copy is False:
            raise ValueError("the fields of a structured array have to be copied")
        whole = self.on_host()
        made = np.empty(self.shape, _dtype(self.element, whole.leaves, self.rank))
        if made.dtype == object:
            for index in np.ndindex(self.shape):
                made[index] = whole[index]
        else:
            _fill(made, self.element, whole.leaves)
        return made if dtype is None else made.astype(dtype)

    def __repr__(self) -> str:
        sizes = "".join(f"[{size}]" for size in self.shape)
        return f"<array of type {sizes}{self.element.text}>"


def _dtype(type_: Described, leaves: Sequence[Any], rank: int) -> Any:
    """NumPy's type of an element, whose leaves have `rank` dimensions around it."""
    match type_.kind:
        case "array":
            return np.dtype((leaves[0].dtype, leaves[0].shape[rank:]))
        case "array_of":
            inner = _dtype(type_.parts[0], leaves, rank + 1)
            return np.dtype((inner, (leaves[0].shape[rank],)))
        case "tuple" | "record":
            fields = [
                (part.name, _dtype(part, own, rank))
                for part, own in grouped(type_.parts, leaves)
            ]
            plain = all(inner.hasobject is False for _, inner in fields)
            return np.dtype(fields) if plain else np.dtype(object)
    return np.dtype(object)


def _fill(made: np.ndarray, type_: Described, leaves: Sequence[Any]) -> None:
    match type_.kind:
        case "array":
            made[...] = leaves[0]
        case "array_of":
            _fill(made, type_.parts[0], leaves)
        case _:
            for part, own in grouped(type_.parts, leaves):
                _fill(made[part.name], part, own)
