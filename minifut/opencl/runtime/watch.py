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
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from minifut.errors import UsageError
from minifut.opencl.runtime.describe import Kernel, Parameter

if TYPE_CHECKING:
    from minifut.opencl.runtime.kernels import Launcher


@dataclass(frozen=True, slots=True)
class Started:
    """A launch: its kernel, its event, its work-items, the bytes of its arrays."""

    kernel: Kernel
    event: Any
    points: int
    nbytes: int


Comparison = tuple[str, int]
"""a threshold's name, and the amount of parallelism that was compared with it"""


@dataclass(slots=True)
class Observation:
    """What runs did, in order; clear it to forget the ones before."""

    comparisons: list[Comparison] = field(default_factory=list)
    launches: list[int] = field(default_factory=list)
    """kernels by number"""
    kernels: list[tuple[str, Mapping[str, int]]] = field(default_factory=list)
    """those that have work to do, by name, each with the parameters that it is built
    with, or gets sizes computed from"""
    uses: set[str] = field(default_factory=set)
    """these parameters, of all kernels"""
    allowed: Collection[int] | None = None
    """a run that is about to start another kernel ends with a `UsageError`"""
    started: list[Started] | None = None
    """launches with their events, for a profile; None: not wanted"""

    def clear(self) -> None:
        """As if nothing had run yet."""
        self.comparisons.clear()
        self.launches.clear()
        self.kernels.clear()
        self.uses.clear()


class WatchedThreshold(int):
    """A threshold that notes what is compared with it; otherwise a number."""

    name: str
    comparisons: list[Comparison]

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
        cl = launcher.session.cl
        self._buffers = (cl.Buffer, cl.SVM)

    def __call__(self, points: int | tuple[int, ...], *arguments: Any) -> None:
        self._note(points)
        before = self._launcher.latest
        self._launcher(points, *arguments)
        self._note_event(before, points, arguments)

    def of(self, work: int) -> WatchedLauncher:
        """The same for so much work."""
        launcher = self._launcher.of(work)
        return WatchedLauncher(
            launcher, self._number, self._shape, self._chosen, self._seen
        )

    def built(self, *values: int) -> WatchedLauncher:
        """The same of another build."""
        launcher = self._launcher.built(*values)
        shape = {**self._shape, **dict(zip(self._chosen, values, strict=True))}
        return WatchedLauncher(launcher, self._number, shape, self._chosen, self._seen)

    def sized(self, points: int, group: int, *arguments: Any) -> None:
        self._note(points)
        before = self._launcher.latest
        self._launcher.sized(points, group, *arguments)
        self._note_event(before, points, arguments)

    def _note_event(
        self, before: Any, points: int | tuple[int, ...], arguments: tuple[Any, ...]
    ) -> None:
        started, event = self._seen.started, self._launcher.latest
        if started is None or event is before:
            return
        nbytes = sum(x.size for x in arguments if isinstance(x, self._buffers))
        items = prod(points) if isinstance(points, tuple) else points
        started.append(Started(self._launcher.kernel, event, items, nbytes))

    def _note(self, points: int | tuple[int, ...]) -> None:
        allowed = self._seen.allowed
        if allowed is not None and self._number not in allowed:
            raise UsageError("the run goes another way")
        self._seen.launches.append(self._number)
        if min(points if isinstance(points, tuple) else (points,)) > 0:
            self._seen.kernels.append((self._launcher.kernel.name, self._shape))
        self._seen.uses.update(self._shape)


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
