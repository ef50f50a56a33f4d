"""Which maps that scatter by scans of flags are stable partitions of their points.

    place = if kept then end - 1 else -1          end: the scanned flags

Positions and flags depend on the point by *choices* only: truth values and digits
(`x & 3`). For each combination of their values, `end` grows by a known number, and the
place is a polynomial over scanned values and the index. Points with the same ones are a
*stream*: if its place grows by one at each of its points, and by nothing at all others,
its points are written to neighbouring places, in order. So a filter has one stream, a
radix sort of d bits 2^d, and nothing of a stream but where it begins has to be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from minifut.analysis.partitions import sums_words
from minifut.ir.core import Assert, Atom, Constant, Stm, Trace
from minifut.ir.kernels import KernelBody, SegMap, SegScan, TotalReturns, WriteReturns
from minifut.ir.node import immutable, mutable
from minifut.ir.sizes import ZERO, Size
from minifut.ir.traverse import free_names, walk
from minifut.lowering.host.builder import HostBuilder
from minifut.lowering.segscan.choices import (
    UNKNOWN,
    AtPoint,
    BodyNames,
    ChoiceNeeded,
    returned_values,
)
from minifut.names import Name
from minifut.rewrite.rule import Decline, Declined, Remark, decision

STREAMS = 8
"""the most streams, one for each bit of the mark of a point"""
CASES = 16
"""the most combinations of the values of choices"""
NARROW_POINTS = 1 << 27
"""the most points with which small polynomials fit 32 bits"""


@immutable
class Stream:
    """Points that are written to neighbouring places."""

    increments: tuple[int, ...]
    """what each scan adds at a point: 0 or 1"""
    places: tuple[Size | None, ...]
    """of each result but totals, over scanned values and the index; None: nowhere"""


@immutable
class ChosenValues:
    """Values of choices, and the number of the stream of the points that have them,
    none if they do nothing."""

    values: tuple[tuple[Name, Constant], ...]
    stream: int | None


@immutable
class StablePartition:
    """The plan: how points are distinguished, and what becomes of them."""

    cases: tuple[ChosenValues, ...]
    streams: tuple[Stream, ...]
    invariant: tuple[Stm, ...]
    """statements of the map that are the same at all points"""
    at_point: tuple[Stm, ...]
    """those of the map that choices, values and checks need"""
    is_narrow: bool
    """whether it computes with 32 bits, so that there may not be too many points"""
    is_permutation: bool
    """whether each place of each result is written"""

    @property
    def most_points(self) -> int | None:
        """The most points for which the plan holds, if there is a limit."""
        return NARROW_POINTS if self.is_narrow else None


@decision(
    paper="Prefix sums and their applications (Blelloch, 1990)",
    remark=lambda *_: Remark(("streams of points, each written in order",)),
)
def partition_stably(
    operation: SegMap, host: HostBuilder
) -> StablePartition | Declined:
    """Collect the points of a block that are written in order, then write them.

    before:
        given (n: i64, limit: i32, xs: [n]i32, zs: [n]i32)
        let ys: [n]i32 = segmap grid (i < n)
            seeing(end: i64, kept: bool, total: i64) of segscan grid (j < n)
            operator(add_i64, (0i64), []) -> (i64, bool) {
              let x: i32 = xs[j]
              let keep: bool = lt_i32(x, limit)
              let one: i64 = convert_bool_i64(keep)
              return returns one, returns keep
            } -> (i32) {
          let y: i32 = xs[i]
          let place: i64 = if kept then {
            let before: i64 = sub_i64(end, 1i64)
            return before
          } else {-1i64}
          return writes zs [n] with ((place) = y)
        }
    after:
        filled = filled + ((long)minifut_count(bits));
    before:
        like before, with
        let keep: bool = lt_i32(x, limit) => let a: bool = lt_i32(x, limit)
        => let b: bool = lt_i32(-9i32, x)
        => let c: bool = ne_i32(x, 0i32)
        => let d: bool = ne_i32(x, 5i32)
        => let e: bool = ne_i32(x, 7i32)
        => let f: bool = ne_i32(x, 8i32)
        => let ab: bool = and_bool(a, b)
        => let cd: bool = and_bool(c, d)
        => let ef: bool = and_bool(e, f)
        => let abcd: bool = and_bool(ab, cd)
        => let keep: bool = and_bool(abcd, ef)
    after:
        filled = filled + ((long)minifut_count(bits));
    declines: a place does not follow from scans of flags
        like before, with
        let before: i64 = sub_i64(end, 1i64) => let before: i64 = convert_i32_i64(y)
    """
    scan = operation.scan
    assert scan is not None
    results = [r for r in operation.body.result if not isinstance(r, TotalReturns)]
    wheres, values = [], []
    for result in results:
        if not isinstance(result, WriteReturns) or len(result.writes) != 1:
            return Declined("it does more than to write one value for each point")
        ((where, value),) = result.writes
        if len(result.shape) != 1:
            return Declined("it writes to arrays of several dimensions")
        wheres.append(where[0])
        values.append(value)
    if operation.before:
        return Declined("it reads what was scanned up to the point before")
    if not all(sums_words(o.operator) for o in scan.operators):
        return Declined("its scans are not of flags")
    found = tuple(wheres), tuple(values), BodyNames.of(operation, scan)
    return _Finder(operation, scan, *found).plan()


@mutable
class _Finder:
    operation: SegMap
    scan: SegScan
    wheres: tuple[Atom, ...]
    values: tuple[Atom, ...]
    scope: BodyNames

    def plan(self) -> StablePartition:
        """The streams; Decline if there are none, or something else to do."""
        found = self.cases(AtPoint(self.scope, {}, self.scope.definitions))
        kinds = list(dict.fromkeys(kind for _, kind in found))
        active = [s for s in kinds if any(s.increments) or _written(s)]
        if not any(map(_written, active)) or len(active) > STREAMS:
            raise Decline("it has no streams, or too many")
        self.check(kinds)
        statements = self.operation.body.statements
        invariant = tuple(
            s for s in statements if self.scope.varying.isdisjoint(free_names(s))
        )
        choices = {name for values, _ in found for name in values}
        needed = choices.union(a for a in self.values if isinstance(a, Name))
        at_point = _needed_for(needed, [s for s in statements if s not in invariant])
        scanned = {p.name for p in self.operation.seen} & self.scope.known.keys()
        totals = {p.name for p in self.operation.totals}
        if (needed | free_names(KernelBody(at_point, ()))) & (scanned - totals):
            raise Decline("a value is made of what was scanned")
        cases = tuple(
            ChosenValues(tuple(v.items()), active.index(s) if s in active else None)
            for v, s in found
        )
        whole = self.is_permutation(kinds)
        return StablePartition(
            cases, tuple(active), invariant, at_point, self.scope.is_narrow, whole
        )

    def cases(self, case: AtPoint) -> list[tuple[Mapping[Name, Constant], Stream]]:
        """All combinations of choices with what becomes of their points."""
        if len(case.chosen) > CASES.bit_length():
            raise Decline("it depends on too many choices")
        count = self.scope.scanned
        try:
            flags = [
                case.number(value)
                for value in returned_values(self.scan.body.result[:count])
            ]
            places = [case.number(where) for where in self.wheres]
        except ChoiceNeeded as choice:
            name = choice.name
            made = [self.cases(case.with_choice(name, v)) for v in choice.values]
            if sum(map(len, made)) > CASES:
                raise Decline("it depends on too many choices") from None
            return [*chain(*made)]
        constants = (flag.as_constant for flag in flags)
        increments = tuple(c for c in constants if c is not None)
        if len(increments) < len(flags) or not set(increments) <= {0, 1}:
            raise Decline("its scans are not of flags")
        kept = tuple(None if (p.as_constant or 0) < 0 else p for p in places)
        return [(case.chosen, Stream(increments, kept))]

    def check(self, streams: Iterable[Stream]) -> None:
        """Each place grows by one at each point of its stream, and at no other."""
        for stream in streams:
            for place in _written(stream):
                for other in streams:
                    grown = place.substitute(self.after(other)) - place
                    if grown.as_constant != int(other is stream):
                        raise UNKNOWN

    def after(self, stream: Stream) -> dict[Name, Size]:
        """Scanned values and index at the point after one of the stream."""
        grown = {
            p.name: Size.of(p.name) + increment
            for p, increment in zip(
                self.operation.seen, stream.increments, strict=False
            )
        }
        (index,) = self.operation.space.indices
        return {**grown, index: Size.of(index) + 1}

    def is_permutation(self, streams: list[Stream]) -> bool:
        """Whether the streams are one behind the other from the first place on, and all
        points are in one."""
        if not all(all(p is not None for p in s.places) for s in streams):
            return False
        (index,), sizes = self.operation.space.indices, self.operation.space.sizes
        start = {
            p.name: ZERO for p in self.operation.seen[: len(streams[0].increments)]
        }
        start[index] = Size.constant(-1)
        for number, result in enumerate(self.operation.body.result[: len(self.wheres)]):
            assert isinstance(result, WriteReturns)
            firsts = {
                place.substitute(start) + 1: stream
                for stream in streams
                if (place := stream.places[number]) is not None
            }
            at, behind = ZERO, 0
            while behind < len(streams) - 1 and at in firsts:
                count = self.count_of(firsts[at], streams)
                if count is None:
                    break
                at, behind = at + count, behind + 1
            if behind < len(streams) - 1 or at not in firsts or result.shape != sizes:
                return False
        return True

    def count_of(self, stream: Stream, streams: list[Stream]) -> Size | None:
        """The number of its points, if a scan counts them."""
        for number, total in enumerate(
            self.operation.totals[-len(stream.increments) :]
        ):
            if all(s.increments[number] == int(s is stream) for s in streams):
                return Size.of(total.name)
        return None


def _written(stream: Stream) -> list[Size]:
    return [place for place in stream.places if place is not None]


def _needed_for(names: set[Name], statements: Iterable[Stm]) -> tuple[Stm, ...]:
    """The statements that give these names, those that may fail or print, and what
    they need."""
    found: list[Stm] = []
    for statement in reversed(list(statements)):
        acts = any(isinstance(node, Assert | Trace) for node in walk(statement))
        if acts or not names.isdisjoint(p.name for p in statement.pattern):
            names = names | free_names(statement)
            found.insert(0, statement)
    return tuple(found)
