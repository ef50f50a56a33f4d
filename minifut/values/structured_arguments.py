"""Arguments that are tuples, records, sums or arrays of them: their leaves.

    open_value([]{x: f32, y: i32}, [{"x": 1, "y": 2}], "p", ..)    [1], [2], at p

Arrays of such values are given as a dict of arrays (of tuples, a tuple of arrays), a
list of elements, a structured array of NumPy, or the `StructArray` that an entry point
gave. Whether the leaves are of the right types is checked by what passes them on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from minifut.errors import ArgumentError
from minifut.immutables import immutable
from minifut.suggestions import unknown
from minifut.values.structured import Described, StructArray, Variant, leaf_types
from minifut.values.types import DTYPES


class WrongValue(ArgumentError):
    """A value is not of the type that a place has: which place, what was expected,
    what was given, and what is wrong with it."""

    def __init__(self, path: str, expected: str, given: Any, why: str = "") -> None:
        got = f"{given!r:.40}{why}"
        super().__init__(f"argument {path}: expected {expected}, got {got}")
        self.path, self.expected, self.given, self.why = path, expected, given, why


@immutable
class Blank:
    """A leaf that nothing examines: of a constructor that is not there, or of no
    elements. `outer` are the sizes of its first dimensions; others may be any."""

    outer: tuple[int, ...] = ()

    def shape(
        self, wanted: Sequence[Any], known: Callable[[Any], int | None]
    ) -> tuple[int, ...]:
        """Its shape as an array with these dimensions, numbers or names of sizes;
        `known(name)` is a size's value, or None."""
        inner = (
            size if isinstance(size, int) else known(size) or 0
            for size in wanted[len(self.outer) :]
        )
        return (*self.outer, *inner)


Leaves = list[tuple[Any, str]]
"""values of leaves, each with the path at which it was given: `p.x`"""
OpenOpaque = Callable[[Any, Any, str], Leaves]
"""the leaves of an opaque value from its type, itself, and its path"""


def open_value(
    type_: Described, given: Any, path: str, opaque: OpenOpaque, depth: int = 0
) -> Leaves:
    """The leaves of a value. With a `depth`, it is an array of that many dimensions
    around values of the type. Raises `WrongValue`."""
    if isinstance(given, StructArray) and given.is_of(type_, depth):
        return [(leaf, path) for leaf in given.leaves]
    if depth and type_.kind != "array" and (rows := _rows(type_, given)) is not None:
        return _columns(type_, rows, path, opaque, depth)
    match type_.kind:
        case "array":
            return [(given, path)]
        case "array_of":
            return open_value(type_.parts[0], given, path, opaque, depth + 1)
        case "tuple" | "record":
            fields = _fields(type_, given, path, depth)
            return _open_parts(type_.parts, fields, path, opaque, depth)
        case "sum" if not depth:
            return _open_variant(type_, given, path, opaque)
        case "sum":
            raise WrongValue(path, "a list of Variants", given)
    return opaque(type_, given, path)


def components(type_: Described, given: Any, path: str) -> list[Any]:
    """What tuples and records consist of, however nested. Raises `WrongValue`."""
    if type_.kind not in ("tuple", "record"):
        return [given]
    pairs = zip(type_.parts, _fields(type_, given, path, 0), strict=True)
    return [c for p, v in pairs for c in components(p, v, f"{path}.{p.name}")]


def _open_parts(
    parts: Sequence[Described],
    values: Sequence[Any],
    path: str,
    opaque: OpenOpaque,
    depth: int = 0,
) -> Leaves:
    return [
        leaf
        for part, value in zip(parts, values, strict=True)
        for leaf in open_value(part, value, f"{path}.{part.name}", opaque, depth)
    ]


def _rows(type_: Described, given: Any) -> Iterable[Any] | None:
    """The elements of an array that is given one by one."""
    if isinstance(given, list | StructArray):
        return given
    if isinstance(given, tuple) and type_.kind in ("record", "sum"):
        return given
    if isinstance(given, np.ndarray) and given.dtype == object:
        rows: list[Any] = given.tolist()
        return rows
    return None


def _columns(
    type_: Described, rows: Iterable[Any], path: str, opaque: OpenOpaque, depth: int
) -> Leaves:
    """The leaves of elements, side by side."""
    opened = [
        open_value(type_, row, f"{path}[{i}]", opaque, depth - 1)
        for i, row in enumerate(rows)
    ]
    if not opened:
        return [(Blank((0,) * depth), path)] * type_.count
    columns: Leaves = []
    for column in zip(*opened, strict=True):
        values = [value for value, _ in column]
        if not _are_alike(values):
            hint = "; rows of different lengths must be padded"
            raise WrongValue(path, "rows of equal lengths", list(rows), hint)
        columns.append((_column(values), _common_path(column, path)))
    return columns


def _are_alike(values: list[Any]) -> bool:
    """Whether the sizes that are known of blank values are those of all."""
    blank = [value.outer for value in values if isinstance(value, Blank)]
    known = max(blank, key=len, default=())
    if known and len(blank) < len(values):
        there = next(value for value in values if not isinstance(value, Blank))
        try:
            known = np.shape(there)
        except ValueError:  # rows of different lengths inside
            return False
    return all(outer == known[: len(outer)] for outer in blank)


def _common_path(column: Sequence[tuple[Any, str]], path: str) -> str:
    """The place of a leaf of all elements: `p.x` of p[0].x, p[1].x, .."""
    for number, (value, own) in enumerate(column):
        if not isinstance(value, Blank):
            return path + own.removeprefix(f"{path}[{number}]")
    return path


def _column(values: list[Any]) -> Any:
    there = [value for value in values if not isinstance(value, Blank)]
    if len(there) == len(values):
        return values
    if not there:
        return Blank((len(values), *max((v.outer for v in values), key=len)))
    blank = np.zeros_like(np.asarray(there[0]))[()]
    return [blank if isinstance(value, Blank) else value for value in values]


def _fields(type_: Described, given: Any, path: str, depth: int) -> Sequence[Any]:
    """The components of a record or tuple, or of an array of such."""
    if is_dataclass(given):
        given = vars(given)
    names = [part.name for part in type_.parts]
    known = getattr(getattr(given, "dtype", None), "names", None)
    if known is None and hasattr(given, "keys"):
        known = tuple(given.keys())
    if type_.kind == "tuple":
        if known is not None and len(known) == len(names):
            return [given[name] for name in known]
        if isinstance(given, tuple | list) and len(given) == len(names):
            return given
    elif known is not None and set(known) == set(names):
        return [given[name] for name in names]
    if type_.kind == "tuple":
        expected = f"a tuple of {len(names)}"
    else:
        expected = f"a dict of {', '.join(names)}"
    if depth:
        arrays = expected + (" arrays" if type_.kind == "tuple" else "")
        expected = f"{arrays}, a list of elements or a structured array"
    raise WrongValue(path, expected, given, _different_fields(type_, known or ()))


def _different_fields(type_: Described, known: Sequence[str]) -> str:
    """Which fields of a record are missing, and which are not its own."""
    names = [part.name for part in type_.parts]
    found = []
    if type_.kind == "record" and known:
        if missing := [name for name in names if name not in known]:
            found.append(f"without {', '.join(missing)}")
        found += [unknown("field", str(k), names) for k in known if k not in names]
    return f": {'; '.join(found)}" if found else ""


def _open_variant(
    type_: Described, given: Any, path: str, opaque: OpenOpaque
) -> Leaves:
    tags = {part.name: tag for tag, part in enumerate(type_.parts)}
    tag = tags.get(given.constructor) if isinstance(given, Variant) else None
    if tag is None:
        known = " | ".join(part.text for part in type_.parts)
        if isinstance(given, Variant):
            why = f": {unknown('constructor', given.constructor, tags)}"
        else:
            why = f'; write minifut.Variant("{type_.parts[0].name}", ..)'
        raise WrongValue(path, f"a Variant of {known}", given, why)
    chosen = type_.parts[tag]
    path = f"{path}.#{chosen.name}"
    if len(given.payload) != len(chosen.parts):
        raise WrongValue(
            path, f"a payload of {len(chosen.parts)} ({chosen.text})", given
        )
    own = _open_parts(chosen.parts, given.payload, path, opaque)
    leaves: Leaves = [(Blank(), path)] * type_.count
    leaves[0] = (tag, path)
    for slot, leaf in zip(chosen.slots, own, strict=True):
        leaves[slot] = leaf
    return leaves


def whole_leaves(type_: Described, leaves: Leaves) -> list[Any]:
    """The leaves as arrays and scalars of NumPy; blank ones are zeros."""
    found = []
    for leaf, expected in zip(leaves, leaf_types(type_), strict=True):
        value = leaf[0]
        dtype = DTYPES[expected.element]
        if isinstance(value, Blank):
            shape = value.shape([0] * expected.rank, lambda _: 0)
            value = np.zeros(shape, dtype)[()]
        plain = isinstance(value, list | int | float)
        found.append(np.asarray(value, dtype if plain else None)[()])
    return found
