"""Runs of a program under different settings: counted, in rounds, none of them twice.

    trials = Trials(runs=5, budget=12 * thresholds * len(subjects))
    trials.sample(subject, settings).comparisons
    trials.race(subject, [settings, others])       # the time of each
    trials.times(subject, [settings, others])      # the same, from a race before

Before it counts, a path through the program is run once under observation; this also
compiles its kernels. Settings that start the same kernels are one candidate. Those of a
race run in rounds, each of several runs if they are brief, of which the fastest counts;
one that takes 3 times the best is given up. Turns are compared one by one (`ratios`),
and only times of one race with one another."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from minifut.benchmarking.measure import WARM_UP, Candidate, RunPlan, measure_together
from minifut.benchmarking.ratios import Ratio, comparable_seconds
from minifut.parameters.decisions import Settings
from minifut.parameters.execution_paths import ExecutionPath, execution_path
from minifut.testing.time_limit import TimeLimit, time_limit
from minifut.tuning.cuts import MeasuredTime
from minifut.tuning.subject import Sample, Subject

ABANDON = 3.0
"""times the best run"""

REPEATS = 2
"""runs in a round, if they are brief"""

SHORTEST_RUN = 0.25
"""seconds; cutting off a run that is over before gains nothing"""

CERTAIN = 2.0
"""standard errors that a difference must exceed to count"""

TrialKey = tuple[tuple[int, ...], frozenset[tuple[str, int]]]
"""kernels that were started, and what they were built with"""


@dataclass(slots=True)
class DataSetRecord:
    """The observations and times of a data set."""

    seen: dict[str, set[int]] = field(default_factory=dict)
    """amounts that were compared with each threshold"""
    samples: list[tuple[Settings, Sample]] = field(default_factory=list)
    paths: dict[ExecutionPath, Sample] = field(default_factory=dict)
    refused: dict[ExecutionPath, Sample] = field(default_factory=dict)
    """what failed and might not have failed if all kernels had been allowed"""
    races: list[dict[TrialKey, MeasuredTime]] = field(default_factory=list)
    """times of each race, the latest one last"""
    best: float = math.inf


@dataclass(slots=True)
class Trials:
    """`runs` of each candidate in a race; about `budget` runs at most altogether;
    `timeout` seconds for the first run with a data set."""

    runs: int = 5
    budget: float = math.inf
    timeout: float = 60.0
    done: int = 0
    started: float = field(default_factory=time.perf_counter)
    notify: Callable[[], None] | None = None
    """called after each run"""
    known: dict[int, DataSetRecord] = field(default_factory=dict)

    @property
    def left(self) -> float:
        """Runs that the budget leaves."""
        return max(0, self.budget - self.done)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self.started

    def of(self, subject: Subject) -> DataSetRecord:
        """What is known of it."""
        return self.known.setdefault(id(subject), DataSetRecord())

    def is_sampled(self, subject: Subject, settings: Settings) -> bool:
        """Whether a sample would cost no run."""
        known = self.of(subject)
        return execution_path(subject.decisions, known.seen, settings) in known.paths

    def sample(
        self,
        subject: Subject,
        settings: Settings,
        allowed: Collection[int] | None = None,
    ) -> Sample:
        """What is observed on the path of these settings; a failure, as soon as a
        kernel is launched that is not `allowed`."""
        known = self.of(subject)
        path = execution_path(subject.decisions, known.seen, settings)
        if path in known.paths:
            return known.paths[path]
        if allowed is not None and path in known.refused:
            return known.refused[path]
        limit = self.timeout
        if known.samples and math.isfinite(known.best):
            limit = max(WARM_UP, ABANDON * known.best)
        self._count()
        try:
            with time_limit(limit):
                sample = subject.sample(settings, allowed)
        except TimeLimit:
            sample = Sample(failure=f"took more than {limit:g} s")
        if sample.failure is not None and allowed is not None:
            known.refused[path] = sample
            return sample
        known.samples.append((dict(settings), sample))
        before = sum(map(len, known.seen.values()))
        for name, amount in sample.comparisons:
            known.seen.setdefault(name, set()).add(amount)
        if sum(map(len, known.seen.values())) == before:
            known.paths[path] = sample
            return sample
        known.paths = {
            execution_path(subject.decisions, known.seen, given): seen
            for given, seen in reversed(known.samples)
        }
        return sample

    def race(
        self,
        subject: Subject,
        several: Sequence[Settings],
        runs: int | None = None,
        most: float = math.inf,
    ) -> list[MeasuredTime]:
        """The time of each; those that start the same kernels are one candidate. What
        fails takes forever; of what was given up the time is known that it exceeds.
        From `most` runs on there are no further rounds."""
        known = self.of(subject)
        keys = self.keys(subject, several)
        candidates = {
            key: Candidate(self._runner(subject, settings))
            for key, settings in reversed(list(zip(keys, several, strict=True)))
            if key is not None
        }
        if len(candidates) == 1:
            return [MeasuredTime(1.0 if key else math.inf) for key in keys]
        measure_together(
            list(candidates.values()),
            RunPlan(runs=runs or self.runs, seconds=0, converge=False),
            slow=ABANDON,
            abandon=ABANDON,
            at_least=SHORTEST_RUN,
            warm=True,
            repeats=REPEATS,
            most=most,
        )
        times = comparable_seconds(list(candidates.values()))
        found = {
            key: timing(candidate, time)
            for (key, candidate), time in zip(candidates.items(), times, strict=True)
        }
        known.races.append(found)
        known.best = min([known.best, *(c.best for c in candidates.values())])
        return [found[key] if key else MeasuredTime(math.inf) for key in keys]

    def times(
        self, subject: Subject, several: Sequence[Settings], runs: int
    ) -> list[MeasuredTime]:
        """The same, without a run if all took part in one race before, else in so many
        runs of each."""
        found = self.known_times(subject, several)
        if found is not None:
            return found
        return self.race(subject, several, runs, runs * len(several))

    def known_times(
        self, subject: Subject, several: Sequence[Settings]
    ) -> list[MeasuredTime] | None:
        """Those of the latest race in which all took part; None if there is none."""
        keys = self.keys(subject, several)
        if len({key for key in keys if key is not None}) <= 1:
            return [MeasuredTime(1.0 if key else math.inf) for key in keys]
        for times in reversed(self.of(subject).races):
            if all(key is None or key in times for key in keys):
                return [times[key] if key else MeasuredTime(math.inf) for key in keys]
        return None

    def latest(self, subject: Subject, key: TrialKey) -> MeasuredTime | None:
        """The time in the latest race that had such a candidate."""
        for times in reversed(self.of(subject).races):
            if key in times:
                return times[key]
        return None

    def keys(
        self, subject: Subject, several: Sequence[Settings]
    ) -> list[TrialKey | None]:
        """What identifies the paths of these settings; None for those that fail."""
        samples = [self.sample(subject, settings) for settings in several]
        return [
            None if sample.failure else key_of(sample, settings)
            for sample, settings in zip(samples, several, strict=True)
        ]

    def alone(self, subject: Subject, settings: Settings, runs: int) -> MeasuredTime:
        """The time of these settings, with nothing to compare them with."""
        sample = self.sample(subject, settings)
        if sample.failure is not None:
            return MeasuredTime(math.inf)
        candidate = Candidate(self._runner(subject, settings))
        plan = RunPlan(runs=runs, seconds=0, converge=False)
        measure_together([candidate], plan, warm=True)
        (time,) = comparable_seconds([candidate])
        found = timing(candidate, time)
        self.of(subject).races.append({key_of(sample, settings): found})
        return found

    def _runner(self, subject: Subject, settings: Settings) -> Callable[[], float]:
        def run() -> float:
            self._count()
            return subject.run(settings)

        return run

    def _count(self) -> None:
        self.done += 1
        if self.notify is not None:
            self.notify()


def key_of(sample: Sample, settings: Settings) -> TrialKey:
    """What identifies paths that were observed."""
    used = ((name, settings[name]) for name in sample.uses if name in settings)
    return sample.launches, frozenset(used)


def timing(candidate: Candidate, time: Ratio) -> MeasuredTime:
    """The result of a race for one candidate, from its time as the race compares it."""
    if candidate.failure is not None:
        return MeasuredTime(math.inf)
    if math.isinf(time.value):
        return MeasuredTime(candidate.abandoned or math.inf)
    return MeasuredTime(time.value, CERTAIN * time.error)
