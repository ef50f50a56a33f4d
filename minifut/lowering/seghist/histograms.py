"""What the lowerings of histograms for both targets share.

    seghist grid (i < n, j < m) {dest [n][k], op} { bin, value }
        dest[i, bin] = dest[i, bin] op value      if 0 <= bin < k

The body returns the bins of all operators, then their values. The result is in the
memory of the destination where that may be updated in place, else in a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from minifut.ir.core import Atom, Param
from minifut.ir.kernels import Returns, SegBinOp, SegHist, SegHistOp
from minifut.ir.node import immutable
from minifut.ir.sizes import Size, product
from minifut.ir.soacs import bins_and_values
from minifut.ir.types import U64, ScalarType, shape_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import combine_into, neutral_at
from minifut.lowering.threads.builder import KernelBuilder, LoweredValue

if TYPE_CHECKING:
    from minifut.lowering.host.builder import HostBuilder


@immutable
class Bins:
    """One operator of a histogram and its `arrays` in global memory: the outer
    dimensions number segments, `shape` (sizes of the host) the bins of each."""

    operator: SegHistOp
    arrays: tuple[Array, ...]
    shape: tuple[Size, ...]

    @property
    def is_scalar(self) -> bool:
        """Whether single scalars are combined, perhaps elementwise along `vector`."""
        return all(isinstance(t, ScalarType) for t in self.operator.operator.results)

    @property
    def cells(self) -> Size:
        """The number of scalars that each array has in a segment."""
        first = self.arrays[0]
        return product(first.shape[first.rank - len(self.row_shape) :])

    @property
    def bytes(self) -> Size:
        """The bytes of the cells of a segment in all arrays."""
        return self.cells * sum(a.memory.element.bytes for a in self.arrays)

    @property
    def row_shape(self) -> tuple[Size, ...]:
        """The dimensions of an array without those of the segments."""
        ranks = len(self.operator.shape) + len(self.operator.vector)
        if not self.is_scalar:
            ranks = self.arrays[0].rank - self.outer
        return self.arrays[0].shape[self.arrays[0].rank - ranks :]

    @property
    def outer(self) -> int:
        """How many dimensions number segments."""
        first = self.operator.operator.results[0]
        own = len(shape_of(first))
        inner = len(self.operator.shape) + len(self.operator.vector) + own
        return self.arrays[0].rank - inner

    def rows(self, at: tuple[Size, ...]) -> list[Array]:
        """The arrays of one segment."""
        return [array.row(at) for array in self.arrays]


@immutable
class Binning:
    """A histogram with the memory of its results, `bins`: `segments` of `length`
    elements, all bins of a segment have `cells`; sizes in host variables."""

    operation: SegHist
    bins: list[Bins]
    segments: Size
    length: Size
    cells: Size


def all_bins(
    host: HostBuilder, pattern: tuple[Param, ...], operation: SegHist
) -> list[Bins]:
    """The operators with the memory of their results, which are bound."""
    found, at = [], 0
    for operator in operation.operators:
        arrays = []
        for name in operator.destinations:
            bound, target = pattern[at], host.array(name)
            if bound.name not in host.facts.in_place.updates:
                target = host.copied(target)
            arrays.append(target)
            at += 1
        found.append(Bins(operator, tuple(arrays), host.sizes(operator.shape)))
    return found


def bind_all(
    host: HostBuilder, pattern: tuple[Param, ...], bins: Sequence[Bins]
) -> None:
    """Bind the results."""
    arrays = [array for each in bins for array in each.arrays]
    host.bind_all(pattern, arrays)


@immutable
class BinUpdate:
    """What the body returns for an operator at one point: the indices of the bin,
    whether they are in bounds, and the values."""

    bins: Bins
    at: tuple[kc.Expression, ...]
    inside: kc.Expression
    values: tuple[LoweredValue, ...]


UNSIGNED = kc.VectorType(U64)

BinRange: TypeAlias = tuple[kc.Expression, kc.Expression]
"""the first bin, in the outermost dimension, and the one after the last, not less"""


def bin_updates(
    k: KernelBuilder,
    operation: SegHist,
    bins: Sequence[Bins],
    ranges: Sequence[BinRange] | None = None,
) -> list[BinUpdate]:
    """Lower the body; what it returns, operator by operator. Bins outside of their
    `ranges` (by default all bins) count as out of bounds."""
    k.statements_of(operation.body.statements)
    returned = []
    for result in operation.body.result:
        assert isinstance(result, Returns)
        returned.append(k.atom(result.value))
    updates = bins_and_values(operation.operators, returned)
    return [
        bin_update(k, each, at, values, ranges[number] if ranges else None)
        for number, (each, (at, values)) in enumerate(zip(bins, updates, strict=True))
    ]


def bin_update(
    k: KernelBuilder,
    bins: Bins,
    indices: Sequence[LoweredValue],
    values: Sequence[LoweredValue],
    first: BinRange | None = None,
) -> BinUpdate:
    """One value for one bin, in bounds or not; `first` bounds the first index."""
    zero = kc.Literal(0, kc.LONG)
    limits: list[BinRange] = [(zero, k.size_value(size)) for size in bins.shape]
    if first is not None:
        limits[0] = first
    at: list[kc.Expression] = []
    tests: list[kc.Expression] = []
    for (low, high), index in zip(limits, indices, strict=True):
        assert isinstance(index, kc.Expression)
        place = k.named(kc.Cast(index, kc.LONG), "bin")
        at.append(place)
        # One comparison: unsigned, a negative difference is huge.
        above, size = (kc.Cast(e, UNSIGNED) for e in (place - low, high - low))
        tests.append(above < size)
    return BinUpdate(bins, tuple(at), kc.all_of(tests), tuple(values))


@contextmanager
def if_updated(
    k: KernelBuilder, bins: Bins, values: Sequence[LoweredValue]
) -> Iterator[None]:
    """Code for a copy of a bin whose values are no longer neutral: a bin without
    updates keeps its value even where the neutral element is not neutral, as at NaN."""
    changed = k.declare("changed", kc.Literal(0, kc.TRUTH))
    for value, atom in zip(values, bins.operator.neutral, strict=True):

        def visit(
            at: tuple[Size, ...], value: LoweredValue = value, atom: Atom = atom
        ) -> None:
            element = k.read(value, at) if isinstance(value, Array) else value
            neutral = neutral_at(k, atom, at)
            if isinstance(neutral, Array):
                neutral = k.read(neutral, ())
            assert isinstance(element, kc.Expression)
            differs = kc.Binary("!=", element, neutral, kc.TRUTH)
            k.assign(changed, kc.any_of((changed, differs)))

        k.each(value.shape if isinstance(value, Array) else (), visit)
    with k.branch(changed):
        yield


def update_bin(
    k: KernelBuilder,
    operator: SegHistOp,
    places: Sequence[Array],
    values: Sequence[LoweredValue],
) -> None:
    """`places = places op values`, not atomically: the places are the scalars or rows
    of one bin."""
    if all(isinstance(value, kc.Expression) for value in values):
        old = [k.declare("old", k.read(place, ())) for place in places]
        new = k.apply(operator.operator, (*old, *values))
        stored = [k.declare("new", value) for value in new]
        for place, value in zip(places, stored, strict=True):
            k.write(place, (), value)
        return
    combining = SegBinOp(operator.operator, operator.neutral, operator.vector)
    combine_into(k, combining, list(places), list(values))
