"""Names: a readable base and a tag that makes it one of its kind.

Two names are the same when base and tag are. Fresh ones come only from a `NameSource`
that is passed to what needs it, so that no global counter exists and a pass run
twice on the same text gives the same text.
"""

from __future__ import annotations

from minifut.immutables import immutable


@immutable
class Name:
    """A variable, size or type variable of the checked program and of the IR."""

    base: str
    tag: int

    def __hash__(self) -> int:
        # the same in every run, so that sets of names have one order
        return self.tag

    def __str__(self) -> str:
        return f"{self.base}_{self.tag}" if self.tag else self.base


class NameSource:
    """Generates names never seen before; `next` is the tag of the next one."""

    __slots__ = ("next",)

    def __init__(self, first: int = 1) -> None:
        self.next = first

    def fresh(self, base: str) -> Name:
        """A new name with the given readable base."""
        name = Name(base, self.next)
        self.next += 1
        return name

    def like(self, name: Name) -> Name:
        """A new name with the base of an existing one."""
        return self.fresh(name.base)
