"""Autotuning: the settings with which a program runs best on its data sets.

    tuner = Autotuner(subjects, tunables, values)
    tuner.run()                        # may be interrupted at any time
    tuner.values                       # the best known: write these
    tuner.rows()                       # before and after, for each data set

First, if requested, tiles and other sizes are searched (`structure`), then thresholds
(`thresholds`). In the end runs of defaults and new values are interleaved on each data
set, unless they did already. What has changed is judged once more, one by one and in
races of its own, as long as the budget allows: a parameter without which the data sets
that it concerns are as fast goes back to its default."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from minifut.parameters.decisions import Settings
from minifut.parameters.tuning import Tunable
from minifut.tuning.cuts import INFINITE_LOSS, SIGNIFICANT, MeasuredTime
from minifut.tuning.structure import StructureSearch
from minifut.tuning.subject import Subject
from minifut.tuning.thresholds import PER_PAIR, ThresholdSearch, tasks_of
from minifut.tuning.trials import Trials

FINAL_RUNS = 5
"""of each candidate of the final comparison, if the budget leaves so many"""

CONFIRMING = 11
"""rounds in which a value that is no default must gain, if the budget leaves so many"""

Notify = Callable[[str, float], None]
"""called with what is being done and the part of all work that is done"""


@dataclass(frozen=True, slots=True)
class Gain:
    """A data set before and after tuning; `same`: nothing changes for it."""

    name: str
    before: MeasuredTime
    after: MeasuredTime
    same: bool
    failure: str | None = None

    @property
    def gain(self) -> float:
        """Time before over time after."""
        if self.same or self.failure is not None:
            return 1.0
        if math.isinf(self.before.seconds):
            return 1.0 if math.isinf(self.after.seconds) else 1000.0
        return max(1e-3, self.before.seconds / max(1e-9, self.after.seconds))


@dataclass(frozen=True, slots=True)
class TuningTask:
    """`defaults` are the values of all parameters to begin with, `fixed` the names not
    to be changed, `device` the kind of device whose defaults count."""

    subjects: Sequence[Subject]
    tunables: Mapping[str, Tunable]
    defaults: Mapping[str, int]
    fixed: frozenset[str] = frozenset()
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class Limits:
    """`runs` of each candidate; `points`: how many combinations of sizes are tried (0:
    none); `timeout` of a run in seconds."""

    runs: int = 5
    points: int = 0
    timeout: float = 60.0


@dataclass(slots=True)
class Autotuner:
    """A search, and what it has found so far."""

    task: TuningTask
    limits: Limits = field(default_factory=Limits)
    notify: Notify | None = None
    values: dict[str, int] = field(default_factory=dict)
    trials: Trials = field(default_factory=Trials)
    failures: dict[str, str] = field(default_factory=dict)
    """data sets that cannot be run, and why"""
    rejected: list[str] = field(default_factory=list)
    """parameters whose values gained nothing in the end"""
    known: dict[str, Gain] = field(default_factory=dict)
    threshold_runs: int = 0
    pairs: int = 0

    def run(self) -> None:
        """Search, and keep what gains. An exception leaves the best in `values`."""
        self.values = dict(self.task.defaults)
        self.trials = Trials(self.limits.runs, timeout=self.limits.timeout)
        self.trials.notify = lambda: self._report("")
        fit = [s for s in self.task.subjects if self._is_fit(s)]
        if self.limits.points:
            self._search_structure(fit)
        self._search_thresholds(fit)
        self._compare(fit)

    @property
    def changed(self) -> dict[str, int]:
        """The values that are not the default."""
        return {n: v for n, v in self.values.items() if v != self.task.defaults[n]}

    def to_write(self) -> dict[str, int]:
        """What a tuning file must say: all that is not as it is by default, but for
        what is fixed."""
        return {
            name: value
            for name, value in self.values.items()
            if name not in self.task.fixed
            and value != self.task.tunables[name].defaults.get(self.task.device, 1)
        }

    @property
    def gain(self) -> float:
        """The geometric mean of the data sets' gains."""
        return geometric_mean(row.gain for row in self.known.values())

    def rows(self) -> list[Gain]:
        """What is known of each data set."""
        rows: list[Gain] = []
        for subject in self.task.subjects:
            if subject.name in self.failures:
                failed = MeasuredTime(math.inf)
                why = self.failures[subject.name]
                rows.append(Gain(subject.name, failed, failed, True, why))
            elif subject.name in self.known:
                rows.append(self.known[subject.name])
        return rows

    def _is_fit(self, subject: Subject) -> bool:
        """Whether it can be run at all; the first run with the defaults."""
        self._report(f"first run of {subject.name}")
        sample = self.trials.sample(subject, self.task.defaults)
        if sample.failure is not None:
            self.failures[subject.name] = sample.failure
        return sample.failure is None

    def _search_structure(self, subjects: Sequence[Subject]) -> None:
        search = StructureSearch(
            self.trials,
            self.task.tunables,
            self.values,
            self.task.fixed,
            self.limits.points,
            Random(1),
            self._report,
        )
        search.run(subjects)

    def _search_thresholds(self, subjects: Sequence[Subject]) -> None:
        tasks = tasks_of(subjects, self.task.fixed)
        self.pairs = sum(len(task.places) for task in tasks)
        before = self.trials.done - (0 if self.limits.points else len(subjects))
        # on average, for each threshold and data set: at least for both ways
        self.trials.budget = (
            before + max(PER_PAIR, 2 + 2 * self.limits.runs) * self.pairs
        )
        reserve = 2 * FINAL_RUNS * len(subjects) if len(tasks) > 1 else 0
        step = 0

        def report(name: str, subject: Subject) -> None:
            nonlocal step
            self._report(f"{name} on {subject.name}", step / self.pairs)
            step += 1

        search = ThresholdSearch(self.trials, self.values, reserve, report)
        search.run(tasks)
        self.threshold_runs = self.trials.done - before

    def _compare(self, subjects: Sequence[Subject]) -> None:
        """Take back what gains nothing; before and after for each data set."""
        before = self.trials.done
        for number, name in enumerate(sorted(self.changed)):
            part = 1 - (len(self.changed) - number) / max(1, len(self.changed)) / 100
            self._report(f"comparing without {name}", part)
            if not self._gains(name, subjects):
                self.values[name] = self.task.defaults[name]
                self.rejected.append(name)
        for subject in subjects:
            self._report(f"comparing on {subject.name}", 0.99)
            self.known[subject.name] = self._row(subject)
        self.threshold_runs += self.trials.done - before

    def _gains(self, name: str, subjects: Sequence[Subject]) -> bool:
        """Whether data sets on which the parameter makes a difference gain by it on
        average, by more than chance."""
        several = [{**self.values, name: self.task.defaults[name]}, self.values]
        gains: list[float] = []
        concerned = []
        for subject in subjects:
            old, new = self.trials.keys(subject, several)
            if old != new:
                concerned.append(subject)
        left = self.trials.left - 2 * FINAL_RUNS * len(subjects)
        left /= max(1, len(concerned) * len(self.changed))
        rounds = min(CONFIRMING, int(left) // len(several))
        for subject in concerned:
            if rounds >= FINAL_RUNS:
                most = rounds * len(several)
                before, after = self.trials.race(subject, several, rounds, most)
            else:
                before, after = self._times(subject, several)
            if math.isinf(before.seconds) or math.isinf(after.seconds):
                fails = math.isinf(after.seconds)
                gains.append(-INFINITE_LOSS if fails else INFINITE_LOSS)
                continue
            gain = math.log(max(1e-9, before.seconds) / max(1e-9, after.seconds))
            noise = math.log1p(max(before.noise, after.noise))
            gains.append(0.0 if abs(gain) <= noise else gain)
        return bool(gains) and sum(gains) / len(gains) > math.log1p(SIGNIFICANT / 2)

    def _row(self, subject: Subject) -> Gain:
        several = (self.task.defaults, self.values)
        keys = self.trials.keys(subject, several)
        if keys[0] is not None and keys[0] == keys[1]:
            timing = self.trials.latest(subject, keys[0])
            if timing is None:
                timing = self.trials.alone(subject, self.task.defaults, FINAL_RUNS)
            return Gain(subject.name, timing, timing, True)
        before, after = self._times(subject, several)
        return Gain(subject.name, before, after, False)

    def _times(
        self, subject: Subject, several: Sequence[Settings]
    ) -> list[MeasuredTime]:
        return self.trials.times(subject, several, FINAL_RUNS)

    def _report(self, text: str, part: float = math.nan) -> None:
        if self.notify is not None:
            self.notify(text, part)


def geometric_mean(numbers: Iterable[float]) -> float:
    """1 if there are none."""
    logs = [math.log(number) for number in numbers]
    return math.exp(sum(logs) / len(logs)) if logs else 1.0
