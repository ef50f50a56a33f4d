"""Disjunctions that hold (or conjunctions that do not) while it is not known by which
of their parts: they are examined again once more is known of what they are about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from minifut.ir.node import immutable
from minifut.ir.sizes import SizeFactor
from minifut.names import Name


@immutable
class OpenCondition:
    """The atoms that a condition is about, and the time at which its parts were last
    examined."""

    condition: Name
    truth: bool
    origin: str
    about: frozenset[SizeFactor]
    examined: int = -1


class OpenConditions:
    """`changed`: the time at which the last fact about an atom was added."""

    def __init__(self) -> None:
        self.entries: list[OpenCondition] = []
        self.changed: dict[SizeFactor, int] = {}
        self.clock = 0

    def add(self, entry: OpenCondition) -> None:
        """Lists are not changed in place: scopes restore them."""
        self.entries = [*self.entries, entry]

    def due(self) -> Iterator[OpenCondition]:
        """Those about something added since they were last examined, which
        is now, unless they are decided meanwhile."""
        examined, self.clock = self.clock, self.clock + 1
        for entry in self.entries:
            if any(other is entry for other in self.entries) and any(
                self.changed.get(atom, 0) > entry.examined for atom in entry.about
            ):
                yield replace(entry, examined=examined)

    def replace(self, condition: Name, entries: list[OpenCondition]) -> None:
        """What is left of a condition: itself, or nothing."""
        others = [entry for entry in self.entries if entry.condition != condition]
        self.entries = [*others, *entries]
