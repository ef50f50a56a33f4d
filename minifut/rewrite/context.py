"""Contexts: what a rule may use besides its node.

Every context says where steps are recorded; the rest depends on the language:

    StatementContext     statements of the core: names, types, definitions (here)
    NestContext          flattening: the builder, and how to flatten what is inside
    CodeContext          kernel code: the builder of a kernel
    HostBuilder, ..      lowering: the builders themselves
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from minifut.ir.builder import Builder
from minifut.ir.core import Atom, Copy, Exp, Stm
from minifut.ir.kernels import Level
from minifut.ir.node import immutable, replace
from minifut.ir.scope import Scope
from minifut.names import Name, NameSource
from minifut.rewrite.trace import Derivation


class Context(Protocol):
    """Where steps are recorded; None: nowhere."""

    @property
    def derivation(self) -> Derivation | None: ...


@immutable
class StatementContext:
    """The place of a statement: fresh names, the types of all names, the statements
    that bind visible names, and the levels of the kernels around it. `needed` are names
    that other statements use too: a rule that takes the statement of such a name into
    its replacement must bind the name there."""

    names: NameSource
    scope: Scope
    definitions: Mapping[Name, Stm]
    levels: tuple[Level, ...] = ()
    needed: frozenset[Name] = frozenset()
    derivation: Derivation | None = None
    emitted: tuple[Stm, ...] = ()

    def builder(self, statement: Stm) -> Builder:
        """A builder whose statements carry the location and attributes of this one."""
        return Builder(self.names, self.scope, statement.location, statement.attributes)

    def definition(self, atom: Atom) -> Exp | None:
        """The expression that a name is bound to alone, if known."""
        found = self.definitions.get(atom) if isinstance(atom, Name) else None
        return found.exp if found is not None and len(found.pattern) == 1 else None


def with_values(
    statement: Stm, statements: tuple[Stm, ...], atoms: tuple[Atom, ...]
) -> tuple[Stm, ...]:
    """These statements in place of one, whose pattern equals the atoms."""
    copies = tuple(
        Stm((bound,), Copy(atom))
        for bound, atom in zip(statement.pattern, atoms, strict=True)
        if atom != bound.name
    )
    return (*statements, *copies)


def with_expression(
    statement: Stm, exp: Exp, before: Builder | None = None
) -> tuple[Stm, ...]:
    """The statement with another expression, after what a builder has collected."""
    above = () if before is None else tuple(before.statements)
    return (*above, replace(statement, exp=exp))
