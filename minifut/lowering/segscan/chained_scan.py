"""Chained scan with decoupled look-back: long segments in one pass, on all cores.

Segments are split into chunks that fit a core's second-level cache. Groups, one for
each core, fetch chunks in order from an atomic counter:

    aggregate = reduce the chunk                      reads memory
    before = aggregates of the chunks before          look-back
    scan the chunk with `before` as carry-in          reads the cache, writes memory

Where it costs much to compute an element twice, the chunk is scanned first, without
carry-in, and `before` is combined with the results in the cache.

Aggregates are published with atomics; so is the inclusive prefix of a chunk, at which a
look-back ends. A missing aggregate is *recomputed*, not waited for: no group depends on
forward progress of another, which OpenCL does not guarantee, and the scan terminates
under any scheduling. Each group that computes an aggregate gets the same bits.

Source: Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back"
(2016), which waits for aggregates instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeAlias

from minifut.ir.node import immutable, mutable
from minifut.ir.sizes import minimum
from minifut.ir.types import U32, ScalarType, element_of
from minifut.kernel_ir import nodes as kc
from minifut.lowering.atomic_cells import to_word, word_of
from minifut.lowering.cpu.partition import MultiIndex, Partition, chunk_bounds
from minifut.lowering.cpu.reduction import Reduction
from minifut.lowering.cpu.vector_operators import scalar_places
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators
from minifut.lowering.segred.cpu import atomic_read, reduce_range
from minifut.lowering.threads.builder import KernelBuilder

AGGREGATE, PREFIX = 1, 2
"""status bits of a chunk: its aggregate, its inclusive prefix is published"""
WORD = kc.VectorType(U32)

ScannedRange: TypeAlias = tuple[list[kc.Variable], kc.Expression, kc.Expression]
"""indices of a segment, its first point, and the one after the last"""
ScanRange: TypeAlias = Callable[
    [KernelBuilder, Accumulators, ScannedRange, list[Array]], None
]
"""scans a range with the accumulators as carry-in, and stores the results; given
the scanned partial results of all chunks, if they are known before"""


class ScanFirst(Protocol):
    """Scans a chunk before its carry-in is known."""

    combines_first: ClassVar[bool]
    """the first chunk, too, which has no carry-in"""

    def scan(self, k: KernelBuilder, own: Accumulators, place: ScannedRange) -> None:
        """Scan a range from neutral elements."""

    def aggregate(
        self, k: KernelBuilder, own: Accumulators, place: ScannedRange
    ) -> None:
        """The same without results, with the same rounding."""

    def combine(
        self, k: KernelBuilder, before: Accumulators, place: ScannedRange
    ) -> None:
        """Combine the carry-in with the results of a range."""


@mutable
class ChunkStatus:
    """The communication of groups: words in global memory, accessed by atomics only."""

    flags: kc.Memory
    """the work counter, then the status bits of each unit"""
    aggregates: list[kc.Memory]
    prefixes: list[kc.Memory]
    types: list[ScalarType]

    def has(self, k: KernelBuilder, unit: kc.Expression, status: int) -> kc.Expression:
        """Nonzero if a unit has this status bit."""
        no_bits = kc.Literal(0, WORD)
        seen = k.atomic("atomic_or", self.flags, unit + 1, no_bits, base="seen")
        return seen & status

    def read(
        self, k: KernelBuilder, memories: list[kc.Memory], unit: kc.Expression
    ) -> list[kc.Expression]:
        """The published aggregate or prefix of a unit."""
        places = zip(memories, self.types, strict=True)
        return [atomic_read(k, memory, type_, unit) for memory, type_ in places]

    def publish(
        self,
        k: KernelBuilder,
        memories: list[kc.Memory],
        place: tuple[kc.Expression, int],
        accumulators: Accumulators,
    ) -> None:
        """Publish an aggregate or prefix of a unit: the words, then the status bit."""
        unit, status = place
        for memory, value, type_ in zip(
            memories, scalar_places(accumulators), self.types, strict=True
        ):
            k.atomic("atomic_xchg", memory, unit, to_word(value, type_))
        k.atomic("atomic_or", self.flags, unit + 1, kc.Literal(status, WORD))


def chained_scan(
    host: HostBuilder,
    reduction: Reduction,
    split: Partition,
    scan_range: ScanRange,
    first: ScanFirst | None = None,
) -> None:
    """Scan segments of several chunks; an empty launch where each is one chunk.
    `reduction` is the operation without mapped results."""
    count = split.units * split.is_split

    def words(base: str) -> list[kc.Memory]:
        return [
            host.allocate(word_of(element_of(t)), (count,), base).memory
            for t in reduction.types
        ]

    flags = host.allocate(U32, ((split.units + 1) * split.is_split,), "known")
    zero = kc.Literal(0, WORD)
    host.each("begin_scan", flags.shape, lambda k, at: k.write(flags, at, zero))
    types = [element_of(t) for t in reduction.types]
    status = ChunkStatus(flags.memory, words("total"), words("prefix"), types)
    k = host.kernel("scan")
    groups = host.let_size(minimum(host.cores(), split.units), "groups")
    k.thread = (k.named(k.identity("get_global_id"), "group"), groups)
    scan = _ChainedScan(k, reduction, split, status, scan_range, first)
    counter = kc.Literal(0, kc.LONG)
    again = k.declare("again", kc.Literal(True, kc.TRUTH))
    with k.while_loop(again):
        fetched = k.atomic("atomic_add", status.flags, counter, kc.Literal(1, WORD))
        unit = k.declare("unit", kc.Cast(fetched, kc.LONG))
        k.assign(again, unit < k.size_value(split.units))
        with k.branch(again):
            scan.unit(unit)
    host.launch(k, groups * split.is_split, 1)


@immutable
class _ChainedScan:
    """Emits the scan of a unit: a chunk of a segment."""

    k: KernelBuilder
    reduction: Reduction
    split: Partition
    status: ChunkStatus
    scan_range: ScanRange
    first: ScanFirst | None

    def chunk_of(self, unit: kc.Expression) -> tuple[kc.Variable, ScannedRange]:
        """The number of a unit's chunk in its segment, and its range."""
        at = MultiIndex(self.k, (*self.split.segments, self.split.chunks), unit)
        chunk = at.indices[-1]
        return chunk, (at.indices[:-1], *chunk_bounds(self.k, self.split, chunk))

    def unit(self, unit: kc.Variable) -> None:
        """Scan a unit, and publish its aggregate and its inclusive prefix."""
        k, status = self.k, self.status
        chunk, own = self.chunk_of(unit)
        chunks = k.size_value(self.split.chunks)
        is_last = k.declare("is_last", chunk.equals(chunks - 1))
        others_follow = kc.Call("!", (is_last,), kc.TRUTH)
        if self.first is not None:
            aggregate = self.accumulators()
            self.first.scan(k, aggregate, own)
            with k.branch(others_follow):
                status.publish(k, status.aggregates, (unit, AGGREGATE), aggregate)
        before = self.look_back(unit, chunk, is_last)
        with k.branch(others_follow):
            prefix = Accumulators(k, self.reduction.operators)
            k.assign_all(scalar_places(prefix), scalar_places(before))
            prefix.combine(status.read(k, status.aggregates, unit))
            status.publish(k, status.prefixes, (unit, PREFIX), prefix)
        if self.first is None:
            self.scan_range(k, before, own, [])
        elif self.first.combines_first:
            self.first.combine(k, before, own)
        else:
            with k.branch(chunk > 0):
                self.first.combine(k, before, own)

    def accumulators(self) -> Accumulators:
        """New ones with neutral elements."""
        made = Accumulators(self.k, self.reduction.operators)
        made.reset()
        return made

    def aggregate(self, unit: kc.Expression) -> Accumulators:
        """Compute that of a whole unit, with the same bits wherever that happens."""
        _, (segment, start, end) = self.chunk_of(unit)
        if self.first is None:
            return reduce_range(
                self.k, self.reduction, segment, (start, end), long=True
            )
        made = self.accumulators()
        self.first.aggregate(self.k, made, (segment, start, end))
        return made

    def look_back(
        self, unit: kc.Variable, chunk: kc.Variable, is_last: kc.Variable
    ) -> Accumulators:
        """Publish the aggregate of a chunk (not that of the last chunk of a segment,
        which nothing needs); gives the exclusive prefix of the chunk."""
        k, status = self.k, self.status
        zero, one = kc.Literal(0, kc.LONG), kc.Literal(1, kc.LONG)
        lowest = k.declare("lowest", unit - chunk)
        missing = k.declare("missing", unit - kc.Select(is_last, one, zero, kc.LONG))
        at = k.declare("at", unit)
        before = Accumulators(k, self.reduction.operators)
        again = k.declare("again", kc.Literal(True, kc.TRUTH))
        with k.while_loop(again):
            with k.branch(status.has(k, missing, AGGREGATE).equals(0)):
                aggregate = self.aggregate(missing)
                status.publish(k, status.aggregates, (missing, AGGREGATE), aggregate)
            _last_prefix(k, status, before, at, (lowest, unit))
            k.assign(again, kc.Literal(False, kc.TRUTH))
            on = k.declare("on", at < unit)
            with k.while_loop(on):
                with k.branch(status.has(k, at, AGGREGATE).equals(0)):
                    k.assign(missing, at)
                    k.assign(again, kc.Literal(True, kc.TRUTH))
                    k.assign(on, kc.Literal(False, kc.TRUTH))
                with k.otherwise():
                    before.combine(status.read(k, status.aggregates, at))
                    k.assign(at, at + 1)
                    k.assign(on, at < unit)
        return before


def _last_prefix(
    k: KernelBuilder,
    status: ChunkStatus,
    before: Accumulators,
    at: kc.Variable,
    units: tuple[kc.Expression, kc.Expression],
) -> None:
    """`before` becomes the last published inclusive prefix, neutral if there is none,
    and `at` the unit after it."""
    lowest, unit = units
    before.reset()
    k.assign(at, unit)
    on = k.declare("on", at > lowest)
    with k.while_loop(on):
        previous = k.declare("previous", at - 1)
        with k.branch(status.has(k, previous, PREFIX).equals(0)):
            k.assign(at, previous)
            k.assign(on, at > lowest)
        with k.otherwise():
            k.assign_all(
                scalar_places(before), status.read(k, status.prefixes, previous)
            )
            k.assign(on, kc.Literal(False, kc.TRUTH))
