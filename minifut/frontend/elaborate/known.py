"""What is known of variables that elaboration made, so that checks are needless."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minifut.ir.core import Atom
from minifut.ir.sizes import Size
from minifut.names import Name


class KnownVariables:
    """Facts by variable; all but those of `assumed` hold wherever it is in scope."""

    def __init__(self) -> None:
        self.globals: set[Name] = set()
        """constants of the program"""
        self.below: dict[Name, Size] = {}
        """i64 variables that are in 0..bound-1"""
        self.literals: dict[Name, tuple[Atom, ...]] = {}
        """all elements of array literals that consist of constants"""
        self.iotas: dict[Name, Size] = {}
        """arrays that are 0, 1, ... of that length"""
        self.sizes: set[Name] = set()
        """i64 variables that are not negative"""
        self.assumed: list[Name] = []
        """those of them that a check found out, in order"""

    def assume_natural(self, size: Size) -> None:
        """A check has been made: from here on the size is not negative."""
        name = size.as_name
        if name is not None and name not in self.sizes:
            self.sizes.add(name)
            self.assumed.append(name)

    @contextmanager
    def forgetting_assumed(self) -> Iterator[None]:
        """Remove afterwards what checks inside found out: they may not be run."""
        count = len(self.assumed)
        try:
            yield
        finally:
            self.sizes.difference_update(self.assumed[count:])
            del self.assumed[count:]
