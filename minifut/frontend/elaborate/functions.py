"""Shared functions: specialised once, called with `Apply`.

Calls are inlined as a rule. A definition whose interpretation makes many statements and
that is called again and again is made into a function of the core instead, once per way
of using it, so that a program grows no faster than its text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.errors import Location
from minifut.frontend.elaborate.values import Closure, Value
from minifut.ir.core import Function

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work


class Specialisations:
    """The functions that have been made."""

    def __init__(self) -> None:
        self.made: list[Function] = []

    def functions(self) -> tuple[Function, ...]:
        """All of them."""
        return tuple(self.made)

    def call(
        self,
        work: Work,
        closure: Closure,
        arguments: tuple[Value, ...],
        location: Location,
    ) -> Value | None:
        """A call of a shared function; None if the call is to be inlined."""
        return None
