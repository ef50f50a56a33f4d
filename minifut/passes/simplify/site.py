"""What a simplification rule may look at, and how it answers.

A rule is a function `rule(site, pattern, exp)`. It answers with another expression for
the same pattern, with `Instead(statements, atoms)` that takes the whole statement's
place, or with None: it does not apply. What it emits into `site.build` comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Exp, Param, Stm
from minifut.names import Name


@dataclass(frozen=True, slots=True)
class Instead:
    """These statements, and for each element of the pattern an atom that it equals."""

    statements: tuple[Stm, ...]
    atoms: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """`definitions`: the expressions behind names bound alone by a statement before."""

    build: Builder
    definitions: dict[Name, Exp]

    def definition(self, atom: Atom) -> Exp | None:
        """What a name stands for, if known."""
        return self.definitions.get(atom) if isinstance(atom, Name) else None


Pattern: TypeAlias = tuple[Param, ...]
Rule: TypeAlias = Callable[[Site, Pattern, Any], "Exp | Instead | None"]
