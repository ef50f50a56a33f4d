"""Destinations of histograms on GPUs: cells that atomic operations update."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from minifut.ir.node import immutable
from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.lowering.atomic_cells import CellAddress, Cells, cells_of
from minifut.lowering.index_functions import Array
from minifut.lowering.seghist.histograms import Bins, BinUpdate
from minifut.lowering.threads.builder import KernelBuilder

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder


@immutable
class Target:
    """An operator's bins in global memory, as cells: the arrays of results themselves,
    or `words` (flat, segment after segment)."""

    bins: Bins
    cells: Cells
    words: tuple[Array, ...]

    @property
    def shape(self) -> tuple[Size, ...]:
        """The dimensions of the cells of a segment."""
        return self.bins.row_shape

    def convert(
        self, k: KernelBuilder, at: tuple[kc.Expression, ...], back: bool
    ) -> None:
        """Fill the words of a cell from the destination, or write them back."""
        where = tuple(k.as_size(index, "at") for index in at)
        cells, arrays = self.cells, self.bins.arrays
        if back:
            words = [k.declare("word", k.read(word, where)) for word in self.words]
            for array, value in zip(arrays, cells.decode(k, words), strict=True):
                k.write(array, where, value)
        else:
            values = [k.declare("value", k.read(array, where)) for array in arrays]
            for word, bits in zip(self.words, cells.encode(k, values), strict=True):
                k.write(word, where, bits)

    def places(
        self, k: KernelBuilder, outer: Sequence[Size], at: Sequence[Size]
    ) -> list[CellAddress]:
        """The places of a cell: indices of the segment and in it."""
        if self.cells.is_plain:
            array = self.bins.arrays[0]
            return [(array.memory, k.size_value(array.position((*outer, *at))))]
        flat = k.size_value(self.words[0].position((*outer, *at)))
        index = k.named(flat, "flat")
        return [(word.memory, index) for word in self.words]


def target_of(host: HostBuilder, bins: Bins) -> Target:
    cells = cells_of(bins.operator.operator)
    if cells.is_plain:
        return Target(bins, cells, ())
    shape = bins.arrays[0].shape
    words = tuple(host.allocate(word, shape, "words") for word in cells.words)
    return Target(bins, cells, words)


def convert_words(host: HostBuilder, target: Target, back: bool) -> None:
    """Fill the words of cells from the destination, or write them back."""
    if target.cells.is_plain:
        return
    shape = target.bins.arrays[0].shape
    host.each("hist_words", shape, lambda k, at: target.convert(k, at, back))


@contextmanager
def each_cell(
    k: KernelBuilder, point: BinUpdate, column: tuple[Size, ...] = ()
) -> Iterator[tuple[tuple[Size, ...], list[kc.Expression]]]:
    """The cells of the bin of a point that is in bounds, or that of a column, with the
    values for each."""
    where = [k.as_size(index, "bin") for index in point.at]
    rest = point.bins.row_shape[len(where) :]
    loops = nullcontext(column) if column else _loops(k, rest)
    with k.branch(point.inside), loops as at:
        values = []
        for value in point.values:
            if isinstance(value, Array):
                value = k.declare("value", k.read(value, at))
            assert isinstance(value, kc.Expression)
            values.append(value)
        yield (*where, *at), values


@contextmanager
def _loops(k: KernelBuilder, shape: Sequence[Size]) -> Iterator[tuple[Size, ...]]:
    """A nest of loops over a shape."""
    if not shape:
        yield ()
        return
    with k.loop("v", k.size_value(shape[0])) as index, _loops(k, shape[1:]) as rest:
        yield (Size.of(index.name), *rest)
