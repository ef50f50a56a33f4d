"""The layouts that the readers of collective copies prefer.

    bs[k, x * rx + j]     panels: for each x a panel with all k, and rx elements of each
                          k contiguous, so that a register nest loads vectors and walks
                          through memory in order
    as[y * ry + i, k]     rows; padded, since rows at distances of large powers of two
                          map to few cache sets

Here j is the innermost index of register nests, which is vectorised. Only copies that
nothing but register nests reads have a preferred layout.
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.core import Constant, Stm
from minifut.ir.kernels import REGISTER, CollectiveCopy, KernelBody, SegMap
from minifut.ir.node import replace, value
from minifut.ir.sizes import Size
from minifut.ir.traverse import own_names, walk
from minifut.lowering.packing.packed_arrays import divide_size
from minifut.names import Name


@value
class PackingLayout:
    """Dimension `dimension` of a copy in panels of `width`; None: rows.

    `limits`: bounds on the indices of a dimension that are ever read.
    """

    dimension: int | None = None
    width: Size | None = None
    limits: tuple[tuple[int, Size], ...] = ()


@value
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
        for found in walk(body)
        if isinstance(found, Stm) and isinstance(found.exp, CollectiveCopy)
    }
    bounds = {
        form.index: form.bound
        for form in walk(body)
        if isinstance(form, core.ForLoop) and isinstance(form.bound, Name)
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
        if divide_size(size, width)[1] == Size.of(index):
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
