"""Search structure and sizes together: which version, with tiles of what size.

A structure is a version, forced by the thresholds that lead to it; a point is a
structure with numbers for the parameters that shape the kernels it starts, which is
seen when it runs. All points compete in rounds of successive halving, first random ones
around the defaults, then neighbours of each structure's best, until none is better or
`points` have been tried. What the device refuses, what no longer fits and goes another
way, and what gives wrong results, is no point.

The cost of a point is its time over that of the defaults, on a few data sets. In the
end each structure's best runs against the default sizes; sizes leave their defaults
only for a significant gain, and where structures share some, the better structure's
count. Which structure runs on which data is then a matter of thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from minifut.parameters.decisions import Settings, occurrences, values_of
from minifut.parameters.tuning import Tunable
from minifut.tuning.cuts import INFINITE_LOSS, SIGNIFICANT, MeasuredTime
from minifut.tuning.halving import halving
from minifut.tuning.points import is_size, ladder, neighbours, random_points
from minifut.tuning.subject import Subject
from minifut.tuning.trials import Trials, key_of

MOST_SUBJECTS = 3
"""data sets on which a point is measured"""
MOST_STRUCTURES = 12
MUCH = math.log(1.1)
"""what is surely no chance, be it measured only once"""
HOPELESS = math.log(3)
"""cost beyond that of the best, from which on a structure is not refined"""


@dataclass(frozen=True, slots=True, eq=False)
class VersionForm:
    """A version by what forces it, the parameters that shape it, and on each of its
    data sets the kernels that it starts."""

    settings: Settings
    sizes: tuple[str, ...]
    places: Mapping[Subject, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Point:
    """A structure with sizes."""

    structure: VersionForm
    sizes: tuple[tuple[str, int], ...]

    @property
    def settings(self) -> dict[str, int]:
        """What forces it."""
        return {**self.structure.settings, **dict(self.sizes)}


@dataclass(slots=True)
class StructureSearch:
    """`values` are changed to the best sizes; `points` bounds how many are tried."""

    trials: Trials
    tunables: Mapping[str, Tunable]
    values: dict[str, int]
    fixed: frozenset[str]
    points: int
    random: Random
    report: Callable[[str, float], None]
    tried: set[Point] = field(default_factory=set)
    start: dict[str, int] = field(default_factory=dict)
    """the values at the beginning"""
    known: dict[Point, float] = field(default_factory=dict)
    """the latest cost of each point"""

    def run(self, subjects: Sequence[Subject]) -> None:
        """Search, and take the sizes that gain; what is not confirmed yet when an
        exception ends it must gain more."""
        self.start = dict(self.values)
        try:
            self._search(subjects)
        except BaseException:
            self._keep_best(subjects)
            raise

    def _search(self, subjects: Sequence[Subject]) -> None:
        structures = self._promising(self.structures(subjects))
        best: dict[VersionForm, tuple[Point, float]] = {}
        points = self._first(structures)
        while points:
            self.tried.update(points)
            better = []
            for point, cost in halving(points, self.costs, lambda p: p.structure):
                known = best.get(point.structure)
                if known is not None and known[0] == point:
                    best[point.structure] = (point, cost)
                elif known is None or cost < known[1] - SIGNIFICANT:
                    best[point.structure] = (point, cost)
                    better.append(point)
            points = self._around(better, best)
        for point, _ in sorted(best.values(), key=lambda found: found[1]):
            self.adopt(point)

    def _promising(self, structures: Sequence[VersionForm]) -> list[VersionForm]:
        """Without those that are far slower than others with their default sizes."""
        points = [_point(structure, self.start) for structure in structures]
        costs = self.costs(points, 1)
        most = min(costs, default=0.0) + HOPELESS
        return [s for s, c in zip(structures, costs, strict=True) if c <= most]

    def structures(self, subjects: Sequence[Subject]) -> list[VersionForm]:
        """The versions of all entry points that parameters shape, each once, with the
        data sets that report most."""
        times = {
            subject.name: self.trials.alone(subject, self.values, 1).seconds
            for subject in subjects
        }
        found: dict[object, VersionForm] = {}
        for settings, concerned in _versions(subjects):
            forced = {**self.values, **settings}
            places: dict[Subject, frozenset[int]] = {}
            keys, sizes = [], set()
            for subject in _spread(concerned, times):
                self._report()
                sample = self.trials.sample(subject, forced)
                used = {name for name in sample.uses if self._is_searched(name)}
                if sample.failure is None and used:
                    places[subject] = frozenset(sample.launches)
                    keys.append((subject.name, key_of(sample, forced)))
                    sizes |= used
            if places and tuple(keys) not in found:
                structure = VersionForm(settings, tuple(sorted(sizes)), places)
                found[tuple(keys)] = structure
        return list(found.values())[:MOST_STRUCTURES]

    def costs(self, points: Sequence[Point], runs: int) -> list[float]:
        """The mean logarithm of each point's time over that with the present values."""
        costs: dict[Point, list[float]] = {point: [] for point in points}
        for subject in {s: None for p in points for s in p.structure.places}:
            here = [point for point in points if subject in point.structure.places]
            legal = [point for point in here if self.is_legal(point, subject)]
            several = [self.values, *({**self.values, **p.settings} for p in legal)]
            reference, *times = self.trials.race(subject, several, runs)
            found = dict(zip(legal, times, strict=True))
            for point in here:
                time = found.get(point, MeasuredTime(math.inf))
                costs[point].append(_cost(time, reference))
        found_costs = [sum(each) / len(each) for each in costs.values()]
        self.known.update(zip(costs, found_costs, strict=True))
        return found_costs

    def is_legal(self, point: Point, subject: Subject) -> bool:
        """Whether the point runs here, with the kernels of its structure."""
        self._report()
        expected = point.structure.places[subject]
        settings = {**self.values, **point.settings}
        sample = self.trials.sample(subject, settings, expected)
        return sample.failure is None and frozenset(sample.launches) == expected

    def adopt(self, point: Point) -> None:
        """Take the sizes, but for those already taken, if they gain."""
        sizes = {
            name: value
            for name, value in point.sizes
            if value != self.start[name] == self.values[name]
        }
        if not sizes:
            return
        forced = {**self.values, **point.structure.settings}
        gains, noise = [], 0.0
        for subject in point.structure.places:
            old, new = self.trials.race(subject, [forced, {**forced, **sizes}])
            gains.append(-_cost(new, old))
            noise = max(noise, old.noise, new.noise)
        if sum(gains) / len(gains) > math.log1p(max(SIGNIFICANT, noise)):
            self.values.update(sizes)

    def _keep_best(self, subjects: Sequence[Subject]) -> None:
        """Of each structure the best sizes so far, where they gain much; and what leads
        to the best structure, if it is known for all data sets to be the best."""
        done: set[VersionForm] = set()
        for point, cost in sorted(self.known.items(), key=lambda known: known[1]):
            structure = point.structure
            if structure in done or math.isinf(cost):
                continue
            if not done and -cost > MUCH and set(structure.places) == set(subjects):
                for name, value in structure.settings.items():
                    if name not in self.fixed:
                        self.values[name] = value
            done.add(structure)
            before = self.known.get(_point(structure, self.start), cost)
            for name, value in point.sizes:
                if before - cost > MUCH and self.values[name] == self.start[name]:
                    self.values[name] = value

    def _first(self, structures: Sequence[VersionForm]) -> list[Point]:
        """The default sizes of each structure, and half of all points around them."""
        found = [_point(structure, self.start) for structure in structures]
        each = max(0, self.points // 2 - len(found)) // max(1, len(structures))
        for structure in structures:
            sizes = {name: self.start[name] for name in structure.sizes}
            ladders = self._ladders(structure)
            for other in random_points(self.random, ladders, sizes, each):
                found.append(_point(structure, other))
        return found

    def _around(
        self, better: Sequence[Point], best: Mapping[VersionForm, tuple[Point, float]]
    ) -> list[Point]:
        """These points with neighbours that were not tried, as many as may be."""
        found: dict[Point, None] = {}
        least = min((cost for _, cost in best.values()), default=0.0)
        for point in better:
            structure = point.structure
            if best[structure][1] <= least + HOPELESS:
                for sizes in neighbours(self._ladders(structure), dict(point.sizes)):
                    found.setdefault(_point(structure, sizes))
        new = [point for point in found if point not in self.tried]
        self.random.shuffle(new)
        new = new[: max(0, self.points - len(self.tried))]
        return [*better, *new] if new else []

    def _ladders(self, structure: VersionForm) -> dict[str, list[int]]:
        return {n: ladder(self.tunables[n], self.start[n]) for n in structure.sizes}

    def _is_searched(self, name: str) -> bool:
        known = self.tunables.get(name)
        return known is not None and name not in self.fixed and is_size(known)

    def _report(self) -> None:
        tried = min(1.0, len(self.tried) / max(1, self.points))
        self.report(f"sizes: {len(self.tried)} of at most {self.points} points", tried)


def _point(structure: VersionForm, sizes: Settings) -> Point:
    return Point(structure, tuple((name, sizes[name]) for name in structure.sizes))


def _cost(time: MeasuredTime, reference: MeasuredTime) -> float:
    if math.isinf(time.seconds):
        return math.inf
    if math.isinf(reference.seconds):
        return -INFINITE_LOSS
    return math.log(max(1e-9, time.seconds) / max(1e-9, reference.seconds))


def _versions(subjects: Sequence[Subject]) -> Iterator[tuple[Settings, list[Subject]]]:
    """What is forced without forcing anything, then each decision at each place, with
    what leads there; and the data sets that it concerns."""
    yield {}, list(subjects)
    found: dict[frozenset[tuple[str, int]], list[Subject]] = {}
    for subject in subjects:
        for place in occurrences(subject.decisions):
            for value in values_of(place.parameter):
                settings = {**place.ancestors, place.parameter.name: value}
                key = frozenset(settings.items())
                if subject not in found.setdefault(key, []):
                    found[key].append(subject)
    for key, concerned in found.items():
        yield dict(key), concerned


def _spread(subjects: Sequence[Subject], times: Mapping[str, float]) -> list[Subject]:
    """A few of them, from the slowest on evenly down in time."""
    slow_first = sorted(subjects, key=lambda s: -times[s.name])
    if len(slow_first) <= MOST_SUBJECTS:
        return slow_first
    step = len(slow_first) / MOST_SUBJECTS
    return [slow_first[int(number * step)] for number in range(MOST_SUBJECTS)]
