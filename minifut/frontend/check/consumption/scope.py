"""The state of the consumption analysis: what is in scope, what has been consumed.

A variable is *consumable* when it was bound inside the innermost function (a lambda or
loop body is a function here too) and not as an observed parameter. `consumed` maps each
variable consumed so far on the current path to the place where it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from minifut.errors import Location, error
from minifut.frontend.check.consumption.aliases import (
    Alias,
    AliasSet,
    AliasTree,
    all_aliases,
)
from minifut.frontend.types import Type
from minifut.ir.node import mutable
from minifut.names import Name, NameSource


@mutable
class ScopeEntry:
    """A variable in scope."""

    tree: AliasTree
    consumable: bool
    depth: int


@mutable
class State:
    """`result_types`: functions whose uniqueness was inferred, with their full type;
    `reasons`: what to call values that have no name of their own."""

    table: dict[Name, ScopeEntry] = field(default_factory=dict)
    consumed: dict[Name, Location] = field(default_factory=dict)
    depth: int = 0
    inferred: dict[Name, Type] = field(default_factory=dict)
    reasons: dict[Name, str] = field(default_factory=dict)
    names: NameSource = field(default_factory=lambda: NameSource(-(1 << 40)))

    def bind(self, name: Name, tree: AliasTree, consumable: bool = True) -> None:
        """Bring a variable into scope; names are unique, so it need not leave."""
        self.table[name] = ScopeEntry(tree, consumable, self.depth)

    def temporary(self, reason: str) -> Alias:
        """A free alias standing for an unnamed value, with how messages call it."""
        name = self.names.fresh("result")
        self.reasons[name] = reason
        return Alias(name, bound=False)

    def is_consumable(self, name: Name) -> bool:
        """May it be consumed from here?"""
        entry = self.table.get(name)
        return entry is not None and entry.consumable and entry.depth >= self.depth

    def may_consume(self, tree: AliasTree) -> bool:
        """May the value be consumed from here?"""
        return all(
            not alias.bound or self.is_consumable(alias.name)
            for alias in all_aliases(tree)
        )

    @contextmanager
    def function_body(self) -> Iterator[None]:
        """Inside, nothing bound outside may be consumed."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    @contextmanager
    def contained(self) -> Iterator[dict[Name, Location]]:
        """Collects what is consumed inside instead of recording it."""
        before = self.consumed
        self.consumed = dict(before)
        fresh: dict[Name, Location] = {}
        try:
            yield fresh
        finally:
            after, self.consumed = self.consumed, before
            fresh.update((n, at) for n, at in after.items() if n not in before)

    def describe(self, name: Name) -> str:
        """How messages call a variable or an unnamed value."""
        return self.reasons.get(name) or f'variable "{name.base}"'

    def observe(self, location: Location, aliases: AliasSet) -> None:
        """The value is used here: none of its aliases may have been consumed."""
        for alias in aliases:
            where = self.consumed.get(alias.name)
            if where is not None:
                raise error(
                    location,
                    f"Using {self.describe(alias.name)}, but this was consumed at "
                    f"{where.line}:{where.column}. (Possibly through aliases.)",
                    "use-after-consume",
                    'use "copy" on the value before it is consumed',
                )

    def consume(self, location: Location, aliases: AliasSet) -> None:
        """The value is consumed here, with everything that it may share memory with."""
        for alias in sorted(aliases, key=lambda a: (a.name.base, a.name.tag)):
            if alias.bound and not self.is_consumable(alias.name):
                raise error(
                    location,
                    f"Consuming {self.describe(alias.name)}, which is not consumable.",
                    "not-consumable",
                    'mark the parameter with "*", or consume a "copy" of it',
                )
        self.observe(location, aliases)
        for alias in aliases:
            self.consumed[alias.name] = location
