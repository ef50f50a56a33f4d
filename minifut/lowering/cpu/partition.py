"""The partition of segments into work units, distributed over single-item work-groups.

A *work unit* is one chunk of one segment. Each group runs consecutive units (a block
distribution):

    groups  x  per_group units;   unit = segment * chunks + chunk

Few long segments are split into many chunks, whose results a second step combines; of
many short segments each is one chunk. There are several groups per core, for load
balance.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, Size, ceil_div, maximum, minimum, product
from minifut.kernel_ir import nodes as kc
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.threads.builder import KernelBuilder

GROUPS_PER_CORE = 16
SMALLEST_CHUNK = 8192
"""elements of cheap code that amortise the launch of a work-group"""
ALIGNMENT = 64
"""elements; chunks begin at multiples of it"""


@immutable
class Partition:
    """How the iteration space of an operation is split; sizes in host variables."""

    segments: tuple[Size, ...]
    """the dimensions that number the segments"""
    length: Size
    """elements of a segment"""
    chunks: Size
    """per segment"""
    chunk_size: Size
    """elements of a chunk"""
    units: Size
    groups: Size
    per_group: Size
    """units of a group"""

    @property
    def is_split(self) -> Size:
        """0 if each segment is one chunk, else 1."""
        return minimum(ONE, self.chunks - 1)


def partition(
    host: HostBuilder,
    segments: tuple[Size, ...],
    length: Size,
    smallest: Size,
    per_core: int = GROUPS_PER_CORE,
) -> Partition:
    """Split segments of `length` into chunks of at least `smallest` elements, for so
    many groups per core."""
    target = host.let_size(host.cores() * per_core, "target")
    rows = host.let_size(product(segments), "segments")
    wanted = ceil_div(target, maximum(ONE, rows))
    most = length // smallest if smallest != ONE else length
    chunks = host.let_size(maximum(ONE, minimum(wanted, most)), "chunks")
    aligned = ceil_div(ceil_div(length, chunks), ALIGNMENT) * ALIGNMENT
    chunk_size = aligned if smallest != ONE else ceil_div(length, chunks)
    chunk_size = host.let_size(chunk_size, "part")
    units = host.let_size(rows * chunks, "units")
    per_group = host.let_size(maximum(ONE, ceil_div(units, target)), "each")
    groups = host.let_size(ceil_div(units, per_group), "groups")
    return Partition(segments, length, chunks, chunk_size, units, groups, per_group)


class MultiIndex:
    """Indices of consecutive points of a space, in row-major order: divisions for the
    first point, increments with carry from there."""

    def __init__(
        self, k: KernelBuilder, sizes: tuple[Size, ...], start: kc.Expression
    ) -> None:
        self.k = k
        self.sizes = [k.size_value(size) for size in sizes]
        self.indices: list[kc.Variable] = []
        rest = start
        for size in reversed(self.sizes[1:]):
            self.indices.append(k.declare("at", rest % size))
            rest = k.declare("rest", rest // size)
        if self.sizes:
            self.indices.append(k.declare("at", rest))
        self.indices.reverse()

    def increment(self) -> None:
        """Advance to the next point."""
        self._increment(len(self.indices) - 1)

    def _increment(self, last: int) -> None:
        if last < 0:
            return
        index = self.indices[last]
        self.k.assign(index, index + 1)
        if last:
            with self.k.branch(index >= self.sizes[last]):
                self.k.assign(index, 0)
                self._increment(last - 1)


def smaller(left: kc.Expression, right: kc.Expression) -> kc.Expression:
    """The smaller of two i64 expressions."""
    return kc.Select(left < right, left, right, kc.LONG)


def larger(left: kc.Expression, right: kc.Expression) -> kc.Expression:
    """The larger of two i64 expressions."""
    return kc.Select(left < right, right, left, kc.LONG)


@contextmanager
def each_work_unit(
    k: KernelBuilder, partition: Partition, sizes: tuple[Size, ...]
) -> Iterator[tuple[kc.Variable, MultiIndex, kc.Expression]]:
    """The loop of a group over its work units: gives the number of the unit, its
    indices in the space of units (`sizes`), and the end of the group's units."""
    group = k.named(k.identity("get_global_id"), "group")
    k.thread = (group, partition.groups)
    each, units = k.size_value(partition.per_group), k.size_value(partition.units)
    begin = k.named(group * each, "begin")
    end = k.named(smaller(begin + each, units), "end")
    index = MultiIndex(k, sizes, begin)
    with k.loop("unit", end, begin) as unit:
        yield unit, index, end
        index.increment()


def chunk_bounds(
    k: KernelBuilder, partition: Partition, chunk: kc.Expression
) -> tuple[kc.Expression, kc.Expression]:
    """The first element of a chunk and the one after its last."""
    length = k.size_value(partition.length)
    size = k.size_value(partition.chunk_size)
    first = k.named(smaller(chunk * size, length), "first")
    return first, k.named(smaller(first + size, length), "last")


def flatten_outer(array: Array, outer: int, rows: Size) -> Array:
    """The view with its outermost dimensions, dense and row-major, merged into one."""
    view = array.reshape((rows, *array.shape[outer:]))
    assert view is not None
    return view
