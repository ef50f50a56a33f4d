"""A range of points that are partitioned stably (`stable_partition`), by blocks of
`packed_points`:

    for l < 256: marks[l] = the bit of the point's stream; values[l] = what it writes
    for each stream:
        for p < count: result[first + p] = values[order[p]]
    or, where the device compresses vectors:
        packed = the values of the stream
        for p < count: result[first + p] = packed[p]

Each stream is written to memory in order. Scanned values are known between blocks only;
where those before the range have to be waited for, streams are collected in memory that
the cache holds (`collect`), and written when they are known (`deliver`), so that
nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, TypeAlias

from minifut.ir.core import Atom
from minifut.ir.kernels import SegMap, WriteReturns
from minifut.ir.node import immutable
from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.split_block import emit_split
from minifut.lowering.cpu.packed_points import BLOCK, COMPRESSES, NAMES, PackedPoints
from minifut.lowering.cpu.partition import smaller
from minifut.lowering.index_functions import Array
from minifut.lowering.operators import Accumulators
from minifut.lowering.segscan import stable_partition
from minifut.lowering.segscan.chained_scan import ScannedRange
from minifut.lowering.segscan.choices import returned_values
from minifut.lowering.threads.builder import KernelBuilder

MOST_LANES = 16

Written: TypeAlias = list[tuple[Array, Atom]]
MarkedBlock: TypeAlias = tuple[
    kc.Variable, kc.Variable, PackedPoints, dict[Atom, kc.Memory]
]
"""where it begins, how many points it has, marks, and what points write"""
PlacesOf: TypeAlias = Callable[
    [kc.Variable], AbstractContextManager[tuple[kc.Variable, kc.Variable]]
]
"""the loop over so many collected points; gives their number and their place"""


@immutable
class CollectedStream:
    """What is written of a stream, and how many points it has, of a range."""

    count: kc.Variable
    arrays: dict[Array, Array]
    """by what they are written to"""


@immutable
class Compaction:
    """Emits a range."""

    k: KernelBuilder
    plan: stable_partition.StablePartition
    operation: SegMap
    outputs: list[Array]
    accumulators: Accumulators

    def range(self, place: ScannedRange) -> None:
        """Partition the points of a range, and go on with the scans."""
        with self.blocks(place) as (block, length, packed, values):
            self.bind_before(block)
            counts = []
            for number, stream in enumerate(self.plan.streams):
                count = self.k.declare("count", kc.Literal(0, kc.LONG))
                targets = [
                    (partial(self.inside, target), [(o, values[v]) for o, v in pairs])
                    for target, pairs in self.targets(stream).items()
                ]
                self.write((number, length, count), packed, targets)
                counts.append(count)
            self.grow(counts)

    def collect(self, place: ScannedRange, most: Size) -> list[CollectedStream]:
        """Partition the points of a range, at most so many, into thread memory."""
        k = self.k
        collected = []
        for stream in self.plan.streams:
            count = k.declare("filled", kc.Literal(0, kc.LONG))
            outputs = [o for pairs in self.targets(stream).values() for o, _ in pairs]
            elements = [output.memory.element for output in outputs]
            made = [k.scratch_array(element, (most,), "stream") for element in elements]
            collected.append(
                CollectedStream(count, dict(zip(outputs, made, strict=True)))
            )
        with self.blocks(place) as (_, length, packed, values):
            for number, stream in enumerate(self.plan.streams):
                count = k.declare("count", kc.Literal(0, kc.LONG))
                filled, arrays = collected[number].count, collected[number].arrays
                pairs = [p for pairs in self.targets(stream).values() for p in pairs]
                target = [(arrays[output], values[value]) for output, value in pairs]
                self.write(
                    (number, length, count),
                    packed,
                    [(partial(self.behind, filled), target)] if target else [],
                )
                k.assign(filled, filled + count)
        self.grow([stream.count for stream in collected])
        return collected

    def deliver(self, first: kc.Expression, collected: list[CollectedStream]) -> None:
        """Write the streams of the range that begins there, where the scans begin with
        the accumulators, and go on with the scans."""
        k = self.k
        k.statements_of(self.plan.invariant)
        self.bind_before(first)
        for stream, known in zip(self.plan.streams, collected, strict=True):
            for target, pairs in self.targets(stream).items():
                for output, _ in pairs:
                    with self.inside(target, known.count) as (p, at):
                        k.write(output, (at,), k.read(known.arrays[output], (p,)))
        self.grow([stream.count for stream in collected])

    @contextmanager
    def blocks(self, place: ScannedRange) -> Iterator[MarkedBlock]:
        """The loop over the blocks of a range, whose points are marked."""
        k = self.k
        packed = PackedPoints.of(k)
        values = {
            value: k.private_memory(output.memory.element, BLOCK, "values")
            for value, output in zip(self.written, self.outputs, strict=False)
        }
        _, first, last = place
        with k.loop("block", last, first, BLOCK) as block:
            k.statements_of(self.plan.invariant)
            most = kc.Literal(BLOCK, kc.LONG)
            length = k.declare("length", smaller(last - block, most))
            self.mark(block, length, packed, values)
            yield block, length, packed, values

    @property
    def written(self) -> list[Atom]:
        """What the points write."""
        results = self.operation.body.result
        return [r.writes[0][1] for r in results if isinstance(r, WriteReturns)]

    def targets(
        self, stream: stable_partition.Stream
    ) -> dict[tuple[Size, Size], Written]:
        """What a stream writes from which place on, inside of how many."""
        found: dict[tuple[Size, Size], Written] = {}
        parts = zip(stream.places, self.outputs, self.written, strict=False)
        for where, output, value in parts:
            if where is not None:
                found.setdefault((where, output.shape[0]), []).append((output, value))
        return found

    def grow(self, counts: Sequence[kc.Expression]) -> None:
        """Add to the scans what so many points of the streams do."""
        k = self.k
        for at, running in enumerate(self.accumulators.all_places):
            assert isinstance(running, kc.Variable)
            grown: kc.Expression = kc.Literal(0, kc.LONG)
            for stream, count in zip(self.plan.streams, counts, strict=True):
                grown = grown + count if stream.increments[at] else grown
            k.assign(running, running + kc.Cast(grown, running.type))

    def mark(
        self,
        block: kc.Variable,
        length: kc.Expression,
        packed: PackedPoints,
        values: dict[Any, kc.Memory],
    ) -> None:
        """Store which stream each point of a block belongs to, and what it writes."""
        k, operation = self.k, self.operation
        scan = operation.scan
        assert scan is not None
        with (
            k.nested() as points,
            k.loop("l", length, parallel=True, points=True) as lane,
        ):
            index = k.bind_index(operation.space.indices[0], block + lane)
            k.bind(scan.space.indices[0], index)
            k.statements_of(scan.body.statements)
            count = len(self.accumulators.all_places)
            passed = returned_values(scan.body.result[count:])
            for bound, value in zip(operation.seen[count:], passed, strict=False):
                k.bind(bound.name, k.atom(value))
            k.statements_of(self.plan.at_point)
            packed.mark(lane, self.mark_of())
            for stored, memory in values.items():
                k.store(memory, lane, k.scalar(stored))
        emit_split(k, points)
        packed.end(length)

    def mark_of(self) -> kc.Expression:
        """The bit of the stream of the current point, 0 if it is in none. Of a choice
        between constants the device's compiler makes a table, and then no vectors."""
        found: kc.Expression = kc.Literal(0, kc.INT)
        for case in self.plan.cases:
            if case.stream is not None:
                bit = kc.Cast(self.is_case(case), kc.INT) << case.stream
                found = bit if isinstance(found, kc.Literal) else found | bit
        return found

    def is_case(self, case: stable_partition.ChosenValues) -> kc.Expression:
        """Whether the choices are those of a case."""
        test: kc.Expression | None = None
        for name, constant in case.values:
            found = self.k.scalar(name)
            if isinstance(constant.value, bool):
                one = found if constant.value else kc.Call("!", (found,), kc.TRUTH)
            else:
                one = found.equals(kc.Literal(constant.value, found.type))
            test = one if test is None else test & one
        return test if test is not None else kc.Literal(True, kc.TRUTH)

    def bind_before(self, block: kc.Expression) -> None:
        """Bind scanned values before a block, and the index of the point there."""
        k = self.k
        for bound, running in zip(
            self.operation.seen, self.accumulators.all_places, strict=False
        ):
            assert isinstance(running, kc.Variable)
            k.bind(bound.name, k.declare("before", kc.Cast(running, kc.LONG)))
        k.bind_index(self.operation.space.indices[0], block - 1)

    def write(
        self,
        points: tuple[int, kc.Expression, kc.Variable],
        packed: PackedPoints,
        targets: Sequence[tuple[PlacesOf, list[tuple[Array, kc.Memory]]]],
    ) -> None:
        """Collect the points of a stream of a block of a length, count them, and write
        them to their places: of values that fill lanes the values are packed if the
        device does that."""
        k, (number, length, count) = self.k, points
        with k.nested() as by_numbers:
            k.assign(count, packed.collect(number, length))
            for places, pairs in targets:
                with places(count) as (p, at):
                    lane = packed.lane(p)
                    for output, memory in pairs:
                        k.write(output, (at,), k.load(memory, lane))
        memories = dict.fromkeys(m for _, pairs in targets for _, m in pairs)
        if not memories or any(m.element not in NAMES for m in memories):
            k.statements.extend(by_numbers)
            return
        own = {
            memory: k.private_memory(memory.element, BLOCK + MOST_LANES, "packed")
            for memory in memories
        }
        with k.nested() as by_values:
            packed.compress(number, length, count, list(own.items()))
            for places, pairs in targets:
                with places(count) as (p, at):
                    for output, memory in pairs:
                        k.write(output, (at,), k.load(own[memory], p))
        compresses = k.build_constant(COMPRESSES).equals(1)
        values, numbers = kc.Block(tuple(by_values)), kc.Block(tuple(by_numbers))
        k.emit(kc.StaticIf(compresses, values, numbers))

    @contextmanager
    def inside(
        self, target: tuple[Size, Size], count: kc.Variable
    ) -> Iterator[tuple[kc.Variable, kc.Variable]]:
        """The loop over the collected points of a stream that are inside of results;
        gives their number and their place."""
        k, (where, length) = self.k, target
        first = k.declare("first", k.size(where + 1))
        size = k.size_value(length)
        low = kc.Select(first < 0, 0 - first, kc.Literal(0, kc.LONG), kc.LONG)
        high = smaller(size - first, count)
        with k.loop("p", high, low) as p:
            yield p, k.declare("at", first + p)

    @contextmanager
    def behind(
        self, filled: kc.Variable, count: kc.Variable
    ) -> Iterator[tuple[kc.Variable, kc.Variable]]:
        """The loop over collected points that go behind those before."""
        with self.k.loop("p", count) as p:
            yield p, self.k.declare("at", filled + p)
