"""Several errors in one run: those of declarations that do not depend on each other.

    def f (x: i32) = x + true        error
    def g (y: i32) = f y             nothing: it uses f
    def h (z: i32) = z + "c"         error

A declaration depends on another if its text mentions the other's name, whatever the
name means there: a wrong error is worse than one that has to wait for the next run.
After an import or `open` that failed nothing is known of the names that follow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from minifut.frontend import syntax

if TYPE_CHECKING:
    from minifut.errors import CompileError
    from minifut.frontend.check.environment import Checking

_TOKENS = re.compile(r"[A-Za-z_][\w']*|[^\s\w()\[\]{},;\"']+")


class Faults:
    """The faults found so far in the declarations of a file."""

    def __init__(self, context: Checking) -> None:
        self.found: list[CompileError] = []
        self.is_lost = False
        self._context = context
        self._failed: set[str] = set()
        self._assumed: dict[str, list[str]] = {}
        """for each name, the default types of numbers that its definition depends on"""
        self._told = 0
        """warnings that were there before the declaration being checked"""

    def depends(self, node: syntax.Declaration) -> bool:
        """Is the declaration built on one that failed? Then it counts as failed too."""
        if not self._failed or self._failed.isdisjoint(_words(node)):
            return False
        self._give_up(node)
        return True

    def passed(self, node: syntax.Declaration) -> None:
        """The declaration is right."""
        assumed = self._new_assumptions()
        name = _name(node)
        if assumed and name is not None:
            self._assumed[name] = assumed

    def add(self, node: syntax.Declaration, fault: CompileError) -> None:
        """The declaration has this fault; numbers that got a default type in it, or in
        what it uses, may be the reason."""
        assumed = self._new_assumptions()
        for word in dict.fromkeys(_words(node)) if self._assumed else ():
            assumed += self._assumed.get(word, [])
        fault.message += "".join(f"\nNote: {text}" for text in assumed)
        self.found.append(fault)
        self._give_up(node)

    def _new_assumptions(self) -> list[str]:
        warnings = self._context.warnings[self._told :]
        self._told += len(warnings)
        return [text.splitlines()[0] for text in warnings if "Defaulting" in text]

    def _give_up(self, node: syntax.Declaration) -> None:
        name = _name(node)
        if name is None:
            self.is_lost = True
        else:
            self._failed.add(name)

    def report(self) -> None:
        """Raise what was found, in the order of the text."""
        if not self.found:
            return
        first, *others = sorted(self.found, key=_position)
        first.others = tuple(others)
        raise first


def _name(node: syntax.Declaration) -> str | None:
    """What a declaration defines; None if its text does not show that."""
    match node:
        case syntax.Local(_, inner):
            return _name(inner)
        case (
            syntax.ValueDeclaration()
            | syntax.TypeDeclaration()
            | syntax.ModuleDeclaration()
            | syntax.ModuleTypeDeclaration()
        ):
            return node.name
        case _:
            return None


def _words(node: syntax.Declaration) -> list[str]:
    return _TOKENS.findall(node.location.text())


def _position(fault: CompileError) -> tuple[int, int]:
    place = fault.location
    return (0, 0) if place is None else (place.line, place.column)
