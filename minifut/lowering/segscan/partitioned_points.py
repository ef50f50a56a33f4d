"""What the points of a stable partition do: which stream each is in, what it writes.

visit(i)        run the bodies of the scan and of the map, as far as that needs them
is_in(s)        whether the point is in a stream
targets(s)      where the stream is written to, and what its points write there
"""

from __future__ import annotations

from typing import TypeAlias

from minifut.ir.core import Atom
from minifut.ir.kernels import SegMap, WriteReturns
from minifut.ir.node import immutable
from minifut.ir.sizes import Size
from minifut.kernel_ir import nodes as kc
from minifut.lowering.index_functions import Array
from minifut.lowering.segscan import stable_partition
from minifut.lowering.segscan.choices import returned_values
from minifut.lowering.threads.builder import KernelBuilder

StreamPlace: TypeAlias = tuple[Size, Size]
"""the place of the point before the first one, and the length of the results"""
Written: TypeAlias = list[tuple[Array, Atom]]


@immutable
class PartitionedPoints:
    """The points of a map over a scan, in a kernel."""

    k: KernelBuilder
    plan: stable_partition.StablePartition
    operation: SegMap
    outputs: list[Array]

    def visit(self, at: kc.Expression) -> None:
        """Run both bodies at a point."""
        k, operation = self.k, self.operation
        scan = operation.scan
        assert scan is not None
        index = k.bind_index(operation.space.indices[0], at)
        k.bind(scan.space.indices[0], index)
        k.statements_of(scan.body.statements)
        count = len(self.plan.streams[0].increments)
        passed = returned_values(scan.body.result[count:])
        for bound, value in zip(operation.seen[count:], passed, strict=False):
            k.bind(bound.name, k.atom(value))
        k.statements_of(self.plan.at_point)

    def is_in(self, stream: int) -> kc.Expression:
        """Whether the current point is in a stream."""
        cases = [case for case in self.plan.cases if case.stream == stream]
        return kc.any_of([self._is_case(case) for case in cases])

    def mark(self) -> kc.Expression:
        """The bit of the stream of the current point, 0 if it is in none. Of a choice
        between constants the device's compiler makes a table, and then no vectors."""
        found: kc.Expression = kc.Literal(0, kc.INT)
        for case in self.plan.cases:
            if case.stream is not None:
                bit = kc.Cast(self._is_case(case), kc.INT) << case.stream
                found = bit if isinstance(found, kc.Literal) else found | bit
        return found

    def _is_case(self, case: stable_partition.ChosenValues) -> kc.Expression:
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

    @property
    def written(self) -> dict[Atom, Array]:
        """What the points write, each with an array that it is written to."""
        return dict(zip(self._values, self.outputs, strict=False))

    @property
    def _values(self) -> list[Atom]:
        """What each result but totals is written."""
        results = self.operation.body.result
        return [r.writes[0][1] for r in results if isinstance(r, WriteReturns)]

    def targets(self, stream: stable_partition.Stream) -> dict[StreamPlace, Written]:
        """What a stream writes from which place on, inside of how many."""
        found: dict[StreamPlace, Written] = {}
        parts = zip(stream.places, self.outputs, self._values, strict=False)
        for where, output, value in parts:
            if where is not None:
                found.setdefault((where, output.shape[0]), []).append((output, value))
        return found
