"""Moves at the end of blocks: what a branch gives, or an iteration passes on; names."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable
from functools import cached_property

from minifut.ir import core, search, sizes, traverse
from minifut.kernel_ir import nodes as kc
from minifut.names import Name


def last_move(block: kc.HostBlock) -> kc.HostMove | None:
    """What a block ends with; only memory is freed after it."""
    for statement in reversed(block.statements):
        if isinstance(statement, kc.HostMove):
            return statement
        if not isinstance(statement, kc.Drop):
            return None
    return None


def definitions_in(block: kc.HostBlock) -> dict[Name, kc.HostAssign]:
    """The scalars that the statements of a block define, blocks within it apart."""
    return {s.name: s for s in block.statements if isinstance(s, kc.HostAssign)}


class ScalarSources:
    """The memories that hold scalars of a block alone from their definitions on until
    the block ends: made by the block, or given by branches within it (`joined`)."""

    def __init__(self, block: kc.HostBlock, joined: frozenset[Name]) -> None:
        self.block = block
        self.joined = joined
        self.alone = {
            s.memory
            for s in block.statements
            if isinstance(s, kc.Allocate) and s.count == sizes.ONE
        }

    @cached_property
    def moved(self) -> set[core.Atom]:
        """What moves name."""
        moves = search.nodes_of(kc.HostMove, self.block)
        return {name for node in moves for name in (*node.sources, *node.targets)}

    @cached_property
    def mentioned(self) -> dict[Name, int]:
        """The last statement that has a name, but for where memory is freed."""
        return {
            name: at
            for at, statement in enumerate(self.block.statements)
            if not isinstance(statement, kc.Drop)
            for name in names_in([statement])
        }

    def of(self, definition: kc.HostAssign) -> kc.Memory | None:
        """The memory of the scalar that a statement of the block defines."""
        exp = definition.exp
        if not isinstance(exp, kc.ReadElement) or exp.index != sizes.ZERO:
            return None
        memory = exp.memory
        name = memory.name
        if name not in self.joined and (memory not in self.alone or name in self.moved):
            return None
        if memory.element != definition.type:
            return None
        defined = self.block.statements.index(definition)
        if self.mentioned.get(name, -1) > defined:
            return None
        return memory


def without_drops(
    statements: Iterable[kc.HostStatement], kept: set[Name]
) -> list[kc.HostStatement]:
    """The statements, which free these memories no longer."""
    made: list[kc.HostStatement] = []
    for statement in statements:
        if isinstance(statement, kc.Drop):
            rest = tuple(name for name in statement.names if name not in kept)
            made += [kc.Drop(rest)] if rest else []
        else:
            made.append(statement)
    return made


def names_in(nodes: Iterable[object]) -> set[Name]:
    """The names that these nodes, or those within, mention."""
    found: set[Name] = set()
    for node in nodes:
        for inner in traverse.walk(node):
            traverse.own_names(inner, found)
    return found


def unused_name(base: str, taken: Container[str]) -> str:
    """A name for a kernel: with a number if it is taken."""
    numbered = (f"{base}_{number}" if number else base for number in itertools.count())
    return next(name for name in numbered if name not in taken)
