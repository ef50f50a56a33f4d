"""Timing of runs: one candidate by itself, or several interleaved.

    alone = Candidate(call)                 # `call()` gives the seconds of one run
    measure(alone, Plan())
    alone.best, alone.mean, alone.error     # seconds, seconds, relative standard error

    measure_together([Candidate(f), Candidate(g)], Plan(converge=False), abandon=3.0)
    # then `minifut.benchmarking.ratios`: how they compare

Alone, as `futhark bench` does it: a warm-up that does not count; then at least
`Plan.runs` runs and `Plan.seconds` of them. If these vary too much they are taken for a
prolonged warm-up and forgotten, and runs go on until the relative standard error of
their mean is small, the smaller the more a run resembles the one before.

Together, runs of the candidates alternate, so that a machine that changes its speed
changes it for all of them alike. A round is one run, or several if runs are brief: the
first of them finds caches as another candidate left them. A candidate that is `slow`
times slower than the best is soon known well enough and leaves; with `abandon` even a
run in progress is cut off at so many times the best run of all (in the main thread;
what the device has begun ends).

Measurements are stored in the candidates from the first run on: an interrupt or another
exception that ends the measurement leaves them as they are.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from minifut.errors import MinifutError
from minifut.testing.time_limit import REPEATED_AFTER, TimeLimit, time_limit

MOST_AROUND = 3.0
"""times `Plan.seconds`: so long the least number of runs may take by the clock"""

RACE_RUNS, LONG = 3, 1.0
"""runs, or seconds of them, after which a candidate may be called slow"""

FAR = 3.0
"""times slower than what is called slow: two runs show it"""

BRIEF = 1e-3
"""seconds; shorter runs are repeated in a round"""

TimedRun = Callable[[], float]
"""one run; its seconds"""

ROBUST = ((0.95, 0.0010), (0.75, 0.0015), (0.65, 0.0025), (0.45, 0.0050), (-1.0, 0.01))
"""where runs resemble the ones before by more than the first number (autocorrelation
at lag one), a relative standard error above the second requires more (Futhark's)"""

WARM_UP = 20.0
"""seconds that a first run may always take: kernels are compiled in it"""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """How many runs: at least `runs` of them and `seconds` together, then (`converge`)
    as many as precision requires, for at most `most_seconds` and `most_runs` of short
    ones, whose outliers no number of runs would average out. `limit` ends everything
    with a `TimeLimit` after so many seconds."""

    runs: int = 10
    seconds: float = 0.5
    converge: bool = True
    most_seconds: float = 300.0
    most_runs: int = 2000
    limit: float | None = None


@dataclass(slots=True, eq=False)
class Candidate:
    """Something to run, and the seconds of its runs.

    `failure` says why it cannot be run; `abandoned` is the time at which a run of it
    was cut off, None if none was.
    """

    run: TimedRun
    seconds: list[float] = field(default_factory=list)
    failure: str | None = None
    abandoned: float | None = None
    best: float = math.inf
    """the seconds of the fastest run"""
    total: float = 0.0
    """the seconds of all runs"""
    rounds: list[float] = field(default_factory=list)
    """the fastest run of each round, where runs of candidates are interleaved"""

    def __post_init__(self) -> None:
        given, self.seconds = self.seconds, []
        for seconds in given:
            self.add(seconds)

    def add(self, seconds: float) -> None:
        """Count a run."""
        self.seconds.append(seconds)
        self.total += seconds
        self.best = min(self.best, seconds)

    def forget(self) -> None:
        """As if nothing had run."""
        self.seconds.clear()
        self.rounds.clear()
        self.best, self.total = math.inf, 0.0

    @property
    def is_over(self) -> bool:
        """Whether it cannot be run any more."""
        return self.failure is not None or self.abandoned is not None

    @property
    def mean(self) -> float:
        """The mean of its runs; infinity if there are none."""
        return statistics.fmean(self.seconds) if self.seconds else math.inf

    @property
    def error(self) -> float:
        """The relative standard error of the mean; infinity for less than two runs."""
        if len(self.seconds) < 2 or not self.mean:
            return math.inf if len(self.seconds) < 2 else 0.0
        deviation = statistics.stdev(self.seconds)
        return deviation / math.sqrt(len(self.seconds)) / self.mean

    @property
    def resemblance(self) -> float:
        """How much a run resembles the one before it: autocorrelation at lag one."""
        if len(self.seconds) < 3:
            return 1.0
        mean = self.mean
        differences = [seconds - mean for seconds in self.seconds]
        whole = sum(d * d for d in differences)
        if not whole:
            return 0.0
        pairs = itertools.pairwise(differences)
        return sum(a * b for a, b in pairs) / whole

    @property
    def is_robust(self) -> bool:
        """Whether more runs would not change the mean by much."""
        error, resemblance = self.error, self.resemblance
        return not any(
            resemblance > least and error > most for least, most in ROBUST
        ) and math.isfinite(error)


ProgressFunction = Callable[[Candidate], None]
"""called after each run that counts"""


def measure(
    candidate: Candidate, plan: RunPlan, progress: ProgressFunction | None = None
) -> Candidate:
    """Warm up and run it as the plan says. Errors of a run are those of its program;
    raises `TimeLimit` when the plan's limit is reached."""
    deadline = math.inf if plan.limit is None else time.perf_counter() + plan.limit

    def count() -> None:
        _count(candidate, candidate.run(), progress)
        # Python drops an exception that a signal raises within a finaliser.
        if time.perf_counter() > deadline:
            raise TimeLimit

    with time_limit(plan.limit, max(REPEATED_AFTER, plan.limit or 0)):
        candidate.run()
        _at_least(candidate, plan, count)
        if not plan.converge or candidate.is_robust:
            return candidate
        more = max(plan.runs, len(candidate.seconds) // 2)
        candidate.forget()
        while True:
            for _ in range(more):
                count()
            if candidate.is_robust or _is_spent(candidate, plan):
                return candidate
            more = max(1, len(candidate.seconds) // 2)


def measure_together(
    candidates: Sequence[Candidate],
    plan: RunPlan,
    *,
    slow: float = 3.0,
    abandon: float | None = None,
    at_least: float = 0.0,
    warm: bool = False,
    repeats: int = 1,
    most: float = math.inf,
    progress: ProgressFunction | None = None,
) -> None:
    """Run them in interleaved rounds until each has run for as long as the plan says;
    there are no warm-ups if all are `warm`.

    A candidate `slow` times slower than the best runs in no more rounds; the others
    have the same number of runs, so that their rounds can be compared. From the second
    round on there are `repeats` runs in a round if they are brief; then the plan's
    number of runs is one of rounds. After the first round no further one begins that
    would make it more than `most` runs altogether. With `abandon`, a run is cut off at
    so many times the best run of all, but not before `at_least` seconds: nothing is
    gained by cutting off short runs. Errors of a program are noted in its candidate and
    the others go on.
    """
    started = time.perf_counter()
    deadline = math.inf if plan.limit is None else started + plan.limit

    def run(candidate: Candidate, times: int) -> None:
        fastest = math.inf
        for _ in range(times):
            allowed = _allowed(candidates, abandon, at_least)
            seconds = _timed(candidate, allowed, deadline)
            _count(candidate, seconds, progress)
            if seconds is None:
                return
            fastest = min(fastest, seconds)
        candidate.rounds.append(fastest)

    for candidate in candidates:
        if not warm:
            _timed(candidate, _allowed(candidates, abandon, WARM_UP), deadline)
        if not candidate.is_over:
            run(candidate, 1)
    while True:
        best = min((c.best for c in candidates), default=math.inf)
        left = [c for c in candidates if not c.is_over and not _is_slow(c, slow * best)]
        if all(_enough(c, plan) for c in left):
            return
        times = repeats if best < BRIEF else 1
        if sum(len(c.seconds) for c in candidates) + times * len(left) > most:
            return
        for candidate in left:
            run(candidate, times)


def _at_least(candidate: Candidate, plan: RunPlan, count: Callable[[], None]) -> None:
    """So many runs and seconds as the plan requires, whatever they show."""
    started = time.perf_counter()
    # What is around a short run may take longer than the run.
    latest = started + plan.seconds * MOST_AROUND
    while len(candidate.seconds) < plan.runs or (
        candidate.total < plan.seconds and time.perf_counter() < latest
    ):
        count()


def _count(
    candidate: Candidate, seconds: float | None, progress: ProgressFunction | None
) -> None:
    if seconds is not None:
        candidate.add(seconds)
        if progress is not None:
            progress(candidate)


def _enough(candidate: Candidate, plan: RunPlan) -> bool:
    if len(candidate.rounds) < plan.runs:
        return False
    if candidate.total < plan.seconds:
        return len(candidate.seconds) >= plan.most_runs
    return not plan.converge or candidate.is_robust or _is_spent(candidate, plan)


def _is_slow(candidate: Candidate, most: float) -> bool:
    """Whether it is beyond that, as far as one can tell from a few runs."""
    if candidate.best <= most:
        return False
    enough = 2 if candidate.best > FAR * most else RACE_RUNS
    return len(candidate.seconds) >= enough or candidate.total >= LONG


def _is_spent(candidate: Candidate, plan: RunPlan) -> bool:
    """Whether more precision is not worth more runs."""
    if candidate.total >= plan.most_seconds:
        return True
    return len(candidate.seconds) >= max(plan.most_runs, plan.runs)


def _allowed(
    candidates: Sequence[Candidate], abandon: float | None, least: float = 0.0
) -> float:
    """Seconds after which a run is not worth waiting for."""
    if abandon is None:
        return math.inf
    return max(least, abandon * min((c.best for c in candidates), default=math.inf))


def _timed(candidate: Candidate, allowed: float, deadline: float) -> float | None:
    """One run, or None if it failed or was cut off. Past the deadline, `TimeLimit`."""
    left = deadline - time.perf_counter()
    if left <= 0:
        raise TimeLimit
    limit = min(allowed, left)
    try:
        with time_limit(None if math.isinf(limit) else max(limit, 1e-6)):
            return candidate.run()
    except TimeLimit:
        if left <= allowed:
            raise
        candidate.abandoned = allowed
    except (MinifutError, MemoryError) as error:
        candidate.failure = str(error) or "out of memory"
    return None
