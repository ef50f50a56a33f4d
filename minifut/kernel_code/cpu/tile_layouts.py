"""How the copies that a group makes together lie in its memory, under the CPU schedule.

    bs[k, x * rx + j]     panels: for each x a panel with all k, and rx elements of each
                          k side by side, so that a register nest reads vectors and goes
                          through memory in order
    as[y * ry + i, k]     rows, a little further apart than they are long: rows at
                          distances of large powers of two share too few cache lines

Here j is the innermost index of register nests, which is vectorised. What is read
in any other way lies in plain rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from minifut.ir import core
from minifut.ir.core import Constant, Stm
from minifut.ir.kernels import REGISTER, CollectiveCopy, KernelBody, SegMap
from minifut.ir.node import value
from minifut.ir.sizes import Monomial, Size, product
from minifut.ir.traverse import own_names, walk
from minifut.ir.types import shape_of
from minifut.kernel_code.copy_regions import Part
from minifut.kernel_code.index_functions import Array, row_major_strides
from minifut.kernel_passes.rule import Refused
from minifut.names import Name

PADDING = 16
"""elements between the rows of a tile that is not in panels"""


@dataclass(frozen=True, slots=True)
class Panels:
    """Dimension `dimension` of a tile is cut into panels of `width`; none: rows.

    `bounds`: dimensions of which only so many elements are ever read.
    """

    dimension: int | None = None
    width: Size | None = None
    bounds: tuple[tuple[int, Size], ...] = ()


@value
class PanelArray(Array):
    """An array in panels. `shape` is that of the tile; `offset` and `strides` are those
    of its elements in rows of panels, the panel first: [panel][...][within]."""

    dimension: int
    width: Size

    def position(self, indices: tuple[Size, ...]) -> Size:
        """The place of an element."""
        return self.opened.position(self._opened_indices(indices))

    def _opened_indices(self, indices: tuple[Size, ...]) -> tuple[Size, ...]:
        panel, within = divided(indices[self.dimension], self.width)
        d = self.dimension
        return (*indices[:d], panel, *indices[d + 1 :], within)

    @property
    def opened(self) -> Array:
        """The same memory with the panels as a dimension, in the place of the one that
        is cut, and the elements of a panel as the last one."""
        d = self.dimension
        outer = (*self.shape[:d], *self.shape[d + 1 :])
        inner = row_major_strides((*outer, self.width))
        panels = _over(self.shape[d], self.width)
        strides = (*inner[:d], product(outer) * self.width, *inner[d:])
        shape = (*self.shape[:d], panels, *self.shape[d + 1 :], self.width)
        return Array(self.memory, shape, self.offset, strides)


def _over(size: Size, width: Size) -> Size:
    whole, rest = divided(size, width)
    return whole + (rest + width - 1) // width if rest.terms else whole


def divided(index: Size, width: Size) -> tuple[Size, Size]:
    """Quotient and rest of an index, where the rest's terms are those without the
    width as a factor."""
    if len(width.terms) != 1:
        return Size(()), index
    monomial, coefficient = width.terms[0]
    whole: list[tuple[Monomial, int]] = []
    rest: list[tuple[Monomial, int]] = []
    for term, factor in index.terms:
        left = _without(term, monomial)
        if left is None or factor % coefficient:
            rest.append((term, factor))
        else:
            whole.append((left, factor // coefficient))
    return _sum(whole), _sum(rest)


def _sum(terms: list[tuple[Monomial, int]]) -> Size:
    total = Size(())
    for monomial, coefficient in terms:
        total = total + Size(((monomial, coefficient),))
    return total


def _without(term: Monomial, factors: Monomial) -> Monomial | None:
    left = list(term)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


# --- which layout ---------------------------------------------------------------------


def layout_of(part: Part, found: Mapping[Name, Panels], least_rank: int = 1) -> Panels:
    """The layout that suits the readers of a copy, which must have so many dimensions
    to have one."""
    layout = found.get(part.bound.name)
    if layout is None:
        raise Refused(
            f"something else than register nests reads the copy of {part.source_name}"
        )
    if len(shape_of(part.bound.type)) < least_rank:
        raise Refused(f"the copy of {part.source_name} has one dimension")
    return layout


def layouts(body: KernelBody) -> dict[Name, Panels]:
    """The layouts of the copies made in the body of a group that only register nests
    read."""
    copies: set[Name] = set()
    sizes: dict[Name, Size] = {}
    nests: list[SegMap] = []
    loops: dict[Name, Name] = {}
    limits: dict[Name, list[set[tuple[int, Size]]]] = {}
    for found in walk(body):
        match found:
            case Stm((bound,), CollectiveCopy()):
                copies.add(bound.name)
            case Stm((bound,), core.SizeExp(size)):
                sizes[bound.name] = resolved(size, sizes)
            case SegMap(level, _, _, _) if level == REGISTER:
                nests.append(found)
            case core.Loop(_, _, core.ForLoop(index, Name() as bound, _), _):
                loops[index] = bound
    reads: dict[Name, list[list[Panels]]] = {}
    seen: set[int] = set()
    for nest in nests:
        index, width = nest.space.indices[-1], nest.space.sizes[-1]
        for read in walk(nest.body):
            if isinstance(read, core.Index) and read.array in copies:
                fitting = _fitting(read, sizes, index, width)
                if fitting is not None:
                    reads.setdefault(read.array, []).append(fitting)
                    seen.add(id(read))
                    limits.setdefault(read.array, []).append(
                        {
                            (at, resolved(Size.of(loops[part]), sizes))
                            for at, part in enumerate(read.slice)
                            if part in loops
                        }
                    )
    otherwise: set[Name] = set()
    for node in walk(body):
        if id(node) not in seen:
            own_names(node, otherwise)
    return {
        name: replace(
            _agreed(reads[name]),
            bounds=tuple(sorted(set.intersection(*limits[name]), key=str)),
        )
        for name in copies - otherwise
        if name in reads
    }


def resolved(size: Size, sizes: dict[Name, Size]) -> Size:
    """The size with names that stand for sizes replaced."""
    mapping = {name: sizes[name] for name in size.names() if name in sizes}
    return size.substitute(mapping) if mapping else size


def _fitting(
    read: core.Index, sizes: dict[Name, Size], index: Name, width: Size
) -> list[Panels] | None:
    """The layouts that suit a read of an element; None if nothing but rows will do."""
    found: list[Panels] = []
    varies = False
    for dimension, part in enumerate(read.slice):
        if isinstance(part, core.DimSlice):
            return None
        if isinstance(part, Constant):
            continue
        size = resolved(Size.of(part), sizes)
        varies |= index in size.names()
        if divided(size, width)[1] == Size.of(index):
            found.append(Panels(dimension, width))
    if varies:
        return found or None
    return [Panels()]


def _agreed(reads: list[list[Panels]]) -> Panels:
    """A layout that suits all reads."""
    for wanted in reads[0]:
        if all(wanted in others for others in reads[1:]):
            return wanted
    return Panels()
