"""Tune the thresholds of a program for its data sets.

For each threshold, those further down in the tree of decisions before the ones that
lead there: force the ancestors, so that every data set reaches it; see in one run
what it is compared with; find the best cut of each data set; take the value with which
all of them together lose least. Thresholds tuned before have their new values then,
those still to come their defaults.

All paths on which a threshold can lead a data set first run in one race, as far as the
budget allows: most of the later comparisons are answered by it, and times of one race
compare whatever the machine's speed did in between.

In the end thresholds are set: where the values of others by now lead a data set past a
threshold, it has no more say about its value. That takes no runs.

The number of runs is bounded by the budget of the trials: what is left of it is shared
by the pairs of threshold and data set to come, and the fewer runs there are for a pair,
the fewer cuts are distinguished and the fewer times each is run.

Source: "Dataset sensitive autotuning of multi-versioned code" (TFP 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from minifut.parameters.decisions import Settings, occurrences
from minifut.parameters.execution_paths import execution_path
from minifut.tuning.cuts import (
    Cuts,
    Finding,
    MeasuredTime,
    combine,
    cuts_of,
    relative,
    search,
    significant,
)
from minifut.tuning.subject import Subject
from minifut.tuning.trials import Trials

PER_PAIR = 12
"""runs for a threshold and a data set at most, on average"""

SETTLING_ROUNDS = 3
"""rounds at most"""

MOST_AMOUNTS = (7, 3, 1)
"""that are distinguished, as far as runs suffice"""

RACE_SHARE = 0.75
"""the part of a data set's runs that may go to the race of its paths"""

RACE_RUNS = 3
"""runs of each path, without which that race says little"""

ComparedPath = tuple[str, Sequence[Settings]]
"""a threshold, and the settings that lead there"""


@dataclass(frozen=True, slots=True)
class Task:
    """A threshold and the data sets that it matters to, each with the settings that
    lead there (several, if there are several places)."""

    name: str
    places: tuple[tuple[Subject, tuple[Settings, ...]], ...]


SearchStep = Callable[[str, Subject], None]
"""called before a threshold is tuned for a data set"""


@dataclass(slots=True)
class ThresholdSearch:
    """`values` holds all parameters, and the best ones known at any time; `reserve` are
    runs not to be touched."""

    trials: Trials
    values: dict[str, int]
    reserve: int = 0
    step: SearchStep | None = None
    found: dict[str, list[tuple[Subject, Finding]]] = field(default_factory=dict)
    """what data sets said"""

    def run(self, tasks: Sequence[Task]) -> None:
        """Tune them in this order."""
        pairs = sum(len(task.places) for task in tasks)
        defaults = dict(self.values)
        each = (self.trials.left - self.reserve) / max(1, pairs)
        for subject, places in by_subject(tasks):
            if self.step is not None:
                self.step("all versions", subject)
            self._race_all(subject, places, RACE_SHARE * each * len(places))
        for task in tasks:
            findings = self.found.setdefault(task.name, [])
            for subject, contexts in task.places:
                if self.step is not None:
                    self.step(task.name, subject)
                share = (self.trials.left - self.reserve) / max(1, pairs)
                found = self.finding(task.name, subject, contexts, share)
                pairs -= 1
                if found is not None:
                    findings.append((subject, found))
            self._decide(task.name, findings, defaults)
        for _ in range(SETTLING_ROUNDS):
            before = dict(self.values)
            for task in tasks:
                findings = self.found[task.name]
                heard = [f for f in findings if self._reaches(f[0], task.name)]
                self._decide(task.name, heard, defaults)
            if self.values == before:
                return

    def _race_all(
        self, subject: Subject, places: Sequence[ComparedPath], share: float
    ) -> None:
        """Race the paths on which the thresholds lead, in so many runs altogether."""
        trials, until = self.trials, self.trials.done + share
        several: list[Settings] = []
        for name, contexts in places:
            for ancestors in contexts:
                base = {**self.values, **ancestors}
                if until - trials.done < 1 and not trials.is_sampled(subject, base):
                    break
                amounts = self._amounts(subject, name, base)
                if amounts:
                    cuts = cuts_of(amounts, MOST_AMOUNTS[0])
                    values = map(cuts.value, range(len(cuts)))
                    wanted = [*several, *({**base, name: value} for value in values)]
                    if self._cost(subject, wanted) <= until - trials.done:
                        several = wanted
                    break
        if self._cost(subject, several) <= until - trials.done:
            paths = len({key for key in trials.keys(subject, several) if key})
            most = int(until - trials.done)
            if paths > 1 and most >= RACE_RUNS * paths:
                trials.race(subject, several, most=most)

    def _cost(self, subject: Subject, several: Sequence[Settings]) -> int:
        """How many runs it takes to say something about all of them."""
        known = [s for s in several if self.trials.is_sampled(subject, s)]
        new = len(several) - len(known)
        return new + RACE_RUNS * (new + len(set(self.trials.keys(subject, known))))

    def _amounts(self, subject: Subject, name: str, base: Settings) -> list[int]:
        sample = self.trials.sample(subject, base)
        return [amount for compared, amount in sample.comparisons if compared == name]

    def _decide(
        self, name: str, findings: Sequence[tuple[Subject, Finding]], defaults: Settings
    ) -> None:
        if findings:
            said = [finding for _, finding in findings]
            self.values[name] = combine(said, defaults[name])

    def _reaches(self, subject: Subject, name: str) -> bool:
        """Whether the data set's path depends on the threshold with the present values
        (that it was compared is not enough: comparisons may occur before decisions)."""
        seen = self.trials.of(subject).seen
        path = execution_path(subject.decisions, seen, self.values)
        return any(name == decided for decided, _, _ in path)

    def finding(
        self, name: str, subject: Subject, contexts: Sequence[Settings], share: float
    ) -> Finding | None:
        """What the data set says, with so many runs; None: nothing."""
        for ancestors in contexts:
            base = {**self.values, **ancestors}
            if share < 1 and not self.trials.is_sampled(subject, base):
                return None
            before = self.trials.done
            amounts = self._amounts(subject, name, base)
            if amounts:
                share -= self.trials.done - before
                return self._search(name, subject, base, amounts, share)
        return None

    def _search(
        self,
        name: str,
        subject: Subject,
        base: Settings,
        amounts: Sequence[int],
        share: float,
    ) -> Finding | None:
        default = self.values[name]

        def settings(cuts: Cuts, wanted: Iterable[int]) -> list[Settings]:
            home = cuts.of(default)
            return [
                {**base, name: default if cut == home else cuts.value(cut)}
                for cut in wanted
            ]

        cuts = cuts_of(amounts, MOST_AMOUNTS[0])
        everything = settings(cuts, range(len(cuts)))
        if all(self.trials.is_sampled(subject, each) for each in everything):
            known = self.trials.known_times(subject, everything)
            if known is not None:
                times = dict(enumerate(known))
                home = cuts.of(default)
                noises = {cut: time.noise for cut, time in times.items()}
                return Finding(cuts, significant(relative(times, home), noises))
        cuts, runs = affordable(amounts, share, self.trials.runs)
        if runs == 0:
            return None

        def compare(wanted: Sequence[int]) -> Mapping[int, MeasuredTime]:
            several = settings(cuts, wanted)
            times = self.trials.times(subject, several, runs)
            return dict(zip(wanted, times, strict=True))

        return Finding(cuts, search(cuts, default, compare))


def affordable(
    amounts: Sequence[int], share: float, most_runs: int
) -> tuple[Cuts, int]:
    """As many cuts as so many runs can distinguish, and how often to run each."""
    for most in MOST_AMOUNTS:
        cuts = cuts_of(amounts, most)
        if len(cuts) == 2:
            new, each = 1, 2
        else:
            # Each step of the binary search halves the cuts, and runs two of them and
            # the default's; all cuts that it may come across are sampled before.
            steps = (len(cuts) - 1).bit_length()
            new, each = min(len(cuts), 2 * steps), 3 * steps
        runs = min(most_runs, int((share - new) // each))
        if runs >= 1 and (runs >= 2 or most == MOST_AMOUNTS[-1]):
            return cuts, runs
    return cuts_of(amounts, 1), 1 if share >= 3 else 0


def tasks_of(subjects: Sequence[Subject], fixed: frozenset[str]) -> list[Task]:
    """The thresholds of all entry points, deepest first, but for the fixed ones."""
    places: dict[str, list[tuple[Subject, tuple[Settings, ...]]]] = {}
    for subject in subjects:
        for name, contexts in _contexts(subject):
            if name not in fixed:
                places.setdefault(name, []).append((subject, contexts))
    return [Task(name, tuple(found)) for name, found in places.items()]


def by_subject(tasks: Sequence[Task]) -> list[tuple[Subject, list[ComparedPath]]]:
    """The same the other way round: each data set with the thresholds it matters to."""
    found: dict[int, tuple[Subject, list[ComparedPath]]] = {}
    for task in tasks:
        for subject, contexts in task.places:
            found.setdefault(id(subject), (subject, []))[1].append(
                (task.name, contexts)
            )
    return list(found.values())


def _contexts(subject: Subject) -> Iterator[tuple[str, tuple[Settings, ...]]]:
    found: dict[str, list[Settings]] = {}
    for place in occurrences(subject.decisions):
        if place.parameter.kind == "threshold":
            contexts = found.setdefault(place.parameter.name, [])
            if place.ancestors not in contexts:
                contexts.append(place.ancestors)
    for name, contexts in found.items():
        yield name, tuple(contexts)
