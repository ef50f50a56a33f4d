"""Places of arrays that a kernel reads and writes, in terms of its variables."""

from __future__ import annotations

from minifut.ir.node import immutable
from minifut.names import Name

NEAR_STRIDE = 16
"""elements; neighbours so far apart share cache lines, of which others use the rest"""


@immutable
class Place:
    """An index: the variables that it grows with one by one, or by short strides, and
    others that it depends on in any way."""

    along: frozenset[Name] = frozenset()
    across: frozenset[Name] = frozenset()


@immutable
class Access:
    """`elements` are read or written at `places` of an array; `loops` are the
    sequential variables around it, innermost last. `strides`: how far apart neighbours
    in each dimension are, row by row, if that is known. `waits`: all rounds of the
    innermost loop do it, in which each needs the one before. `folded`: in a kernel of
    one point rounds of a fold do it, in a map over that variable, as in products of
    matrices."""

    array: Name
    places: tuple[Place, ...]
    elements: int
    nbytes: int
    loops: tuple[Name, ...] = ()
    writes: bool = False
    strides: tuple[int | None, ...] = ()
    waits: bool = False
    folded: Name | None = None

    def varies_with(self, name: Name) -> bool:
        return any(name in p.along | p.across for p in self.places)

    def places_along(self, name: Name) -> list[int]:
        """The dimension which, innermost in memory, makes neighbours in `name`
        neighbours in memory: as a list of one, or none."""
        varying = [d for d, p in enumerate(self.places) if name in p.along | p.across]
        if len(varying) == 1 and name in self.places[varying[0]].along:
            return varying
        return []

    def is_adjacent(self, name: Name) -> bool:
        """Whether rounds of a sequential variable read neighbours, or all the same, of
        an array as it is."""
        last = [len(self.places) - 1]
        return not self.varies_with(name) or self.places_along(name) == last

    def is_near(self, name: Name, innermost: int) -> bool:
        """Whether neighbours in `name` are a short way apart in memory, as those of
        small vectors and matrices are."""
        if innermost != len(self.places) - 1:
            return False
        strides = [self.strides[d] for d in self.places_along(name)]
        return strides != [] and strides[0] is not None and strides[0] <= NEAR_STRIDE
