"""What the packing of a collective copy is, and the facts by which rules choose it:
the region of an array that is copied, dimension by dimension, and the layouts that the
readers of collective copies prefer.

    bs[k, x * rx + j]     panels: for each x a panel with all k, and rx elements of each
                          k contiguous, so that a register nest loads vectors and walks
                          through memory in order
    as[y * ry + i, k]     rows; padded, since rows at distances of large powers of two
                          map to few cache sets

Here j is the innermost index of register nests, which is vectorised. Only copies that
nothing but register nests reads have a preferred layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from minifut.ir import core
from minifut.ir.core import Atom, Constant, DimSlice, Param, Stm
from minifut.ir.kernels import REGISTER, CollectiveCopy, KernelBody, SegMap
from minifut.ir.node import immutable, replace
from minifut.ir.search import nodes_of
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.ir.traverse import atom_size, own_names, walk
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array
from minifut.lowering.threads.builder import KernelBuilder
from minifut.names import Name
from minifut.rewrite.rule import Decline
from minifut.rewrite.trace import Derivation

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder


@immutable
class Unpacked:
    """No copy; `clamped` are the dimensions of the array whose positions may exceed its
    extent."""

    clamped: tuple[bool, ...]


@immutable
class Panels:
    """Panels of `width` elements of `dimension`; `transposed`: from an array in which
    elements of other panels are adjacent."""

    dimension: int
    width: Size
    transposed: bool


@immutable
class Rows:
    """Rows of dimension `innermost`."""

    innermost: int
    padded: bool


Packing: TypeAlias = Unpacked | Panels | Rows


@immutable
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
            raise Decline(
                f"something else than register nests reads the copy of "
                f"{region.source_name}"
            )
        if len(region.kept) < least_rank:
            raise Decline(f"the copy of {region.source_name} has one dimension")
        return layout


@immutable
class PackingLayout:
    """Dimension `dimension` of a copy in panels of `width`; None: rows.

    `limits`: bounds on the indices of a dimension that are ever read.
    """

    dimension: int | None = None
    width: Size | None = None
    limits: tuple[tuple[int, Size], ...] = ()


@immutable
class _Read:
    """A read of a copy in a register nest: the layouts that suit it, and the limits of
    loop indices among its indices."""

    layouts: tuple[PackingLayout, ...]
    limits: frozenset[tuple[int, Size]]


def preferred_layouts(
    body: KernelBody, definitions: dict[Name, Size]
) -> dict[Name, PackingLayout]:
    """The layouts of the copies made in the body of a group that only register nests
    read; `definitions` are what names of sizes stand for."""
    copies = {
        found.pattern[0].name
        for found in nodes_of(Stm, body)
        if isinstance(found.exp, CollectiveCopy)
    }
    bounds = {
        form.index: form.bound
        for form in nodes_of(core.ForLoop, body)
        if isinstance(form.bound, Name)
    }
    reads: dict[Name, list[_Read]] = {}
    suited: set[int] = set()
    for nest in walk(body):
        if not isinstance(nest, SegMap) or nest.level != REGISTER:
            continue
        for read in walk(nest.body):
            if not isinstance(read, core.Index) or read.array not in copies:
                continue
            layouts = _suiting(read, definitions, nest)
            if layouts:
                limits = frozenset(
                    (at, definitions.get(bounds[part], Size.of(bounds[part])))
                    for at, part in enumerate(read.slice)
                    if part in bounds
                )
                reads.setdefault(read.array, []).append(_Read(layouts, limits))
                suited.add(id(read))
    read_otherwise: set[Name] = set()
    for node in walk(body):
        if id(node) not in suited:
            own_names(node, read_otherwise)
    return {
        name: _common(reads[name]) for name in copies - read_otherwise if name in reads
    }


def _suiting(
    read: core.Index, definitions: dict[Name, Size], nest: SegMap
) -> tuple[PackingLayout, ...]:
    """The layouts that suit a read of an element; none if it must be in plain rows."""
    index, width = nest.space.indices[-1], nest.space.sizes[-1]
    found: list[PackingLayout] = []
    varies = False
    for dimension, part in enumerate(read.slice):
        if isinstance(part, core.DimSlice):
            return ()
        if isinstance(part, Constant):
            continue
        size = definitions.get(part, Size.of(part))
        varies |= index in size.names()
        if size.divided(width)[1] == Size.of(index):
            found.append(PackingLayout(dimension, width))
    return tuple(found) if varies else (PackingLayout(),)


def _common(reads: list[_Read]) -> PackingLayout:
    """A layout that suits all reads, with the limits that hold for all of them."""
    limits = frozenset.intersection(*[read.limits for read in reads])
    suiting = (
        layout
        for layout in reads[0].layouts
        if all(layout in other.layouts for other in reads[1:])
    )
    layout = next(suiting, PackingLayout())
    return replace(layout, limits=tuple(sorted(limits, key=str)))


@immutable
class DimRange:
    """`length` positions from `start`, `step` apart, of a dimension of `extent`
    elements; length None: a single index, which is no dimension of the copy."""

    start: Size
    length: Size | None
    step: Size
    extent: Size
    panel: Size | None = None
    """the width of the panels into which the dimension is packed"""


@immutable
class CopyRegion:
    """The region of `source` that is copied to `bound`."""

    bound: Param
    exp: CollectiveCopy
    source: Array
    ranges: list[DimRange]

    @property
    def source_name(self) -> str:
        """The name of the source's memory in remarks."""
        return self.source.memory.name.base

    @property
    def kept(self) -> list[int]:
        """The dimensions of the source that are dimensions of the copy."""
        return [i for i, dim in enumerate(self.ranges) if dim.length is not None]

    @property
    def unit_stride_dimension(self) -> int | None:
        """The dimension of the copy with unit stride in the source."""
        steps = [self.ranges[i].step * self.source.strides[i] for i in self.kept]
        return steps.index(ONE) if ONE in steps else None

    @property
    def innermost(self) -> int:
        """The dimension of the copy that the innermost loop copies."""
        dimension = self.unit_stride_dimension
        return len(self.kept) - 1 if dimension is None else dimension


def copy_region(
    bound: Param,
    exp: CollectiveCopy,
    source: Array,
    index: Callable[[Atom], Size],
    resolve: Callable[[Size], Size],
) -> CopyRegion:
    """The region, with sizes as `index` and `resolve` express them."""
    ranges = []
    for dimension, extent in enumerate(source.shape):
        part = exp.slice[dimension] if dimension < len(exp.slice) else None
        if part is None:
            ranges.append(DimRange(ZERO, extent, ONE, extent))
        elif isinstance(part, DimSlice):
            start, step = index(part.start), index(part.stride)
            ranges.append(DimRange(start, resolve(part.length), step, extent))
        else:
            ranges.append(DimRange(index(part), None, ONE, extent))
    return CopyRegion(bound, exp, source, ranges)


def clamped(k: KernelBuilder, dim: DimRange, position: Size) -> Size:
    """A position of a dimension clamped to its extent."""
    if position == ZERO:
        return position
    last = k.size_value(dim.extent - 1)
    least = kc.Literal(0, kc.LONG)
    inside = kc.Call("clamp", (k.size_value(position), least, last), kc.LONG)
    return k.as_size(k.named(inside, "at"))
