"""Index functions of packed copies, and of copies that are not made.

bs[k, x * rx + j]     panels: [x][k][j], so that a register nest loads vectors and
                      walks through memory in order
as[y * ry + i, k]     in place: a[clamp(row + y * ry + i), first + k]
"""

from __future__ import annotations

from minifut.ir.node import immutable
from minifut.ir.sizes import ZERO, Size, maximum, minimum, product
from minifut.lowering.index_functions import Array, row_major_strides


@immutable
class PanelArray(Array):
    """A packed array: dimension `dimension` is split into panels of `width`. `shape` is
    that of the copy; in memory it is [..][panel][..][within]."""

    dimension: int
    width: Size

    def position(self, indices: tuple[Size, ...]) -> Size:
        """The offset of an element."""
        return self.panel_view.position(self._panel_indices(indices))

    def _panel_indices(self, indices: tuple[Size, ...]) -> tuple[Size, ...]:
        panel, within = indices[self.dimension].divided(self.width)
        d = self.dimension
        return (*indices[:d], panel, *indices[d + 1 :], within)

    @property
    def panel_view(self) -> Array:
        """The same memory with the panels as a dimension, in place of the one that is
        split, and the elements within a panel as the innermost one."""
        d = self.dimension
        outer = (*self.shape[:d], *self.shape[d + 1 :])
        inner = row_major_strides((*outer, self.width))
        panels = _panel_count(self.shape[d], self.width)
        strides = (*inner[:d], product(outer) * self.width, *inner[d:])
        shape = (*self.shape[:d], panels, *self.shape[d + 1 :], self.width)
        return Array(self.memory, shape, self.offset, strides)


def _panel_count(size: Size, width: Size) -> Size:
    whole, rest = size.divided(width)
    return whole + (rest + width - 1) // width if rest.terms else whole


@immutable
class InPlaceArray(Array):
    """A region of an array in place of a copy of it. For each dimension of the array:
    the start of the region, its step, and the last index where positions must be
    clamped; a step of None: a single index."""

    places: tuple[tuple[Size, Size | None, Size | None], ...]

    def position(self, indices: tuple[Size, ...]) -> Size:
        """The offset of an element of the region."""
        own = iter(indices)
        position = self.offset
        for (start, step, last), stride in zip(self.places, self.strides, strict=True):
            at = start if step is None else start + next(own) * step
            if last is not None:
                at = maximum(ZERO, minimum(at, last))
            position = position + at * stride
        return position
