"""What is known of sizes that are to be found, or were created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minifut.errors import Location
    from minifut.frontend.types import Size


@dataclass(slots=True)
class SizeInfo:
    """What is known of a size meta."""

    level: int
    kind: str
    location: Location | None
    purpose: str | None
    """what it arises from, for messages"""
    base: str
    link: Size | None = None
    lifted: str = ""
    """of an instantiated one: "size" for a size parameter, else of what type parameter
    it comes"""
    canonical: int = -1
    occurrence: int = -1
    key: object = None
    """for an existential: what it was unified with"""
    computed_at: Location | None = None
    """for an existential: it stands for a size computed there"""
    in_function: bool = False
    """it is inside a function type of the type put for a type parameter"""
    of_parameter: bool = False
    """it is a size of a parameter: the caller chooses it"""
    start: Size | None = None
    """for a loop's parameter: the size of the initial value"""


@dataclass(slots=True)
class Rigid:
    """A size that unifies with itself only: a parameter, or unknown."""

    level: int
    is_parameter: bool
    location: Location | None
    source: str = ""
    """where an unknown size comes from, for messages"""


@dataclass(frozen=True, slots=True)
class Usage:
    """Why sizes must be equal, for messages."""

    purpose: str | None
    location: Location
