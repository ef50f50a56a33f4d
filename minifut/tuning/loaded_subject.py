"""Data sets of a loaded program as subjects of a search.

Arguments stay on the device between runs, those of the latest data sets up to
`CACHE_BYTES` bytes: a search comes back to each data set many times. The first results
of a data set are what those of other settings are judged by, if the data does not say
what they are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from minifut.backend import Timed
from minifut.benchmarking.datasets import Data
from minifut.benchmarking.loaded import Loaded
from minifut.errors import InternalError, MinifutError
from minifut.parameters.decisions import DecisionPoint, Settings, decisions_of
from minifut.testing.judge import judge_values
from minifut.testing.oracle import unpacked
from minifut.tuning.autotune import Autotuner, Limits, TuningTask
from minifut.tuning.points import is_size
from minifut.tuning.subject import Sample
from minifut.tuning.thresholds import tasks_of

CACHE_BYTES = 2 << 30
MOST_JUDGED = 1 << 28
"""bytes; larger results are not kept to judge others by"""


@dataclass(slots=True)
class CallCache:
    """Calls that are ready to run; of too many the one that was idle longest goes."""

    loaded: Loaded
    capacity: int = CACHE_BYTES
    calls: OrderedDict[str, Timed] = field(default_factory=OrderedDict)

    def call(self, data: Data) -> Timed:
        """The data's call."""
        key = f"{data.entry} {data.name}"
        if key in self.calls:
            self.calls.move_to_end(key)
            return self.calls[key]
        call = self.calls[key] = self.loaded.timed(data)
        total = sum(known.nbytes for known in self.calls.values())
        while total > self.capacity and len(self.calls) > 1:
            _, oldest = self.calls.popitem(last=False)
            total -= oldest.nbytes
        return call


class LoadedSubject:
    """A data set of a loaded program; see `minifut.tuning.subject`."""

    def __init__(self, calls: CallCache, data: Data, name: str) -> None:
        assert calls.loaded.kernels is not None
        self._calls = calls
        self._tuning = calls.loaded.program.tuning
        self._expected: Sequence[Any] | None = None
        self.data = data
        self.name = name
        self.decisions: tuple[DecisionPoint, ...] = decisions_of(
            calls.loaded.kernels, data.entry
        )

    def run(self, settings: Settings) -> float:
        """See `Subject`."""
        self._tuning.update(settings)
        return self._calls.call(self.data)()

    def sample(
        self, settings: Settings, allowed: Collection[int] | None = None
    ) -> Sample:
        """See `Subject`."""
        failure = None
        with self._tuning.watch() as seen:
            try:
                self._tuning.update(settings)
                call = self._calls.call(self.data)
                seen.clear()
                seen.allowed = allowed
                call()
                failure = self._judge(call)
            except InternalError:
                raise
            except (MinifutError, MemoryError) as error:
                failure = str(error) or "out of memory"
            comparisons = tuple(dict.fromkeys(seen.comparisons))
            launches, uses = tuple(seen.launches), frozenset(seen.uses)
        return Sample(comparisons, launches, uses, failure)

    def _judge(self, call: Timed) -> str | None:
        if call.nbytes > MOST_JUDGED:
            return None
        results = unpacked(call.results())
        if self._expected is None:
            self._expected = self.data.expected() or results
        return judge_values(results, list(self._expected))


def subjects_of(loaded: Loaded, wanted: Sequence[Data]) -> list[LoadedSubject]:
    """A subject for each data set, with distinct names."""
    calls = CallCache(loaded)
    several = len({data.entry for data in wanted}) > 1
    return [
        LoadedSubject(
            calls, data, f"{data.entry}: {data.name}" if several else data.name
        )
        for data in wanted
    ]


def tuner_of(
    loaded: Loaded,
    wanted: Sequence[Data],
    fixed: frozenset[str] = frozenset(),
    limits: Limits | None = None,
) -> Autotuner:
    """A tuner for these data sets that begins with the defaults of what it searches
    (thresholds that the data sets may come across, with `limits.points` also sizes),
    and the present values of everything else."""
    tuning = loaded.program.tuning
    subjects = subjects_of(loaded, wanted)
    searched = {task.name for task in tasks_of(subjects, fixed)}
    limits = limits or Limits()
    if limits.points:
        searched |= {n for n, t in tuning.tunables.items() if is_size(t)} - fixed
    start = {
        name: tuning.tunables[name].defaults.get(tuning.device, 1)
        if name in searched
        else value
        for name, value in tuning.items()
    }
    task = TuningTask(subjects, tuning.tunables, start, fixed, tuning.device)
    return Autotuner(task, limits)
