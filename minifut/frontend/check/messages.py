"""The words of type errors: both types, in the user's own names, and what to do.

A failed unification raises `Mismatch` deep inside; whoever asked for the two types to
be equal knows why, catches it and turns it into a `CompileError` at the right place.
The anchors name entries of docs/errors.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.errors import CompileError
from minifut.frontend import types
from minifut.frontend.types import Arrow, map_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from minifut.errors import Location
    from minifut.frontend import syntax
    from minifut.frontend.types import Size, Type


class Mismatch(Exception):
    """Two types (or what is known of them) that cannot be equal."""

    def __init__(
        self, left: object, right: object, path: tuple[str, ...] = (), note: str = ""
    ) -> None:
        super().__init__(note)
        self.left = left
        self.right = right
        self.path = path
        self.note = note
        self.anchor = "type-mismatch"

    def details(self) -> str:
        """Where inside the types the fault lies, and what it is."""
        parts = [f"When matching {step}." for step in reversed(self.path)]
        if self.note:
            parts.append(self.note)
        return "\n".join(parts)


def quote(text: str) -> str:
    """A name or a short piece of program between quotes."""
    return f'"{text}"'


def source_text(node: syntax.Node, limit: int = 60) -> str:
    """The text of a node on one line, shortened."""
    text = " ".join(node.location.text().split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def show(type_: Type, finish: Callable[[Type], Type] | None = None) -> str:
    """A type for a message: parameter names only where sizes mention them."""
    whole = type_ if finish is None else finish(type_)

    def on_type(term: Type) -> Type | None:
        if isinstance(term, Arrow):
            argument = map_type(term.argument, on_type, lambda s: s)
            result = map_type(term.result, on_type, lambda s: s)
            name = term.parameter
            if name is not None and not mentions(result, name):
                name = None
            return Arrow(name, argument, result, term.exts)
        return None

    return types.show(map_type(whole, on_type, lambda s: s))


def mentions(type_: Type, name: object) -> bool:
    """Does a name stand in a size of the type?"""
    found = False

    def leaf(size: Size) -> Size:
        nonlocal found
        match size:
            case types.SizeVar(other) if other == name:
                found = True
            case types.SizeOpaque(_, _, inner):
                for _, s in inner:
                    types.map_size(s, leaf)
        return size

    map_type(type_, lambda _: None, lambda size: types.map_size(size, leaf))
    return found


def describe(thing: object, finish: Callable[[Type], Type]) -> str:
    """A type, or the demand that stands for one not yet known."""
    names = getattr(thing, "names", None)
    if names is not None:
        return f"type that must be one of {', '.join(names)}"
    fields = getattr(thing, "fields", None)
    if isinstance(fields, dict):
        known = {n: finish(t) for n, t in fields.items()}
        return f"type that must be a record with fields {show(types.record(known))}"
    constructors = getattr(thing, "constructors", None)
    if isinstance(constructors, dict):
        whole = {c: tuple(finish(t) for t in ts) for c, ts in constructors.items()}
        shown = show(types.Sum(tuple(sorted(whole.items()))))
        return f"type that must be a sum type with constructors {shown}"
    if isinstance(thing, types.Type):
        return show(thing, finish)
    return "a type that is not known yet"


def two_types(first: str, one: str, second: str, other: str) -> str:
    """Two types one above the other."""
    width = max(len(first), len(second)) + 1
    return f"{(first + ':').ljust(width)} {one}\n{(second + ':').ljust(width)} {other}"


def error(
    location: Location | None,
    message: str,
    anchor: str | None = None,
    hint: str | None = None,
) -> CompileError:
    """A `CompileError` with its entry in the index of errors."""
    return CompileError(location, message, hint, anchor)
