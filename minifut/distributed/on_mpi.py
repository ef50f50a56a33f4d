"""Processes of MPI that all run the same script.

Chunk i belongs to rank i modulo the number of ranks, which alone reads that part of the
arguments. What chunks are combined to is computed by all ranks, from partial results
that their owners broadcast; since all of them walk the same plan, these match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minifut import errors, loaded_module, program, recipe
from minifut.distributed.arguments import (
    CHUNK_BYTES,
    OverChunks,
    arguments_of,
    as_numpy,
)
from minifut.distributed.execute import Chunked, GroupedRows, combined, execute
from minifut.distributed.planner import plan_of


@dataclass(frozen=True, slots=True)
class Replica:
    """A value of one rank (None elsewhere), or of all if there is no owner."""

    value: Any
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class MpiCluster:
    """The ranks of a communicator of mpi4py."""

    module: loaded_module.LoadedModule
    comm: Any

    def constant(self, value: Any) -> Replica:
        """A value that all ranks have."""
        return Replica(value)

    def owner(self, place: int | None) -> int | None:
        """The rank that a chunk belongs to."""
        return None if place is None else place % self.comm.Get_size()

    def call(
        self,
        function: str,
        arguments: Sequence[Replica],
        results: int,
        place: int | None,
    ) -> list[Replica]:
        """On the owner of the chunk, or on all ranks."""
        owner = self.owner(place)
        given = [self._at(argument, owner) for argument in arguments]
        if owner not in (None, self.comm.Get_rank()):
            return [Replica(None, owner)] * max(results, 1)
        made = recipe.entry_again(self.module, (), function).call(given)
        return [Replica(value, owner) for value in made] or [Replica(None, owner)]

    def _at(self, owned: Replica, owner: int | None) -> Any:
        """The value for calls of a rank, or of all (None)."""
        if owned.owner is None or owned.owner == owner:
            return owned.value
        return self.comm.bcast(owned.value, root=owned.owner)

    def combine(
        self, function: str, shared: Sequence[Replica], rows: GroupedRows
    ) -> list[Replica]:
        """On all ranks."""
        width = len(rows[0])
        made = combined(
            lambda pair: self.call(function, [*shared, *pair], width, None), rows
        )
        return list(made)

    def keep(self, references: Sequence[Replica]) -> list[Replica]:
        """Everything is computed at once, so nothing is to be done."""
        return list(references)

    def value(self, reference: Replica) -> Any:
        """The value, on all ranks."""
        return self._at(reference, None)


@dataclass(frozen=True, slots=True, repr=False)
class OverRanks(OverChunks):
    """All ranks call it with the same arguments. A result that has the size, or each
    array of its fields, is a dict of this rank's chunks by the places where they begin
    (in the first argument that was cut); others all ranks get."""

    comm: Any = field(kw_only=True)

    @errors.ending_here
    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """Run the plan. Raises `ArgumentError` for wrong arguments; an error of one
        rank must end all of them, as `python -m mpi4py` has it."""
        import numpy as np

        plan, cluster = self.plan, MpiCluster(self.plan.module, self.comm)
        given = arguments_of(plan, self.entry, arguments, named)
        bounds = given.bounds(self.chunk_bytes)
        inputs: dict[str, Any] = {
            **{size: Replica(number) for size, number in given.sizes.items()},
            **{n: Replica(as_numpy(*pair)) for n, pair in given.whole.items()},
        }
        for name, array in given.cut.items():
            parts = []
            for number in range(len(bounds) - 1):
                owner = cluster.owner(number)
                part = None
                if owner == self.comm.Get_rank():
                    where = [slice(None)] * len(array.shape)
                    where[plan.axes[name]] = slice(bounds[number], bounds[number + 1])
                    part = np.asarray(array[tuple(where)])
                parts.append(Replica(part, owner))
            inputs[name] = Chunked(tuple(parts))
        values = execute(plan, cluster, inputs, bounds)
        leaves = [
            {
                start: part.value
                for start, part in zip(bounds, value.parts, strict=False)
                if part.owner == self.comm.Get_rank()
            }
            if isinstance(value, Chunked)
            else cluster.value(value)
            for value in map(values.__getitem__, plan.results)
        ]
        return self.closed(leaves)


def distribute(
    entry: program.EntryPoint, *, over: str, comm: Any, chunk_bytes: int = CHUNK_BYTES
) -> OverRanks:
    """The entry point with one of its sizes split over the ranks of a communicator;
    errors as for `minifut.dask.distribute`."""
    return OverRanks(plan_of(entry, over), entry, chunk_bytes, comm=comm)
