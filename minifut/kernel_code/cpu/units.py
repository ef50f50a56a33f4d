"""Segments cut into chunks, dealt to work-groups of one work-item.

A *unit* is one chunk of one segment. Each group runs through consecutive units:

    groups  x  per_group units;   unit = segment * chunks + chunk

Few long segments get many chunks (whose results a second step combines), many short
ones one each. There are some units per core more than cores, to even out their speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from minifut.ir.sizes import ONE, Size, ceil_div, maximum, minimum, product
from minifut.kernel_code.host.builder import HostBuilder
from minifut.kernel_code.index_functions import Array
from minifut.kernel_code.threads.builder import KernelBuilder
from minifut.kernel_ir import nodes as kc

GROUPS_PER_CORE = 16
SMALLEST_CHUNK = 8192
"""elements of light code that are worth a work-group"""
ALIGNMENT = 64
"""chunks begin at multiples of so many elements"""


@dataclass(frozen=True, slots=True)
class Units:
    """How an operation is cut; sizes in variables of the host."""

    segments: tuple[Size, ...]
    """the dimensions that number the segments"""
    length: Size
    chunks: Size
    part: Size
    """elements of a chunk"""
    count: Size
    groups: Size
    per_group: Size

    @property
    def several(self) -> Size:
        """0 if each segment is one chunk, else 1."""
        return minimum(ONE, self.chunks - 1)


def cut(
    host: HostBuilder,
    segments: tuple[Size, ...],
    length: Size,
    smallest: Size,
    interleaved: int = 1,
) -> Units:
    """Cut segments of `length` into chunks of at least `smallest` elements.

    `interleaved`: a group runs through so many units at once.
    """
    target = host.let_size(host.cores() * (GROUPS_PER_CORE * interleaved), "target")
    rows = host.let_size(product(segments), "segments")
    wanted = ceil_div(target, maximum(ONE, rows))
    most = length // smallest if smallest != ONE else length
    chunks = host.let_size(maximum(ONE, minimum(wanted, most)), "chunks")
    aligned = ceil_div(ceil_div(length, chunks), ALIGNMENT) * ALIGNMENT
    part = aligned if smallest != ONE else ceil_div(length, chunks)
    part = host.let_size(part, "part")
    count = host.let_size(rows * chunks, "units")
    per_group = ceil_div(ceil_div(count, target), interleaved) * interleaved
    per_group = host.let_size(maximum(Size.constant(interleaved), per_group), "each")
    groups = host.let_size(ceil_div(count, per_group), "groups")
    return Units(segments, length, chunks, part, count, groups, per_group)


class Odometer:
    """Indices that count through a space without divisions."""

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

    def advance(self) -> None:
        """Go on to the next point."""
        self._advance(len(self.indices) - 1)

    def _advance(self, last: int) -> None:
        if last < 0:
            return
        index = self.indices[last]
        self.k.assign(index, index + 1)
        if last:
            with self.k.branch(index >= self.sizes[last]):
                self.k.assign(index, 0)
                self._advance(last - 1)


def smaller(left: kc.Expression, right: kc.Expression) -> kc.Expression:
    """The smaller of two i64 expressions."""
    return kc.Select(left < right, left, right, kc.LONG)


def larger(left: kc.Expression, right: kc.Expression) -> kc.Expression:
    """The larger of two i64 expressions."""
    return kc.Select(left < right, right, left, kc.LONG)


@contextmanager
def each_unit(
    k: KernelBuilder, units: Units, sizes: tuple[Size, ...], step: int = 1
) -> Iterator[tuple[kc.Variable, Odometer, kc.Expression]]:
    """The loop of a group over its units: gives the number of the unit, its indices in
    the space of units (`sizes`), and the number where the group's units end.

    With a step other than 1 the caller advances the indices."""
    group = k.named(k.identity("get_global_id"), "group")
    k.thread = (group, units.groups)
    each, count = k.size_value(units.per_group), k.size_value(units.count)
    begin = k.named(group * each, "begin")
    end = k.named(smaller(begin + each, count), "end")
    odometer = Odometer(k, sizes, begin)
    with k.loop("unit", end, begin, step) as unit:
        yield unit, odometer, end
        if step == 1:
            odometer.advance()


def bounds(
    k: KernelBuilder, units: Units, chunk: kc.Expression
) -> tuple[kc.Expression, kc.Expression]:
    """The first element of a chunk and the one after its last."""
    length = k.size_value(units.length)
    part = k.size_value(units.part)
    first = k.named(smaller(chunk * part, length), "first")
    return first, k.named(smaller(first + part, length), "last")


def flat(array: Array, outer: int, rows: Size) -> Array:
    """The same array with its outermost dimensions, dense and row-major, as one."""
    view = array.reshape((rows, *array.shape[outer:]))
    assert view is not None
    return view
