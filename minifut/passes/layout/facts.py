"""Properties of a function that the plan uses: its kernels, needed orders, ranks, and
the costs of transposing arrays. Each is computed once, as the plan uses it for every
state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import TypeAlias

from minifut.ir import core, kernels
from minifut.ir.core import Body, Stm
from minifut.ir.host_bodies import host_bodies
from minifut.ir.node import mutable
from minifut.ir.scope import Scope
from minifut.ir.traverse import free_names
from minifut.ir.types import ArrayType
from minifut.names import Name
from minifut.passes.layout import accesses, by_default, costs
from minifut.passes.layout.choices import Dimension, KernelFacts

SELDOM = 1 / 256
"""of the cost of a branch that is taken with other parameters than the defaults"""

LayoutState: TypeAlias = dict[Name, tuple[int, ...]]
"""innermost dimensions: of the array itself, then of its copies"""


@mutable
class FunctionFacts:
    """Tables by the ids of statements and bodies: `kernels`, the orders of operands
    that kernels in a body need (`wanted`), what its statements need `later`, the
    `arrays` of several dimensions that a statement uses, and those that it makes."""

    scope: Scope
    machine: costs.Machine
    kernels: dict[int, KernelFacts] = field(default_factory=dict)
    wanted: dict[int, set[Dimension]] = field(default_factory=dict)
    later: dict[int, list[set[Name]]] = field(default_factory=dict)
    arrays: dict[int, tuple[Name, ...]] = field(default_factory=dict)
    made: dict[int, LayoutState] = field(default_factory=dict)
    transpositions: dict[Name, float] = field(default_factory=dict)
    definitions: dict[Name, Stm] = field(default_factory=dict)

    def rank(self, name: Name) -> int:
        type_ = self.scope.get(name)
        return type_.rank if isinstance(type_, ArrayType) else 0

    def collect(self, body: Body) -> bool:
        """Find the facts of all kernels; whether any would gain from a layout."""
        found = False
        for statement in body.statements:
            exp = statement.exp
            for inner in host_bodies(exp):
                found |= self.collect(inner)
            if isinstance(exp, by_default.DECIDING):
                self.definitions[statement.pattern[0].name] = statement
            if isinstance(exp, accesses.KERNELS) and exp.level == kernels.GRID:
                facts = KernelFacts.of(statement, self.scope, self.machine)
                self.kernels[id(statement)] = facts
                found |= facts.interesting
        return found

    def shares(self, exp: core.If | core.Match) -> list[float]:
        """The part of the cost of each branch that counts: next to nothing of one that
        the default parameters never take, so that no copies are made for it."""
        bodies = host_bodies(exp)
        if isinstance(exp, core.If):
            kind = self.machine.schedule
            taken = by_default.value_by_default(exp.condition, self.definitions, kind)
            if taken is not None:
                return [1.0, SELDOM] if taken else [SELDOM, 1.0]
        return [1 / len(bodies)] * len(bodies)

    def find_preferred(self, body: Body) -> set[Dimension]:
        """The orders of operands that kernels in a body need, and what its
        statements need later."""
        found: set[Dimension] = set()
        for statement in body.statements:
            for inner in host_bodies(statement.exp):
                found |= self.find_preferred(inner)
            facts = self.kernels.get(id(statement))
            for offer in facts.offers if facts else ():
                found |= set(offer.wanted.items())
        needed = {a for a in body.result if isinstance(a, Name)}
        later = [set(needed)]
        for statement in reversed(body.statements):
            needed |= free_names(statement)
            later.append(set(needed))
        self.later[id(body)] = later[::-1]
        self.wanted[id(body)] = found
        return found

    def enter(self, state: LayoutState, name: Name, *innermost: int) -> None:
        """An array of several dimensions; row-major by default."""
        rank = self.rank(name)
        if rank > 1:
            state[name] = innermost or (rank - 1,)

    def transposition_cost(self, name: Name) -> float:
        if name not in self.transpositions:
            self.transpositions[name] = self.machine.transposition_cost(
                self.scope[name]
            )
        return self.transpositions[name]

    def with_results(self, statement: Stm, state: LayoutState) -> LayoutState:
        """The state with what the statement binds, row-major."""
        key = id(statement)
        if key not in self.made:
            self.made[key] = {}
            for bound in statement.pattern:
                self.enter(self.made[key], bound.name)
        return state | self.made[key]

    def arrays_of(self, statement: Stm) -> tuple[Name, ...]:
        key = id(statement)
        if key not in self.arrays:
            free = free_names(statement.exp)
            self.arrays[key] = tuple(a for a in free if self.rank(a) > 1)
        return self.arrays[key]

    def row_major(self, atoms: Iterable[core.Atom]) -> tuple[int | None, ...]:
        ranks = [self.rank(a) if isinstance(a, Name) else 0 for a in atoms]
        return tuple(rank - 1 if rank > 1 else None for rank in ranks)

    def conform(
        self,
        atoms: tuple[core.Atom, ...],
        innermost: tuple[int | None, ...],
        wanted: tuple[int | None, ...],
    ) -> float:
        """The cost of transposing arrays to the wanted orders."""
        return sum(
            self.transposition_cost(atom)
            for atom, one, other in zip(atoms, innermost, wanted, strict=True)
            if one != other and isinstance(atom, Name)
        )
