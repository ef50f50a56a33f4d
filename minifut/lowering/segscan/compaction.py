"""A range of points that are partitioned stably (`stable_partition`).

Where the device compresses vectors, `compressed_streams`; else by blocks of
`packed_points`:

    for l < 256: marks[l] = the bit of the point's stream; values[l] = what it writes
    for each stream:
        for p < count: result[first + p] = values[order[p]]

Each stream is written to memory in order. Scanned values are known between blocks only;
where those before the range have to be waited for, streams are collected in memory that
the cache holds (`collect`), and written when they are known (`deliver`), so that
nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TypeAlias

from minifut.ir.core import Atom
from minifut.ir.kernels import SegMap
from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, ZERO, Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.split_block import emit_split
from minifut.lowering.cpu.packed_points import BLOCK, PackedPoints
from minifut.lowering.cpu.partition import smaller
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators
from minifut.lowering.segscan import stable_partition
from minifut.lowering.segscan.chained_scan import ScannedRange
from minifut.lowering.segscan.compressed_streams import (
    ROOM,
    CollectedStream,
    StreamedRange,
    compress_in_lanes,
    in_lanes,
)
from minifut.lowering.segscan.partitioned_points import PartitionedPoints, StreamPlace
from minifut.lowering.segscan.streamed_copy import copy_stream
from minifut.lowering.threads.builder import KernelBuilder

MarkedBlock: TypeAlias = tuple[
    kc.Variable, kc.Variable, PackedPoints, dict[Atom, kc.Memory]
]
"""where it begins, how many points it has, marks, and what points write"""
PlacesOf: TypeAlias = Callable[
    [kc.Variable], AbstractContextManager[tuple[kc.Variable, kc.Variable]]
]
"""the loop over so many collected points; gives their number and their place"""


@immutable
class Compaction:
    """Emits a range."""

    k: KernelBuilder
    plan: stable_partition.StablePartition
    operation: SegMap
    outputs: list[Array]
    accumulators: Accumulators

    @property
    def points(self) -> PartitionedPoints:
        """The points of the map."""
        return PartitionedPoints(self.k, self.plan, self.operation, self.outputs)

    def range(self, place: ScannedRange) -> None:
        """Partition the points of a range, and go on with the scans."""
        with self.k.nested() as by_marks:
            self.write_marked(place)
        with self.k.nested() as by_lanes:
            lanes = self.write_compressed(place)
        self.choose(by_lanes if lanes else None, by_marks)

    def collect(self, place: ScannedRange, most: Size) -> list[CollectedStream]:
        """Partition the points of a range, at most so many, into thread memory."""
        k, (_, first, last) = self.k, place

        def scratch(output: Array) -> Array:
            return k.scratch_array(output.memory.element, (most + ROOM,), "stream")

        collected = self.streams(scratch)
        with k.nested() as by_marks:
            self.collect_marked(place, collected)
        with k.nested() as by_lanes, k.branch(first < last):
            lanes = self.compress((first, last), collected)
        self.choose(by_lanes if lanes else None, by_marks)
        self.grow([stream.count for stream in collected])
        return collected

    def deliver(self, first: kc.Expression, collected: list[CollectedStream]) -> None:
        """Write the streams of the range that begins there, where the scans begin with
        the accumulators, and go on with the scans."""
        k = self.k
        k.statements_of(self.plan.invariant)
        self.bind_before(first)
        (points,) = k.host.sizes(self.operation.space.sizes)
        for stream, known in zip(self.plan.streams, collected, strict=True):
            for target, pairs in self.points.targets(stream).items():
                first_place, *ends = self.ends_inside(target, known.count)
                for output, _ in pairs:
                    source = known.arrays[output]
                    copy_stream(k, (source, output), first_place, ends, points)
        self.grow([stream.count for stream in collected])

    # --- in vectors -------------------------------------------------------------------

    def choose(
        self, lanes: list[kc.Statement] | None, marks: list[kc.Statement]
    ) -> None:
        """Emit the code for devices that compress vectors and that for others."""
        if lanes is None:
            self.k.statements.extend(marks)
        else:
            blocks = kc.Block(tuple(lanes)), kc.Block(tuple(marks))
            self.k.emit(kc.StaticIf(in_lanes(self.k), *blocks))

    def streams(self, memory_for: Callable[[Array], Array]) -> list[CollectedStream]:
        """Places for the points of each stream, none of which is there yet."""
        found = []
        for stream in self.plan.streams:
            targets = self.points.targets(stream).values()
            outputs = [output for pairs in targets for output, _ in pairs]
            count = self.k.declare("filled", kc.Literal(0, kc.LONG))
            found.append(CollectedStream(count, {o: memory_for(o) for o in outputs}))
        return found

    def compress(
        self,
        ends: tuple[kc.Expression, kc.Expression],
        streams: Sequence[CollectedStream],
    ) -> bool:
        """Collect the points of a range in vectors, if they allow it."""
        self.k.statements_of(self.plan.invariant)
        part = StreamedRange(self.points, ends, streams)
        made = compress_in_lanes(part, self.k)
        if not isinstance(made, tuple):
            return False
        self.k.statements.extend(made)
        return True

    def write_compressed(self, place: ScannedRange) -> bool:
        """Write the points of a range block by block, compressed in memory of the
        thread."""
        k, (_, first, last) = self.k, place
        room = Size.constant(BLOCK + ROOM)

        def private(output: Array) -> Array:
            name = k.names.fresh("packed")
            memory = kc.Memory(name, output.memory.element, "private")
            k.emit(kc.DeclareArray(memory, room))
            return Array(memory, (room,), ZERO, (ONE,))

        with k.loop("block", last, first, BLOCK) as block:
            end = k.declare("end", smaller(block + BLOCK, last))
            streams = self.streams(private)
            lanes = self.compress((block, end), streams)
            self.bind_before(block)
            for stream, known in zip(self.plan.streams, streams, strict=True):
                for target, pairs in self.points.targets(stream).items():
                    with self.inside(target, known.count) as (p, at):
                        for output, _ in pairs:
                            k.write(output, (at,), k.read(known.arrays[output], (p,)))
            self.grow([stream.count for stream in streams])
        return lanes

    # --- by marks ---------------------------------------------------------------------

    def write_marked(self, place: ScannedRange) -> None:
        """Write the points of a range block by block."""
        with self.blocks(place) as (block, length, packed, values):
            self.bind_before(block)
            counts = []
            for number, stream in enumerate(self.plan.streams):
                targets = [
                    (partial(self.inside, target), [(o, values[v]) for o, v in pairs])
                    for target, pairs in self.points.targets(stream).items()
                ]
                counts.append(self.write((number, length), packed, targets))
            self.grow(counts)

    def collect_marked(
        self, place: ScannedRange, collected: Sequence[CollectedStream]
    ) -> None:
        """Collect the points of a range block by block."""
        k = self.k
        with self.blocks(place) as (_, length, packed, values):
            for number, stream in enumerate(self.plan.streams):
                filled, arrays = collected[number].count, collected[number].arrays
                found = self.points.targets(stream).values()
                target = [(arrays[o], values[v]) for pairs in found for o, v in pairs]
                behind = [(partial(self.behind, filled), target)] if target else []
                count = self.write((number, length), packed, behind)
                k.assign(filled, filled + count)

    @contextmanager
    def blocks(self, place: ScannedRange) -> Iterator[MarkedBlock]:
        """The loop over the blocks of a range, whose points are marked."""
        k = self.k
        packed = PackedPoints.of(k)
        values = {
            value: k.private_memory(output.memory.element, BLOCK, "values")
            for value, output in self.points.written.items()
        }
        _, first, last = place
        with k.loop("block", last, first, BLOCK) as block:
            k.statements_of(self.plan.invariant)
            most = kc.Literal(BLOCK, kc.LONG)
            length = k.declare("length", smaller(last - block, most))
            self.mark(block, length, packed, values)
            yield block, length, packed, values

    def mark(
        self,
        block: kc.Variable,
        length: kc.Expression,
        packed: PackedPoints,
        values: dict[Atom, kc.Memory],
    ) -> None:
        """Store which stream each point of a block belongs to, and what it writes."""
        k, points = self.k, self.points
        with (
            k.nested() as marking,
            k.loop("l", length, parallel=True, points=True) as lane,
        ):
            points.visit(block + lane)
            packed.mark(lane, points.mark())
            for stored, memory in values.items():
                k.store(memory, lane, k.scalar(stored))
        emit_split(k, marking)
        packed.end(length)

    def write(
        self,
        points: tuple[int, kc.Expression],
        packed: PackedPoints,
        targets: Sequence[tuple[PlacesOf, list[tuple[Array, kc.Memory]]]],
    ) -> kc.Variable:
        """Collect the points of a stream of a block of a length, and write them to
        their places; gives how many there are."""
        k, (number, length) = self.k, points
        count = packed.collect(number, length)
        for places, pairs in targets:
            with places(count) as (p, at):
                lane = packed.lane(p)
                for output, memory in pairs:
                    k.write(output, (at,), k.load(memory, lane))
        return count

    # --- places -----------------------------------------------------------------------

    def grow(self, counts: Sequence[kc.Expression]) -> None:
        """Add to the scans what so many points of the streams do."""
        k = self.k
        for at, running in enumerate(self.accumulators.all_places):
            assert isinstance(running, kc.Variable)
            grown: kc.Expression = kc.Literal(0, kc.LONG)
            for stream, count in zip(self.plan.streams, counts, strict=True):
                grown = grown + count if stream.increments[at] else grown
            k.assign(running, running + kc.Cast(grown, running.type))

    def bind_before(self, block: kc.Expression) -> None:
        """Bind scanned values before a block, and the index of the point there."""
        k = self.k
        for bound, running in zip(
            self.operation.seen, self.accumulators.all_places, strict=False
        ):
            assert isinstance(running, kc.Variable)
            k.bind(bound.name, k.declare("before", kc.Cast(running, kc.LONG)))
        k.bind_index(self.operation.space.indices[0], block - 1)

    def ends_inside(
        self, target: StreamPlace, count: kc.Variable
    ) -> tuple[kc.Variable, kc.Expression, kc.Expression]:
        """The place of the first collected point of a stream, the first one that is
        inside of the results, and that behind the last one that is."""
        k, (where, length) = self.k, target
        first = k.declare("first", k.size(where + 1))
        size = k.size_value(length)
        low = kc.Select(first < 0, 0 - first, kc.Literal(0, kc.LONG), kc.LONG)
        return first, low, smaller(size - first, count)

    @contextmanager
    def inside(
        self, target: StreamPlace, count: kc.Variable
    ) -> Iterator[tuple[kc.Variable, kc.Variable]]:
        """The loop over the collected points of a stream that are inside of results;
        gives their number and their place."""
        first, low, high = self.ends_inside(target, count)
        with self.k.loop("p", high, low) as p:
            yield p, self.k.declare("at", first + p)

    @contextmanager
    def behind(
        self, filled: kc.Variable, count: kc.Variable
    ) -> Iterator[tuple[kc.Variable, kc.Variable]]:
        """The loop over collected points that go behind those before."""
        with self.k.loop("p", count) as p:
            yield p, self.k.declare("at", filled + p)
