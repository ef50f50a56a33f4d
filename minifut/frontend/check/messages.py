"""The words of type errors: both types, in the user's own names, and what to do.

`Mismatch` is raised where two types cannot be equal, and becomes an error in
`check.mismatches`. The anchors name entries of docs/errors.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from minifut.errors import Location, Portable, error
from minifut.frontend import syntax, types
from minifut.frontend.check.witnesses import dimensions
from minifut.frontend.sizes import free_in_size
from minifut.frontend.types import Arrow, Size, SizeVar, Type, map_type
from minifut.names import Name

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


K = TypeVar("K", bound=Hashable)


class Mismatch(Portable):
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
        """Where inside the types the fault is, and what it is."""
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


class Shown:
    """How names print in one message: d, d₁, d₂ where several have one base."""

    def __init__(self) -> None:
        self._names: dict[Name, Name] = {}
        self._count: dict[str, int] = {}

    def name(self, name: Name) -> Name:
        """The name with the base that it prints by."""
        found = self._names.get(name)
        if found is None:
            count = self._count.get(name.base, 0)
            self._count[name.base] = count + 1
            number = str(count).translate(SUBSCRIPTS) if count else ""
            found = self._names[name] = Name(name.base + number, name.tag)
        return found

    def size(self, size: Size) -> Size:
        """The size with all names as they print."""
        return types.map_size(size, self._leaf)

    def _leaf(self, size: Size) -> Size:
        return SizeVar(self.name(size.name)) if isinstance(size, SizeVar) else size

    def type(self, type_: Type) -> Type:
        """The type with all names as they print; those of parameters of functions
        only where sizes mention them."""

        def on_type(term: Type) -> Type | None:
            if not isinstance(term, Arrow):
                return None
            parameter = term.parameter
            if parameter is not None:
                used = mentions(term.result, parameter)
                parameter = self.name(parameter) if used else None
            argument = self.type(term.argument)
            exts = tuple(self.name(e) for e in term.exts)
            return Arrow(parameter, argument, self.type(term.result), exts)

        return map_type(type_, on_type, self.size)


def show(
    type_: Type,
    finish: Callable[[Type], Type] | None = None,
    shown: Shown | None = None,
) -> str:
    """A type for a message; different names print differently, in all types that are
    given the same `shown`."""
    whole = type_ if finish is None else finish(type_)
    return types.show((shown or Shown()).type(whole))


def mentions(type_: Type, name: object) -> bool:
    """Does a name occur in a size of the type?"""
    return any(name in free_in_size(size) for size, _, _ in dimensions(type_))


def refuse_again(
    seen: dict[K, Location], key: K, location: Location, what: str
) -> None:
    """Note what is here; an error if it was `seen` elsewhere, `what` says before the
    place."""
    before = seen.setdefault(key, location)
    if before is not location:
        text = f"{what} {before.line}:{before.column}."
        raise error(location, text, "duplicate-definition")
