"""Which way a run goes through its program, seen from outside.

    n * m >= run.parameters[0]        notes ("main.map_reduce.outer", n * m)
    kernels[3](points, ...)           notes 3

Python asks the right operand of a comparison first where its class is derived from the
left one's. So values that listen stand in for the plain ones while somebody watches,
and likewise launchers; generated code does not know, and when nobody watches nothing
is different at all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minifut.errors import UsageError
from minifut.opencl.runtime.describe import Kernel, Parameter

if TYPE_CHECKING:
    from minifut.opencl.runtime.kernels import Launcher

Comparison = tuple[str, int]
"""a threshold's name, and the amount of parallelism that was compared with it"""


@dataclass(slots=True)
class Seen:
    """What runs did, in order; clear it to forget the ones before."""

    comparisons: list[Comparison] = field(default_factory=list)
    launches: list[int] = field(default_factory=list)
    """kernels by number"""
    uses: set[str] = field(default_factory=set)
    """parameters that these kernels are built with, or get sizes computed from"""
    allowed: Collection[int] | None = None
    """a run that is about to start another kernel ends with a `UsageError`"""

    def clear(self) -> None:
        """As if nothing had run yet."""
        self.comparisons.clear()
        self.launches.clear()
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
        self, launcher: Launcher, number: int, uses: Sequence[str], seen: Seen
    ) -> None:
        self._launcher = launcher
        self._number = number
        self._uses = uses
        self._seen = seen

    def __call__(self, *arguments: Any) -> None:
        self._note()
        self._launcher(*arguments)

    def built(self, *values: int) -> WatchedLauncher:
        """The same of another build."""
        launcher = self._launcher.built(*values)
        return WatchedLauncher(launcher, self._number, self._uses, self._seen)

    def sized(self, *arguments: Any) -> None:
        self._note()
        self._launcher.sized(*arguments)

    def _note(self) -> None:
        allowed = self._seen.allowed
        if allowed is not None and self._number not in allowed:
            raise UsageError("the run goes another way")
        self._seen.launches.append(self._number)
        self._seen.uses.update(self._uses)


def watched_values(
    table: Sequence[Parameter], values: Sequence[int], seen: Seen
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
    table: Sequence[Parameter], launchers: Sequence[Launcher], seen: Seen
) -> tuple[WatchedLauncher, ...]:
    """The launchers, each noting its starts and the parameters that shape it."""
    return tuple(
        WatchedLauncher(
            launcher,
            number,
            [table[index].name for index in _shaping(launcher.kernel)],
            seen,
        )
        for number, launcher in enumerate(launchers)
    )


def _shaping(kernel: Kernel) -> tuple[int, ...]:
    """The indices of the parameters that shape a kernel."""
    return (*(index for _, index in kernel.macros), *kernel.shaped)
