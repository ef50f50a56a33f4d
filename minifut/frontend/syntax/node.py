"""The base of all syntax nodes: a place in the source, identity equality.

`checked()` slots are filled in once by the checker; see the package.
"""

from __future__ import annotations

import typing
from dataclasses import field
from typing import Any, TypeVar, dataclass_transform

from minifut.errors import Location
from minifut.immutables import quick_dataclass

T = TypeVar("T")


def checked(default: Any = None, *, init: typing.Literal[False] = False) -> Any:
    """A slot that the checker fills in."""
    return field(default=default, init=init, repr=False)


def filled(slot: T | None) -> T:
    """What the checker wrote into a slot, by now."""
    assert slot is not None
    return slot


@dataclass_transform(eq_default=False, field_specifiers=(field, checked))
def syntax_node(cls: type[Any]) -> Any:
    """A slots dataclass with identity equality."""
    return quick_dataclass(cls)


@syntax_node
class Node:
    """Everything has a place in the source."""

    location: Location


@syntax_node
class QualName(Node):
    """`m.n.x`: `qualifiers` is ("m", "n"), `name` is "x"; operators included."""

    qualifiers: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return ".".join((*self.qualifiers, self.name))


@syntax_node
class Attribute(Node):
    """`#[name]`, `#[3]`, `#[name(arguments)]`; for a bare atom `arguments` is None."""

    name: str | int
    arguments: tuple[Attribute, ...] | None = None
