"""Runs a plan on a cluster, which is anything that can run a function of the plan's
module somewhere and holds a reference to the result.

The executor decides nothing: steps run in the order of the plan, chunk i of a result is
made from chunk i of each argument, and combinations form one tree over the chunks,

    ((0 1) (2 3)) (4)

which does not depend on how many workers there are. So neither do the results. Two
levels of it are combined at once, since what a cluster does in a row takes longer than
small combinations.

Chunks of arguments are not kept from one step over chunks to the next, but requested
again, so that an argument may be larger than the memory of the cluster: what was
combined is waited for before the next such step is requested (a cluster that holds the
chunks may request it earlier), and what steps made of chunks is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np

from minifut.distributed.plan import (
    FromTheLeft,
    Once,
    OnChunks,
    Plan,
    PlanStep,
    Repeat,
    Tree,
)

Reference: TypeAlias = Any
"""a value somewhere on a cluster"""
GroupedRows: TypeAlias = "Sequence[Sequence[Any]]"
"""references or values, those of each chunk in a row"""
FAN = 4
"""rows that are combined at once: more of them have to be in the memory of a worker"""


class Cluster(Protocol):
    """Where functions run. `place`: the number of the chunk that the result belongs to,
    or None."""

    def constant(self, value: Any) -> Reference:
        """A value of the client."""

    def call(
        self,
        function: str,
        arguments: Sequence[Reference],
        results: int,
        place: int | None,
    ) -> list[Reference]:
        """The results of a function of the module; of one without results, a reference
        to its being done."""

    def combine(
        self, function: str, shared: Sequence[Reference], rows: GroupedRows
    ) -> list[Reference]:
        """One row of at most `FAN` in pairs (`combined`), each by the function with
        what all pairs share, the left row and the right row."""

    def keep(self, references: Sequence[Reference]) -> list[Reference]:
        """The same values, computed now and kept until nothing refers to them."""

    def value(self, reference: Reference) -> Any:
        """The value itself, which is waited for."""


@dataclass(frozen=True, slots=True)
class Chunked:
    """One reference for each chunk."""

    parts: tuple[Reference, ...]


DistributedValues: TypeAlias = dict[str, "Reference | Chunked"]


def execute(
    plan: Plan, cluster: Cluster, inputs: Mapping[str, Any], bounds: Sequence[int]
) -> DistributedValues:
    """The values of the results. `inputs` are references, or `Chunked` ones; `bounds`
    are where chunks begin and where the last one ends."""
    starts = [cluster.constant(np.int64(start)) for start in bounds[:-1]]
    sizes = [cluster.constant(np.int64(end - start)) for start, end in pairwise(bounds)]
    values: DistributedValues = {
        **inputs,
        plan.whole: cluster.constant(np.int64(bounds[-1])),
        plan.chunk_start: Chunked(tuple(starts)),
        plan.chunk_size: Chunked(tuple(sizes)),
    }
    run = _Run(cluster, len(sizes))
    run.steps(plan.steps, values)
    return {
        name: values[name] if name in plan.axes else _everywhere(values[name])
        for name in plan.results
    }


@dataclass(frozen=True, slots=True)
class _Run:
    cluster: Cluster
    chunks: int

    def steps(self, steps: Sequence[PlanStep], values: DistributedValues) -> None:
        done: list[str] = []
        for at, step in enumerate(steps):
            done += step.values if isinstance(step, Tree) else step.results
            match step:
                case Once(function, arguments, results):
                    given = [_everywhere(values[name]) for name in arguments]
                    made = self.cluster.call(function, given, len(results), None)
                    if not results:  # checks only
                        self.cluster.value(made[0])
                    values.update(zip(results, made, strict=False))
                case OnChunks(function, arguments, results):
                    self._on_chunks(function, arguments, results, values)
                case Tree():
                    self._tree(step, values)
                case FromTheLeft():
                    self._from_the_left(step, values)
                case Repeat():
                    self._repeat(step, values)
            follows = any(isinstance(s, OnChunks | Repeat) for s in steps[at + 1 :])
            if follows and isinstance(step, Tree | FromTheLeft):
                names = list(dict.fromkeys(done))
                kept = self._kept([values[name] for name in names])
                values.update(zip(names, kept, strict=True))

    def _on_chunks(
        self,
        function: str,
        arguments: Sequence[str],
        results: Sequence[str],
        values: DistributedValues,
    ) -> None:
        rows = []
        for at in range(self.chunks):
            given = [_of_chunk(values[name], at) for name in arguments]
            rows.append(self.cluster.call(function, given, len(results), at))
        for number, name in enumerate(results):
            values[name] = Chunked(tuple(row[number] for row in rows))

    def _rows(
        self, names: Sequence[str], values: DistributedValues
    ) -> list[list[Reference]]:
        """For each chunk the values of these names."""
        return [
            [_of_chunk(values[name], at) for name in names] for at in range(self.chunks)
        ]

    def _tree(self, step: Tree, values: DistributedValues) -> None:
        shared = [_everywhere(values[name]) for name in step.arguments]
        rows = self._rows(step.values, values)
        while len(rows) > 1:
            several = [rows[at : at + FAN] for at in range(0, len(rows), FAN)]
            rows = [
                self.cluster.combine(step.function, shared, some)
                if len(some) > 1
                else some[0]
                for some in several
            ]
        values.update(zip(step.values, rows[0], strict=True))

    def _from_the_left(self, step: FromTheLeft, values: DistributedValues) -> None:
        shared = [_everywhere(values[name]) for name in step.arguments]
        totals = self._rows(step.totals, values)
        before = [_everywhere(values[name]) for name in step.start]
        rows = [before]
        for total in totals[:-1]:
            before = self.cluster.call(
                step.function, [*shared, *before, *total], len(total), None
            )
            rows.append(before)
        for number, name in enumerate(step.results):
            values[name] = Chunked(tuple(row[number] for row in rows))

    def _repeat(self, step: Repeat, values: DistributedValues) -> None:
        state = [values[name] for name in step.initial]
        bound = step.bound
        if isinstance(bound, str):
            bound = int(self.cluster.value(_everywhere(values[bound])))
        at = 0
        while True:
            inner = {**values, **dict(zip(step.values, state, strict=True))}
            if step.condition is not None:
                if not self.cluster.value(_everywhere(inner[step.condition])):
                    break
            elif bound is None or at >= bound:
                break
            if step.index is not None:
                inner[step.index] = self.cluster.constant(np.int64(at))
            self.steps(step.steps, inner)
            state = self._kept([inner[name] for name in step.after])
            at += 1
        values.update(zip(step.results, state, strict=True))

    def _kept(self, known: Sequence[Any]) -> list[Any]:
        """The same values, kept, so that nothing is computed twice."""
        flat: list[Reference] = []
        for value in known:
            flat += value.parts if isinstance(value, Chunked) else (value,)
        kept = iter(self.cluster.keep(flat))
        return [
            Chunked(tuple(next(kept) for _ in value.parts))
            if isinstance(value, Chunked)
            else next(kept)
            for value in known
        ]


def combined(
    call: Callable[[list[Any]], Sequence[Any]], rows: GroupedRows
) -> Sequence[Any]:
    """One row, of pairs that are combined level by level."""
    while len(rows) > 1:
        pairs = zip(rows[::2], rows[1::2], strict=False)
        joined = [call([*left, *right]) for left, right in pairs]
        rows = [*joined, *(rows[-1:] if len(rows) % 2 else [])]
    return rows[0]


def _of_chunk(value: Any, at: int) -> Reference:
    return value.parts[at] if isinstance(value, Chunked) else value


def _everywhere(value: Any) -> Reference:
    """A value that does not depend on chunks, though all of them may have computed it:
    the counter of a loop that runs on chunks, say."""
    return value.parts[0] if isinstance(value, Chunked) else value
