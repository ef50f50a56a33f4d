"""Which arrays of a group lie in the registers of its threads.

    acc = segmap thread (y < ty, x < tx) {.. returns sums}      : [ty][tx][ry][rx]
    loop (acc_1 = acc) for .. do {                  float acc_0_0, .. of thread (y, x)
      segmap thread (y < ty, x < tx) { acc_1[y, x] .. } }

*Tiles* are the arrays of threads that nests of the level `register` make, and what
loops and branches of threads carry of them. An array of the group is *spread* when
every thread makes one element (a scalar or a tile) of it and only ever looks at its
own: then nothing of it needs memory of the group. For that the points of the space
that makes it must be the threads of the group, which is known when a kernel is built.

Names that hand over the same value (loops, branches, copies) are spread together or not
at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from minifut.analysis.accumulator_tiles import bodies_of, find_tiles
from minifut.ir import core, kernels
from minifut.ir.core import Atom, Stm
from minifut.ir.kernels import THREAD, KernelBody, SegMap
from minifut.ir.sizes import ONE, Size, product
from minifut.ir.traverse import own_names, walk
from minifut.ir.types import ScalarType
from minifut.names import Name

Sizes = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class InRegisters:
    """`tiles`: arrays of threads. `spread`: arrays of the group with the sizes of the
    space that makes them, whose threads the `group` then has (None: any number)."""

    tiles: frozenset[Name]
    spread: dict[Name, Sizes]
    group: Size | None


def in_registers(
    body: KernelBody, known_when_built: Callable[[Sizes], bool]
) -> InRegisters:
    """Find them in the body of a group."""
    tiles = find_tiles(body)
    search = _Search(tiles)
    search.statements(body.statements)
    for result in body.result:
        search.result(result)
    groups = [g for g in search.groups() if known_when_built(g.sizes)]
    carried = [g for g in groups if g.is_carried] or groups
    if not carried:
        return InRegisters(frozenset(tiles), {}, None)
    group = product(carried[0].sizes)
    spread = {
        name: g.sizes for g in groups if product(g.sizes) == group for name in g.names
    }
    return InRegisters(frozenset(tiles), spread, group)


@dataclass(slots=True)
class Group:
    """Names that hand over one value, and the spaces that make it."""

    names: set[Name]
    sizes: Sizes = ()
    is_carried: bool = False


@dataclass(slots=True)
class _Search:
    """Walks over the statements of a group, not into those of threads."""

    tiles: set[Name]
    parents: dict[Name, Name] = field(default_factory=dict)
    spaces: dict[Name, set[Sizes]] = field(default_factory=dict)
    made: set[Name] = field(default_factory=set)
    carried: set[Name] = field(default_factory=set)
    refused: set[Name] = field(default_factory=set)

    def groups(self) -> list[Group]:
        """The groups of names that may be spread, in order of appearance."""
        found: dict[Name, Group] = {}
        members = {*self.parents, *self.made}
        ordered = sorted(members, key=lambda name: name.tag)
        for name in ordered:
            found.setdefault(self.root(name), Group(set())).names.add(name)
        good = []
        for group in found.values():
            spaces = {s for name in group.names for s in self.spaces.get(name, ())}
            makers = group.names <= self.made | self.carried
            if makers and len(spaces) == 1 and not group.names & self.refused:
                group.sizes = spaces.pop()
                group.is_carried = bool(group.names & self.carried)
                good.append(group)
        return good

    # --- names that hand over one value ---

    def root(self, name: Name) -> Name:
        while self.parents.get(name, name) != name:
            name = self.parents[name]
        return name

    def join(self, atoms: Iterable[Atom]) -> None:
        names = [atom for atom in atoms if isinstance(atom, Name)]
        for name in names[1:]:
            self.parents.setdefault(name, name)
            self.parents[self.root(name)] = self.root(names[0])
        if names:
            self.parents.setdefault(names[0], names[0])

    # --- statements of the group ---

    def statements(self, statements: tuple[Stm, ...]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, stm: Stm) -> None:
        names = [bound.name for bound in stm.pattern]
        match stm.exp:
            case SegMap(level, space, body, types) if level == THREAD:
                for name, result, type_ in zip(names, body.result, types, strict=True):
                    if isinstance(result, kernels.Returns) and (
                        isinstance(type_, ScalarType) or result.value in self.tiles
                    ):
                        self.made.add(name)
                        self.spaces.setdefault(name, set()).add(space.sizes)
                self.looks(stm.exp)
            case core.Loop() as loop:
                for position, bound in enumerate(loop.parameters):
                    if isinstance(bound.type, ScalarType):
                        continue
                    end = names[position]
                    self.carried.update((bound.name, end))
                    start, after = loop.initial[position], loop.body.result[position]
                    self.join((end, bound.name, start, after))
                self.statements(loop.body.statements)
            case core.If() | core.Match() as branch:
                for position, bound in enumerate(stm.pattern):
                    if isinstance(bound.type, ScalarType):
                        continue
                    self.carried.add(bound.name)
                    ends = [b.result[position] for b in bodies_of(branch)]
                    self.join((bound.name, *ends))
                for inner in bodies_of(branch):
                    self.statements(inner.statements)
            case _:
                self.refuse(stm.exp)

    def refuse(self, node: object) -> None:
        """All that is mentioned there is looked at in other ways."""
        for inner in walk(node):
            own_names(inner, self.refused)

    def looks(self, operation: SegMap) -> None:
        """Threads may look at their own elements."""
        space = operation.space
        for node in walk(operation):
            own: set[Name] = set()
            own_names(node, own)
            if isinstance(node, core.Index) and node.slice == space.indices:
                self.spaces.setdefault(node.array, set()).add(space.sizes)
                own.discard(node.array)
            self.refused |= own

    def result(self, result: kernels.KernelResult) -> None:
        match result:
            case kernels.Returns():
                return
            case kernels.TileReturns(dimensions, tile):
                sizes = tuple(size for _, size in dimensions if size != ONE)
            case kernels.RegTileReturns(blocked, tile):
                sizes = tuple(b for _, b, r in blocked if (b, r) != (ONE, ONE))
            case kernels.WriteReturns():
                self.refuse(result)
                return
        self.spaces.setdefault(tile, set()).add(sizes)
