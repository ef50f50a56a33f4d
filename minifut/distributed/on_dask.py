"""A cluster of dask, and arrays of dask as arguments and results.

Each call of a function is one task; it takes whole results of other tasks, and picks
the ones that it needs, so that no tasks are spent on that. The program is sent as its
generated module, which the cluster keeps during a call, so that it is sent to each
worker once and not with each task; it is loaded once in each process
(`minifut.recipe`).
"""

from __future__ import annotations

import itertools
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed

from minifut import errors, program, recipe
from minifut.distributed.arguments import (
    CHUNK_BYTES,
    Arguments,
    OverChunks,
    arguments_of,
    as_numpy,
)
from minifut.distributed.execute import Chunked, GroupedRows, combined, execute
from minifut.distributed.planner import plan_of
from minifut.ir.node import divided
from minifut.loaded_module import LoadedModule
from minifut.opencl.runtime.arrays import leave_pool
from minifut.values.types import ValueType

SMALL = 1 << 12
"""bytes of an array that every task may hold a copy of"""


@dataclass(frozen=True, slots=True)
class Pick:
    """A result of a task: the one of this number, or all there is (None)."""

    task: Any
    number: int | None = None


def run(
    module: LoadedModule, function: str, picks: Sequence[int | None], *values: Any
) -> tuple[Any, ...]:
    """What a task does: call a function with results of other tasks. Its own are kept
    by dask, which counts their bytes, and spills them to disk."""
    return _called(module, function, _picked_from(picks, values))


def run_combination(
    module: LoadedModule,
    function: str,
    shared: int,
    rows: int,
    picks: Sequence[int | None],
    *values: Any,
) -> tuple[Any, ...]:
    """The same for so many rows that are combined; before them stand the values that
    all calls share."""
    given = _picked_from(picks, values)
    each = divided(given[shared:], [(len(given) - shared) // rows] * rows)
    common = given[:shared]
    return tuple(
        combined(lambda pair: _called(module, function, [*common, *pair]), each)
    )


def _called(module: LoadedModule, function: str, given: list[Any]) -> tuple[Any, ...]:
    results = recipe.entry_again(module, (), function).call(given)
    leave_pool(results)
    return results


def _picked_from(picks: Sequence[int | None], values: Sequence[Any]) -> list[Any]:
    return [
        value if number is None else value[number]
        for value, number in zip(values, picks, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class DaskCluster:
    """The scheduler of dask that is in use: that of a `distributed.Client`, or one of
    this process."""

    module: Delayed
    in_memory: bool
    """Whether workers have all chunks of the arguments. Steps are requested early then,
    since none has to be read again."""

    def constant(self, value: Any) -> Pick:
        """A value of the client, part of each task that takes it."""
        return Pick(value)

    def call(
        self, function: str, arguments: Sequence[Any], results: int, place: int | None
    ) -> list[Pick]:
        """One task."""
        return self._task(run, function, (), arguments, results)

    def combine(
        self, function: str, shared: Sequence[Pick], rows: GroupedRows
    ) -> list[Pick]:
        """One task."""
        arguments = [*shared, *itertools.chain.from_iterable(rows)]
        more = len(shared), len(rows)
        return self._task(run_combination, function, more, arguments, len(rows[0]))

    def _task(
        self,
        what: Callable[..., Any],
        function: str,
        more: tuple[int, ...],
        arguments: Sequence[Pick],
        results: int,
    ) -> list[Pick]:
        picks = tuple(argument.number for argument in arguments)
        tasks = [argument.task for argument in arguments]
        key = f"{function}-{uuid.uuid4().hex}"
        task = delayed(what, pure=False, traverse=False)(
            self.module, function, *more, picks, *tasks, dask_key_name=key
        )
        return [Pick(task, number) for number in range(results)] or [Pick(task)]

    def keep(self, references: Sequence[Pick]) -> list[Pick]:
        """Computed by the cluster, which is waited for, and kept there. Where workers
        have the chunks, only what these values are made of is waited for: the client
        is one step ahead of the workers."""
        tasks = {id(r.task): r.task for r in references if isinstance(r.task, Delayed)}
        kept = dict(zip(tasks, dask.persist(*tasks.values()), strict=True))
        waited = tasks if self.in_memory else kept
        if futures := _futures_of(*waited.values()):
            sys.modules["distributed"].wait(futures)
        return [Pick(kept.get(id(r.task), r.task), r.number) for r in references]

    def value(self, reference: Pick) -> Any:
        """The value, here."""
        (found,) = dask.compute(reference.task)
        return found if reference.number is None else found[reference.number]


@dataclass(frozen=True, slots=True, repr=False)
class Distributed(OverChunks):
    """Call it like the entry point: arguments that have the size may be arrays of dask.
    Results that have it are; others are NumPy's."""

    @errors.ending_here
    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """Run the plan.

        Raises `ArgumentError` for wrong arguments, `ProgramError` where the program
        fails on a chunk.
        """
        plan = self.plan
        arguments = tuple(map(_unlabelled, arguments))
        named = {name: _unlabelled(value) for name, value in named.items()}
        given = arguments_of(plan, self.entry, arguments, named)
        bounds = self._bounds(given)
        (module,) = dask.persist(delayed(plan.module, traverse=False))
        cluster = DaskCluster(module, all(map(is_in_memory, given.cut.values())))
        inputs: dict[str, Any] = {
            **{size: Pick(number) for size, number in given.sizes.items()},
            **{name: _whole(*pair) for name, pair in given.whole.items()},
        }
        for name, value in given.cut.items():
            parts = _parts(value, plan.axes[name], bounds)
            inputs[name] = Chunked(tuple(map(Pick, parts)))
        return self._results(execute(plan, cluster, inputs, bounds))

    def _bounds(self, given: Arguments) -> list[int]:
        """Where chunks begin: as in the first argument of dask, or by bytes."""
        for name, value in given.cut.items():
            if isinstance(value, da.Array):
                chunks = value.chunks[self.plan.axes[name]]
                return [0, *np.cumsum(chunks, dtype=int).tolist()]
        return given.bounds(self.chunk_bytes)

    def _results(self, values: dict[str, Any]) -> Any:
        """All results, computed; those in chunks stay where they were made."""
        flat: list[Pick] = []
        for value in values.values():
            flat += value.parts if isinstance(value, Chunked) else (value,)
        tasks = {id(p.task): p.task for p in flat if isinstance(p.task, Delayed)}
        kept = dict(zip(tasks, dask.persist(*tasks.values()), strict=True))
        leaves: list[Any] = []
        for name in self.plan.results:
            value = values[name]
            if isinstance(value, Chunked):
                parts = [_picked(kept, part) for part in value.parts]
                leaves.append(_joined(parts, self.plan.axes[name]))
            else:
                (found,) = dask.compute(_picked(kept, value))
                leaves.append(found)
        return self.closed(leaves)


def _futures_of(*collections: Any) -> list[Any]:
    """What has been requested of a cluster, of all that these are made of."""
    distributed = sys.modules.get("distributed")
    return distributed.futures_of(collections) if distributed else []


def is_in_memory(array: Any) -> bool:
    """Whether workers have all chunks of an argument."""
    return isinstance(array, da.Array) and len(array.dask) == len(_futures_of(array))


def _picked(kept: dict[int, Any], pick: Pick) -> Any:
    task = kept.get(id(pick.task), pick.task)
    return task if pick.number is None else task[pick.number]


def _joined(parts: Sequence[Any], axis: int) -> da.Array:
    """An array of dask from its chunks, whose sizes are computed."""
    shapes = dask.compute(*(delayed(_described)(part) for part in parts))
    arrays = [
        da.from_delayed(part, shape, dtype)
        for part, (shape, dtype) in zip(parts, shapes, strict=True)
    ]
    joined: da.Array = da.concatenate(arrays, axis=axis)
    return joined


def _described(array: Any) -> tuple[tuple[int, ...], Any]:
    return array.shape, array.dtype


def _unlabelled(value: Any) -> Any:
    """The array of dask that an array of xarray may consist of."""
    data = getattr(value, "data", None)
    return data if isinstance(data, da.Array) else value


def _parts(value: Any, axis: int, bounds: Sequence[int]) -> list[Any]:
    """The chunks of an argument, as tasks."""
    sizes = tuple(np.diff(bounds).tolist())
    chunks = tuple(
        sizes if dimension == axis else -1 for dimension in range(np.ndim(value))
    )
    if isinstance(value, da.Array):
        array = value.rechunk(chunks)
    else:
        if isinstance(value, np.ndarray):  # dask sends a mapped file whole
            value = np.asarray(value)
        array = da.from_array(value, chunks=chunks)
    return list(array.to_delayed().ravel())


def _whole(value: Any, type_: ValueType) -> Pick:
    """An argument that every chunk needs."""
    if isinstance(value, da.Array):
        return Pick(value.rechunk(-1).to_delayed().item())
    array = as_numpy(value, type_)
    return Pick(delayed(array) if array.nbytes > SMALL else array)


def distribute(
    entry: program.EntryPoint, *, over: str, chunk_bytes: int = CHUNK_BYTES
) -> Distributed:
    """The entry point with one of its sizes split over a cluster of dask.

        step = minifut.dask.distribute(prog.step, over="n")
        print(step.plan)
        sums, counts = step(points, centres)       # points: an array of dask

    It is planned from the maps, reductions, scans, histograms and filters of the
    program, whose operators combine the results of chunks in one fixed tree: the
    results have the same bits for any number of workers. `chunk_bytes` bounds chunks
    of arguments that are not arrays of dask.

    Raises `CompileError` with the place of what cannot be distributed, `UsageError` for
    an unknown size.
    """
    return Distributed(plan_of(entry, over), entry, chunk_bytes)
