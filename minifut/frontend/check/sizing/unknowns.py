"""What is known of sizes that are to be found, or were created."""

from __future__ import annotations

from dataclasses import field

from minifut.errors import Location
from minifut.frontend import syntax
from minifut.frontend.types import Size
from minifut.ir.node import immutable, mutable


@immutable
class Origin:
    """Where a size meta was created, what for, and its name, for messages."""

    location: Location | None
    purpose: str | None
    base: str


@immutable
class Existential:
    """What an existential size was unified with: a binder, if it was one alone, and the
    place of a size computed there that it stands for."""

    key: object
    computed_at: Location | None


@mutable
class SizeInfo:
    """What is known of a size meta."""

    level: int
    kind: str
    origin: Origin
    link: Size | None = None
    lifted: str = ""
    """of an instantiated one: "size" for a size parameter, else of what type parameter
    it comes"""
    canonical: int = -1
    occurrence: int = -1
    existential: Existential | None = None
    in_function: bool = False
    """it is inside a function type of the type put for a type parameter"""
    of_parameter: bool = False
    """it is a size of a parameter: the caller chooses it"""
    start: Size | None = None
    """for a loop's parameter: the size of the initial value"""

    def absorb(self, key: object, computed_at: Location | None) -> None:
        """Make it existential: it was unified with one that is bound in a type."""
        self.kind, self.existential = "existential", Existential(key, computed_at)


@mutable
class Rigid:
    """A size that unifies with itself only: a parameter, or unknown."""

    level: int
    is_parameter: bool
    location: Location | None
    source: str = ""
    """where an unknown size comes from, for messages"""

    def computed_at(self, use: Location) -> Location | None:
        """Where the value of an unknown size is computed, at a `use` by default."""
        return None if self.is_parameter else self.location or use


@mutable
class Unfinished:
    """All that carries a type, to be finished at the end of a definition."""

    nodes: list[syntax.Exp | syntax.Pattern | syntax.TypeExp] = field(
        default_factory=list
    )
    functions: list[syntax.LetFunction] = field(default_factory=list)


@immutable
class Usage:
    """Why sizes must be equal, for messages."""

    purpose: str | None
    location: Location
