"""Tuples, records, sums and arrays of them as text, and in binary form.

    {x = 1.5f32, y = 2i32}   (1i32, true)   #circle 1.5f32   [{x = 1, y = 2}]   []

They are read by their types, so that numbers need no suffix. The text of a value of an
abstract type has its leaves, with suffixes: `#<stack.t 2i64 [1.0f32, 0.0f32]>`. In
binary form a value is its leaves, one after the other, as Futhark's C libraries store
opaque values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minifut.values.binary import read_binary, write_binary
from minifut.values.reader import read_next
from minifut.values.structured import Described, Variant, close_value, grouped
from minifut.values.text import Malformed, format_value, skip_space

NAME = re.compile(rb"[A-Za-z_0-9][A-Za-z0-9_']*")
WITH_PAYLOAD = re.compile(r"#[^<]\S* ")

MakeOpaque = Callable[[Described, Sequence[Any]], Any]


def format_structured(type_: Described, leaves: Sequence[Any]) -> str:
    """The text of the value with these leaves."""
    match type_.kind:
        case "array":
            return format_value(leaves[0])
        case "array_of":
            element, count = type_.parts[0], len(leaves[0]) if leaves else 0
            rows = ([leaf[i] for leaf in leaves] for i in range(count))
            return f"[{', '.join(format_structured(element, row) for row in rows)}]"
        case "tuple":
            return f"({', '.join(_formatted(type_, leaves))})"
        case "record":
            names = (part.name for part in type_.parts)
            fields = zip(names, _formatted(type_, leaves), strict=True)
            return f"{{{', '.join(f'{name} = {text}' for name, text in fields)}}}"
        case "sum":
            chosen = type_.parts[int(leaves[0])]
            payload = _formatted(chosen, [leaves[slot] for slot in chosen.slots])
            inside = (f"({t})" if WITH_PAYLOAD.match(t) else t for t in payload)
            return " ".join((f"#{chosen.name}", *inside))
    return f"#<{' '.join((type_.text, *map(format_value, map(np.asarray, leaves))))}>"


def _formatted(type_: Described, leaves: Sequence[Any]) -> list[str]:
    return [format_structured(part, own) for part, own in grouped(type_.parts, leaves)]


def binary_of_leaves(leaves: Sequence[Any]) -> bytes:
    """The binary form of the value with these leaves."""
    return b"".join(map(write_binary, leaves))


def read_structured(
    type_: Described, data: bytes, offset: int, opaque: MakeOpaque, binary: bool = True
) -> tuple[Any, int]:
    """The value of a type that starts at `offset`, and where it ends; `opaque` makes
    values of opaque types from their leaves. Raises `Malformed`."""
    if binary and data[offset : offset + 1] == b"b":
        leaves = []
        for _ in range(type_.count):
            offset = skip_space(data, offset)
            leaf, offset = read_binary(data, offset)
            leaves.append(leaf)
        if type_.kind == "sum" and not int(leaves[0]) < len(type_.parts):
            raise Malformed(offset, f"no constructor has the number {leaves[0]}")
        return close_value(type_, leaves, opaque), offset
    return _Reader(data, opaque).value(type_, offset)


class _Reader:
    """Reads a text by the types of what it holds."""

    def __init__(self, data: bytes, opaque: MakeOpaque) -> None:
        self.data, self.make_opaque = data, opaque

    def value(self, type_: Described, offset: int) -> tuple[Any, int]:
        offset = skip_space(self.data, offset)
        if self.data[offset : offset + 1] == b"(" and type_.kind != "tuple":
            value, offset = self.value(type_, offset + 1)
            return value, self.mark(b")", offset)
        match type_.kind:
            case "array":
                element = type_.text.lstrip("*[]")
                return read_next(self.data, offset, expected=element, binary=False)
            case "array_of":
                return self.elements(type_.parts[0], offset)
            case "tuple":
                values, offset = self.parts(type_, offset, b"(", b")")
                return tuple(values), offset
            case "record":
                values, offset = self.parts(type_, offset, b"{", b"}")
                names = [part.name for part in type_.parts]
                return dict(zip(names, values, strict=True)), offset
            case "sum":
                return self.variant(type_, offset)
        return self.opaque(type_, offset)

    def opaque(self, type_: Described, offset: int) -> tuple[Any, int]:
        """What a run has printed for a value of that type."""
        start = f"#<{type_.text}".encode()
        if self.data[offset : offset + len(start)] != start:
            message = (
                f"a value of the type {type_.text} was expected, as a run prints it"
            )
            raise Malformed(offset, f"{message}: {start.decode()} ...>")
        offset += len(start)
        leaves = []
        for _ in range(type_.count):
            offset = skip_space(self.data, offset)
            leaf, offset = read_next(self.data, offset, binary=False)
            leaves.append(leaf)
        return self.make_opaque(type_, leaves), self.mark(b">", offset)

    def mark(self, wanted: bytes, offset: int) -> int:
        """Past a bracket or a comma."""
        offset = skip_space(self.data, offset)
        if self.data[offset : offset + len(wanted)] != wanted:
            raise Malformed(offset, f"'{wanted.decode()}' was expected")
        return offset + len(wanted)

    def at(self, wanted: bytes, offset: int) -> bool:
        offset = skip_space(self.data, offset)
        return self.data[offset : offset + 1] == wanted

    def elements(self, element: Described, offset: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        offset = self.mark(b"[", offset)
        while not self.at(b"]", offset):
            if found:
                offset = self.mark(b",", offset)
            value, offset = self.value(element, offset)
            found.append(value)
        return found, self.mark(b"]", offset)

    def parts(
        self, type_: Described, offset: int, left: bytes, right: bytes
    ) -> tuple[list[Any], int]:
        """The components in the order of the type; those of records have names and may
        come in any order."""
        offset = self.mark(left, offset)
        named = {part.name: part for part in type_.parts}
        found: dict[str, Any] = {}
        for place, part in enumerate(type_.parts):
            if place:
                offset = self.mark(b",", offset)
            name = part.name
            if type_.kind == "record":
                start = skip_space(self.data, offset)
                name, offset = self.name(start)
                if name not in named or name in found:
                    missing = ", ".join(n for n in named if n not in found)
                    raise Malformed(start, f"a field was expected: {missing}")
                offset = self.mark(b"=", offset)
            found[name], offset = self.value(named[name], offset)
        return [found[name] for name in named], self.mark(right, offset)

    def variant(self, type_: Described, offset: int) -> tuple[Variant, int]:
        start = offset
        name, offset = self.name(self.mark(b"#", offset))
        chosen = next((part for part in type_.parts if part.name == name), None)
        if chosen is None:
            known = " | ".join(part.text for part in type_.parts)
            raise Malformed(start, f"one of {known} was expected")
        payload = []
        for part in chosen.parts:
            value, offset = self.value(part, offset)
            payload.append(value)
        return Variant(name, *payload), offset

    def name(self, offset: int) -> tuple[str, int]:
        found = NAME.match(self.data, offset)
        if found is None:
            raise Malformed(offset, "a name was expected")
        return found[0].decode(), found.end()
