"""What the packing of a collective copy is, and the facts by which rules choose it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from minifut.ir.core import Atom
from minifut.ir.node import value
from minifut.ir.sizes import Size
from minifut.ir.traverse import atom_size
from minifut.lowering.packing.layouts import PackingLayout
from minifut.lowering.packing.regions import CopyRegion
from minifut.names import Name
from minifut.rewrite.rule import Refused
from minifut.rewrite.trace import Derivation

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder


@value
class InPlace:
    """No copy; `clamped` are the dimensions of the array whose positions may exceed its
    extent."""

    clamped: tuple[bool, ...]


@value
class Panels:
    """Panels of `width` elements of `dimension`; `transposed`: from an array in which
    elements of other panels are adjacent."""

    dimension: int
    width: Size
    transposed: bool


@value
class Rows:
    """Rows of dimension `innermost`."""

    innermost: int
    padded: bool


Packing: TypeAlias = InPlace | Panels | Rows


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """What is known of a group before its code is emitted. `definitions` are what the
    names of sizes stand for; `counters`, the indices of the group and of its loops, are
    not negative; results have elements in the dimensions with extents `totals`."""

    host: HostBuilder
    definitions: Mapping[Name, Size]
    counters: frozenset[Name]
    totals: frozenset[Size]
    layouts: Mapping[Name, PackingLayout]

    @property
    def derivation(self) -> Derivation | None:
        return self.host.derivation

    def size(self, size: Size) -> Size:
        """A size in variables of the host and indices of the group."""
        return self.host.size(size.substitute(dict(self.definitions)))

    def index(self, atom: Atom) -> Size:
        """An index as such a size."""
        return self.size(atom_size(atom))

    def layout(self, region: CopyRegion, least_rank: int = 1) -> PackingLayout:
        """The layout that the readers of a copy prefer; refuses copies that others
        than register nests read, or of a lower rank."""
        layout = self.layouts.get(region.bound.name)
        if layout is None:
            raise Refused(
                f"something else than register nests reads the copy of "
                f"{region.source_name}"
            )
        if len(region.kept) < least_rank:
            raise Refused(f"the copy of {region.source_name} has one dimension")
        return layout
