"""Observation of the execution path of a run.

    n * m >= run.parameters[0]        notes ("main.map_reduce.outer", n * m)
    kernels[3](points, ...)           notes 3

Python calls the reflected comparison of the right operand first if its class is derived
from the left one's. So recording values replace the plain ones during an observation,
and likewise launchers; generated code is the same, and without an observation nothing
is different at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any

from minifut.errors import UsageError
from minifut.immutables import immutable, mutable
from minifut.opencl.runtime.describe import Kernel, Parameter

if TYPE_CHECKING:
    from minifut.opencl.runtime.kernels import Launcher
    from minifut.opencl.runtime.run import Run


@immutable
class Started:
    """A launch: its kernel, its event, its work-items, the bytes of its arrays, whether
    it was done when it was enqueued, and then the time, less what reads took."""

    kernel: Kernel
    event: Any
    points: int
    nbytes: int
    is_done: bool
    clock: float


Points = int | tuple[int, ...]

Noted = tuple[Any, Any, Points, tuple[Any, ...], float]
"""of a launch: launcher, event, work-items, arguments, and the clock as in `Started`"""


def started_by(noted: Sequence[Noted]) -> list[Started]:
    """What was noted in the short time between launches."""
    if not noted:
        return []
    cl = noted[0][0].session.cl
    buffers, sizes, found = (cl.Buffer, cl.SVM), dict[int, int](), []
    for launcher, event, points, arguments, clock in noted:
        nbytes = 0
        for argument in arguments:
            if isinstance(argument, buffers):
                if id(argument) not in sizes:  # `noted` keeps it
                    sizes[id(argument)] = argument.size
                nbytes += sizes[id(argument)]
        items = prod(points) if isinstance(points, tuple) else points
        is_done, kernel = launcher.is_synchronous, launcher.kernel
        found.append(Started(kernel, event, items, nbytes, is_done, clock))
    return found


ThresholdComparison = tuple[str, int]
"""a threshold's name, and the amount of parallelism that was compared with it"""


@mutable
class Observation:
    """What runs did, in order; clear it to forget the ones before."""

    comparisons: list[ThresholdComparison] = field(default_factory=list)
    launches: list[int] = field(default_factory=list)
    """kernels by number"""
    kernels: list[tuple[str, Mapping[str, int]]] = field(default_factory=list)
    """those that have work to do, by name, each with the parameters that it is built
    with, or gets sizes computed from"""
    uses: set[str] = field(default_factory=set)
    """these parameters, of all kernels"""
    allowed: Collection[int] | None = None
    """a run that is about to start another kernel ends with a `UsageError`"""
    started: list[Noted] | None = None
    """launches with their events, for a profile, and nothing else of them; None: not
    wanted"""
    reading: float = 0.0
    """seconds in which the host read scalars, and waited for them"""

    def clear(self) -> None:
        """As if nothing had run yet."""
        self.comparisons.clear()
        self.launches.clear()
        self.kernels.clear()
        self.uses.clear()


class WatchedThreshold(int):
    """A threshold that notes what is compared with it; otherwise a number."""

    name: str
    comparisons: list[ThresholdComparison]

    def __le__(self, other: Any) -> bool:
        self.comparisons.append((self.name, int(other)))
        return int(self) <= int(other)


class WatchedLauncher:
    """A launcher that notes that its kernel is started."""

    def __init__(
        self,
        launcher: Launcher,
        number: int,
        shape: Mapping[str, int],
        chosen: Sequence[str],
        seen: Observation,
    ) -> None:
        self._launcher = launcher
        self._number = number
        self._shape = shape
        self._seen = seen
        self._chosen = chosen
        self._others: dict[Launcher, WatchedLauncher] = {}

    def __call__(self, points: Points, *arguments: Any) -> None:
        self._start(self._launcher, points, arguments)

    def of(self, work: int) -> WatchedLauncher:
        """The same for so much work."""
        launcher = self._launcher
        chosen = launcher if launcher.of(work) is launcher else launcher.small
        assert chosen is not None
        return self._watched(chosen, self._shape)

    def of_group(self, group: int) -> WatchedLauncher:
        """The same with groups of that size."""
        return self._watched(self._launcher.of_group(group), self._shape)

    def built(self, *values: int) -> WatchedLauncher:
        """The same of another build."""
        launcher = self._launcher.built(*values)
        shape = {**self._shape, **dict(zip(self._chosen, values, strict=True))}
        return self._watched(launcher, shape)

    def _watched(self, launcher: Launcher, shape: Mapping[str, int]) -> WatchedLauncher:
        if launcher is self._launcher:
            return self
        found = self._others.get(launcher)
        if found is None:
            found = self._others[launcher] = WatchedLauncher(
                launcher, self._number, shape, self._chosen, self._seen
            )
        return found

    def _start(
        self, launcher: Launcher, points: Points, arguments: tuple[Any, ...]
    ) -> None:
        seen = self._seen
        if seen.started is None:
            self._note(points)
        launcher(points, *arguments)
        if seen.started is not None and _least(points) > 0:
            clock = perf_counter() - seen.reading
            seen.started.append((launcher, launcher.latest, points, arguments, clock))

    def _note(self, points: Points) -> None:
        allowed = self._seen.allowed
        if allowed is not None and self._number not in allowed:
            raise UsageError("the run goes another way")
        self._seen.launches.append(self._number)
        if _least(points) > 0:
            self._seen.kernels.append((self._launcher.kernel.name, self._shape))
        self._seen.uses.update(self._shape)


def _least(points: Points) -> int:
    return min(points) if isinstance(points, tuple) else points


def watch_reads(run: Run, seen: Observation | None) -> None:
    """From now on note how long reads of scalars take (None: no longer)."""
    vars(run).pop("read", None)
    if seen is None:
        return
    plain = run.read

    def read(*given: Any) -> Any:
        begin = perf_counter()
        value = plain(*given)
        seen.reading += perf_counter() - begin
        return value

    vars(run)["read"] = read


def watched_values(
    table: Sequence[Parameter], values: Sequence[int], seen: Observation
) -> list[int]:
    """The values, of which the thresholds note their comparisons."""
    found: list[int] = []
    for parameter, value in zip(table, values, strict=True):
        if parameter.kind == "threshold":
            value = WatchedThreshold(value)
            value.name, value.comparisons = parameter.name, seen.comparisons
        found.append(value)
    return found


def watched_launchers(
    table: Sequence[Parameter],
    values: Sequence[int],
    launchers: Sequence[Launcher],
    seen: Observation,
) -> tuple[WatchedLauncher, ...]:
    """The launchers, each noting its starts and the parameters that shape it."""
    watched = []
    for number, launcher in enumerate(launchers):
        macros = dict(launcher.kernel.macros)
        chosen = [table[macros[name]].name for name in launcher.kernel.per_launch]
        indices = (*macros.values(), *launcher.kernel.shaped)
        shape = {table[index].name: values[index] for index in indices}
        watched.append(WatchedLauncher(launcher, number, shape, chosen, seen))
    return tuple(watched)
