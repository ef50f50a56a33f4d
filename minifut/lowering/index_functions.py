"""Index functions of arrays: a memory, an offset and a stride for each dimension.

    xs            : offset 0, strides (m, 1)          row-major [n][m]
    xs[i, 2:]     : offset i * m + 2, strides (1)
    transpose xs  : offset 0, strides (1, m)

All are in elements, as symbolic sizes, so that slices, rearrangements and many reshapes
are other views of the same memory. A reshape that is no view is copied by its user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from minifut.ir.core import Atom, DimSlice
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, ZERO, Size, dimension_groups, product
from minifut.kernel_ir.nodes import Memory


@immutable
class Array:
    """A view of a memory; sizes are over variables of the code that uses it."""

    memory: Memory
    shape: tuple[Size, ...]
    offset: Size
    strides: tuple[Size, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def count(self) -> Size:
        """The number of elements."""
        return product(self.shape)

    @property
    def is_row_major(self) -> bool:
        """Whether the elements are dense in row-major order (from the offset)."""
        expected = row_major_strides(self.shape)
        return all(
            stride == dense or size == ONE
            for stride, dense, size in zip(
                self.strides, expected, self.shape, strict=True
            )
        )

    @property
    def is_whole(self) -> bool:
        """Row-major from offset 0, as results and arguments of functions must be."""
        return self.offset == ZERO and self.is_row_major

    def has_order(self, order: tuple[int, ...]) -> bool:
        """Whether the elements are dense from offset 0, with dimension `order[0]`
        outermost and `order[-1]` innermost in memory."""
        return self.rearrange(order).is_whole

    def position(self, indices: tuple[Size, ...]) -> Size:
        """The offset of the row (or element) at the outermost indices."""
        position = self.offset
        for index, stride in zip(indices, self.strides, strict=False):
            position = position + index * stride
        return position

    def row(self, indices: tuple[Size, ...]) -> Array:
        """The view with the outermost dimensions fixed."""
        used = len(indices)
        return Array(
            self.memory, self.shape[used:], self.position(indices), self.strides[used:]
        )

    def slice(self, entries: tuple[Size | tuple[Size, Size, Size], ...]) -> Array:
        """Fix each dimension by an index, or keep (start, length, stride) of it."""
        offset, shape, strides = self.offset, [], []
        for entry, size, stride in zip(entries, self.shape, self.strides, strict=False):
            del size
            if isinstance(entry, Size):
                offset = offset + entry * stride
            else:
                start, length, step = entry
                offset = offset + start * stride
                shape.append(length)
                strides.append(step * stride)
        rest = len(entries)
        return Array(
            self.memory,
            (*shape, *self.shape[rest:]),
            offset,
            (*strides, *self.strides[rest:]),
        )

    def joined(
        self, dimension: int, arrays: Iterable[Array]
    ) -> Iterator[tuple[Array, Array]]:
        """Where each array lies in this one, which consists of them, and the array."""
        start = ZERO
        for array in arrays:
            part = array.shape[dimension]
            entries = [(ZERO, size, ONE) for size in array.shape]
            entries[dimension] = (start, part, ONE)
            yield self.slice(tuple(entries)), array
            start = start + part

    def sliced(
        self,
        slice_: tuple[Atom | DimSlice, ...],
        index: Callable[[Atom], Size],
        size: Callable[[Size], Size],
    ) -> Array:
        """The view that a slice of the IR gives, with its atoms and sizes in variables
        of the code that uses it."""
        return self.slice(
            tuple(
                (index(part.start), size(part.length), index(part.stride))
                if isinstance(part, DimSlice)
                else index(part)
                for part in slice_
            )
        )

    def rearrange(self, permutation: tuple[int, ...]) -> Array:
        """Dimension i of the result is dimension `permutation[i]` of this view."""
        return Array(
            self.memory,
            tuple(self.shape[d] for d in permutation),
            self.offset,
            tuple(self.strides[d] for d in permutation),
        )

    def reshape(self, shape: tuple[Size, ...]) -> Array | None:
        """The same elements under another shape; None if that needs a copy."""
        if self.is_renamed(shape):
            return self.with_shape(shape)
        if self.is_row_major:
            return Array(self.memory, shape, self.offset, row_major_strides(shape))
        strides: list[Size] = []
        for old, new in dimension_groups(self.shape, shape):
            group = Array(self.memory, self.shape[old], self.offset, self.strides[old])
            step = group.innermost_run()
            if step is None:
                return None
            strides += [stride * step for stride in row_major_strides(shape[new])]
        return Array(self.memory, shape, self.offset, tuple(strides))

    def is_renamed(self, shape: tuple[Size, ...]) -> bool:
        """Whether all dimensions but one are the same in words, so that (the number of
        elements being equal) all are equal, as where a size is given another name."""
        if len(shape) != self.rank or ZERO in shape:
            return shape == self.shape
        return sum(a != b for a, b in zip(self.shape, shape, strict=True)) <= 1

    def innermost_run(self) -> Size | None:
        """The stride if all elements, in row-major order, are equally far apart; else
        None."""
        step: Size | None = None
        expected: Size | None = None
        for size, stride in zip(
            reversed(self.shape), reversed(self.strides), strict=True
        ):
            if size == ONE:
                continue
            if expected is None:
                step = stride
            elif stride != expected:
                return None
            expected = stride * size
        return step if step is not None else ONE

    def with_shape(self, shape: tuple[Size, ...]) -> Array:
        """The same view with its sizes expressed by other, equal terms."""
        return Array(self.memory, shape, self.offset, self.strides)


def row_major_strides(shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """The strides of a dense array of that shape."""
    strides: list[Size] = []
    stride = ONE
    for size in reversed(shape):
        strides.append(stride)
        stride = stride * size
    return tuple(reversed(strides))


def whole(
    memory: Memory, shape: tuple[Size, ...], order: tuple[int, ...] | None = None
) -> Array:
    """A dense array at offset 0 of its memory, row-major or with dimension `order[0]`
    outermost and `order[-1]` innermost."""
    if order is None:
        return Array(memory, shape, ZERO, row_major_strides(shape))
    inverse = tuple(order.index(d) for d in range(len(order)))
    return whole(memory, tuple(shape[d] for d in order)).rearrange(inverse)
