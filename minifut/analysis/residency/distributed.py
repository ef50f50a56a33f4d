"""Arrays of a group that are distributed over the registers of its threads.

    acc = segmap thread (y < ty, x < tx) {.. returns sums}      : [ty][tx][ry][rx]
    loop (acc_1 = acc) for .. do {                  float acc_0_0, .. of thread (y, x)
      segmap thread (y < ty, x < tx) { acc_1[y, x] .. } }

An array is *distributed* when every thread makes one element of it (a scalar or a tile)
and only ever reads its own: then it needs no memory of the group. For that the points
of the space that makes it must be the threads of the group, which is known when a
kernel is built. Names passed to each other (by loops and branches) are distributed
together or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TypeAlias

from minifut.analysis.residency.uses import Uses, find_tiles, passed, uses_of
from minifut.ir import core
from minifut.ir.core import Stm
from minifut.ir.kernels import THREAD, KernelBody, Returns, SegMap
from minifut.ir.node import immutable, mutable
from minifut.ir.sizes import Size, product
from minifut.ir.types import ScalarType
from minifut.names import Name

Extents: TypeAlias = tuple[Size, ...]


@immutable
class RegisterArrays:
    """`tiles`: arrays of threads. `distributed`: arrays of the group with the sizes of
    the space that makes them, whose threads the `group` then has (None: any number)."""

    tiles: frozenset[Name]
    distributed: dict[Name, Extents]
    group: Size | None


def register_arrays(
    body: KernelBody, known_when_built: Callable[[Extents], bool]
) -> RegisterArrays:
    """The arrays in registers in the body of a group."""
    tiles = frozenset(find_tiles(body))
    uses = uses_of(body)
    classes = _Classes(tiles)
    classes.add_all(body.statements)
    found = [
        each
        for each in classes.found(uses)
        if (each.sizes is not None and known_when_built(each.sizes))
    ]
    carried = [each for each in found if each.is_carried] or found
    if not carried:
        return RegisterArrays(tiles, {}, None)
    group = product(carried[0].sizes or ())
    distributed = {
        name: each.sizes
        for each in found
        if each.sizes is not None and product(each.sizes) == group
        for name in each.names
    }
    return RegisterArrays(tiles, distributed, group)


@immutable
class _Class:
    """Names passed to each other, with the one space that makes and reads them;
    None if there are several, or other uses."""

    names: frozenset[Name]
    sizes: Extents | None
    is_carried: bool


@mutable
class _Classes:
    """A union-find of names passed to each other by the statements of a group, not
    by those of threads; `made` by threads in these spaces, or `carried`."""

    tiles: frozenset[Name]
    parents: dict[Name, Name] = field(default_factory=dict)
    made: dict[Name, Extents] = field(default_factory=dict)
    carried: set[Name] = field(default_factory=set)

    def root(self, name: Name) -> Name:
        while self.parents.setdefault(name, name) != name:
            name = self.parents[name]
        return name

    def join(self, one: Name, other: Name) -> None:
        self.parents[self.root(other)] = self.root(one)

    def add_all(self, statements: tuple[Stm, ...]) -> None:
        """Take statements of the group into account."""
        for statement in statements:
            self.add(statement)

    def add(self, stm: Stm) -> None:
        """Take a statement of the group into account."""
        match stm.exp:
            case SegMap(level, space, body, types) if level == THREAD:
                for bound, result, type_ in zip(
                    stm.pattern, body.result, types, strict=True
                ):
                    if isinstance(result, Returns) and (
                        isinstance(type_, ScalarType) or result.value in self.tiles
                    ):
                        self.made[bound.name] = space.sizes
                        self.root(bound.name)
            case core.Loop(parameters, _, _, body):
                for bound, parameter in zip(stm.pattern, parameters, strict=True):
                    if not isinstance(bound.type, ScalarType):
                        self.carry(parameter.name)
                        self.carry(bound.name)
                        self.join(bound.name, parameter.name)
                self.connect(stm)
                self.add_all(body.statements)
            case core.If() | core.Match() as branch:
                for bound in stm.pattern:
                    if not isinstance(bound.type, ScalarType):
                        self.carry(bound.name)
                self.connect(stm)
                for inner in branch.branches:
                    self.add_all(inner.statements)

    def carry(self, name: Name) -> None:
        self.root(name)
        self.carried.add(name)

    def connect(self, stm: Stm) -> None:
        for bound, atom in passed(stm):
            if bound in self.carried and isinstance(atom, Name):
                self.join(bound, atom)

    def found(self, uses: Mapping[Name, Uses]) -> list[_Class]:
        """The classes in order of their first names."""
        members: dict[Name, list[Name]] = {}
        for name in sorted(self.parents, key=lambda name: name.tag):
            members.setdefault(self.root(name), []).append(name)
        return [self._class(frozenset(names), uses) for names in members.values()]

    def _class(self, names: frozenset[Name], uses: Mapping[Name, Uses]) -> _Class:
        spaces = {self.made[name] for name in names if name in self.made}
        for name in names:
            spaces |= uses[name].spaces
        own = names <= self.made.keys() | self.carried and all(
            each.mentions
            == each.passed_to(names) + each.own_elements + len(each.results)
            for each in (uses[name] for name in names)
        )
        sizes = spaces.pop() if own and len(spaces) == 1 else None
        return _Class(names, sizes, bool(names & self.carried))
