"""Tune the thresholds of a program for its data sets.

For each threshold, those further down in the tree of choices before the ones that lead
there: force the ancestors, so that every data set comes across it; see in one run what
it is compared with; find the best cut of each data set; take the value with which all
of them together lose least. Thresholds tuned before have their new values then, those
still to come their defaults.

In the end thresholds settle: where the values of others by now lead a data set past a
threshold, it has no more say about its value. That takes no runs.

The number of runs is bounded by the budget of the trials: what is left of it is shared
by the pairs of threshold and data set to come, and the fewer runs there are for a pair,
the fewer cuts are told apart and the fewer times each is run.

Source: "Dataset sensitive autotuning of multi-versioned code" (TFP 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from minifut.tuning.choices import Settings, occurrences
from minifut.tuning.cuts import Cuts, Finding, Timing, combine, cuts_of, search
from minifut.tuning.subject import Subject
from minifut.tuning.trials import Trials
from minifut.tuning.ways import way_of

PER_PAIR = 12
"""runs for a threshold and a data set at most, on average"""

SETTLING = 3
"""rounds at most"""

MOST_AMOUNTS = (7, 3, 1)
"""that are told apart, as far as runs suffice"""


@dataclass(frozen=True, slots=True)
class Task:
    """A threshold and the data sets that it matters to, each with the settings that
    lead there (several, if there are several places)."""

    name: str
    places: tuple[tuple[Subject, tuple[Settings, ...]], ...]


Step = Callable[[str, Subject], None]
"""called before a threshold is tuned for a data set"""


@dataclass(slots=True)
class ThresholdSearch:
    """`values` holds all parameters, and the best ones known at any time; `reserve` are
    runs not to be touched."""

    trials: Trials
    values: dict[str, int]
    reserve: int = 0
    step: Step | None = None
    found: dict[str, list[tuple[Subject, Finding]]] = field(default_factory=dict)
    """what data sets said"""

    def run(self, tasks: Sequence[Task]) -> None:
        """Tune them in this order."""
        pairs = sum(len(task.places) for task in tasks)
        defaults = dict(self.values)
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
        for _ in range(SETTLING):
            before = dict(self.values)
            for task in tasks:
                findings = self.found[task.name]
                heard = [f for f in findings if self._reaches(f[0], task.name)]
                self._decide(task.name, heard, defaults)
            if self.values == before:
                return

    def _decide(
        self,
        name: str,
        findings: Sequence[tuple[Subject, Finding]],
        defaults: Settings,
    ) -> None:
        if findings:
            said = [finding for _, finding in findings]
            self.values[name] = combine(said, defaults[name])

    def _reaches(self, subject: Subject, name: str) -> bool:
        """Whether the data set's way depends on the threshold with the present values
        (that it was compared is not enough: comparisons may stand before choices)."""
        seen = self.trials.of(subject).seen
        way = way_of(subject.choices, seen, self.values)
        return any(name == decided for decided, _, _ in way)

    def finding(
        self, name: str, subject: Subject, contexts: Sequence[Settings], share: float
    ) -> Finding | None:
        """What the data set says, with so many runs; None: nothing."""
        for ancestors in contexts:
            base = {**self.values, **ancestors}
            if share < 1 and not self.trials.is_sampled(subject, base):
                return None
            before = self.trials.done
            sample = self.trials.sample(subject, base)
            amounts = [a for compared, a in sample.comparisons if compared == name]
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
        cuts, runs = affordable(amounts, share, self.trials.runs)
        if runs == 0:
            return None
        default = self.values[name]
        home = cuts.of(default)

        def compare(wanted: Sequence[int]) -> Mapping[int, Timing]:
            several = [
                {**base, name: default if cut == home else cuts.value(cut)}
                for cut in wanted
            ]
            times = self.trials.race(subject, several, runs)
            return dict(zip(wanted, times, strict=True))

        return Finding(cuts, search(cuts, default, compare))


def affordable(
    amounts: Sequence[int], share: float, most_runs: int
) -> tuple[Cuts, int]:
    """As many cuts as so many runs can tell apart, and how often to run each."""
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


def _contexts(subject: Subject) -> Iterator[tuple[str, tuple[Settings, ...]]]:
    found: dict[str, list[Settings]] = {}
    for place in occurrences(subject.choices):
        if place.parameter.kind == "threshold":
            contexts = found.setdefault(place.parameter.name, [])
            if place.ancestors not in contexts:
                contexts.append(place.ancestors)
    for name, contexts in found.items():
        yield name, tuple(contexts)
