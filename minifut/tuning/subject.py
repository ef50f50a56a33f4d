"""The interface of a data set for a tuner: it can be run under any settings.

    sample = subject.sample(settings)     # a run that is observed and judged
    seconds = subject.run(settings)       # one that only counts

`minifut.tuning.loaded_subject` has those of a loaded program; searches are tested on
simulated ones.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from minifut.parameters.decisions import DecisionPoint, Settings


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen in a run: amounts that were compared with thresholds, the kernels
    that were started and the parameters that they are built with. `failure` says why
    the run gave no or wrong results."""

    comparisons: Collection[tuple[str, int]] = ()
    launches: tuple[int, ...] = ()
    uses: frozenset[str] = frozenset()
    failure: str | None = None


class Subject(Protocol):
    """A data set of an entry point."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def decisions(self) -> tuple[DecisionPoint, ...]:
        """Those of its entry point."""

    def run(self, settings: Settings) -> float:
        """One run; its seconds. Raises what the program raises."""

    def sample(
        self, settings: Settings, allowed: Collection[int] | None = None
    ) -> Sample:
        """One run that is observed, and its results judged; it fails before it starts a
        kernel that is not `allowed`. Raises `TimeLimit` only."""
