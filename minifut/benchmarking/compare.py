"""All versions of an entry point on one data set: forced, judged, timed in turns.

    comparison = Comparison(data)
    compare(comparison, loaded, versions_of(loaded.kernels, data.entry), Plan())
    for entrant in comparison.entrants:
        entrant.version.name, entrant.candidate.best, entrant.wrong

A version is forced by setting thresholds to 0 or out of reach; nothing is compiled but
the kernels that it is the first to use. Two versions that start the same kernels in the
same order are one way through the program, of which the first is run: a branch may be
out of reach for this size, or a group's arrays too large for local memory. So a way is
named by the thresholds that its run compared. What the current parameters choose is
seen in a run with them.

Results are judged by those that the data gives, else by the oracle, and where that has
no answer by those of the first version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minifut.benchmarking.datasets import DataSet
from minifut.benchmarking.loaded import Loaded
from minifut.benchmarking.measure import Candidate, Plan, Progress, measure_together
from minifut.benchmarking.versions import (
    Version,
    Versions,
    distinct,
    label,
    parameters_of,
)
from minifut.errors import InternalError, MinifutError
from minifut.testing.judge import judge_values
from minifut.testing.oracle import unpacked
from minifut.testing.time_limit import TimeLimit, time_limit

if TYPE_CHECKING:
    from minifut.program import Timed
    from minifut.tuning.parameters import Tuning

Way = tuple[int, ...]
"""the kernels that a run started"""

SLOW = 5.0
"""times the best; versions slower than that are measured less often"""


@dataclass(slots=True, eq=False)
class Entrant:
    """A version on a data set. `wrong` says how its results differ."""

    name: str
    version: Version
    candidate: Candidate
    wrong: str | None = None
    way: Way = ()
    aliases: list[Version] = field(default_factory=list)
    """versions that go the same way on this data"""

    @property
    def agrees(self) -> bool:
        """Whether it ran and gave the right results."""
        return self.wrong is None and self.candidate.failure is None


@dataclass(slots=True, eq=False)
class Comparison:
    """What is known about a data set, complete or not."""

    data: DataSet
    entrants: list[Entrant] = field(default_factory=list)
    chosen: Entrant | None = None
    """the one that the current parameters take; None if it is a mixture"""
    judged_by: str = ""
    nbytes: int = 0
    """of arguments and results"""
    left_out: int = 0
    failure: str | None = None

    @property
    def best(self) -> Entrant | None:
        """The fastest one that is right."""
        fit = [e for e in self.entrants if e.agrees and e.candidate.seconds]
        return min(fit, key=lambda e: e.candidate.best, default=None)

    @property
    def is_wrong(self) -> bool:
        """Whether anything failed or differed."""
        return self.failure is not None or not all(e.agrees for e in self.entrants)


def compare(
    comparison: Comparison,
    loaded: Loaded,
    versions: Versions,
    plan: Plan,
    progress: Progress | None = None,
) -> None:
    """Run all versions. What fails is noted; Ctrl-C leaves what is known so far. The
    program's parameters are as before afterwards."""
    tuning = loaded.program.tuning
    comparison.left_out = versions.total - len(versions.versions)
    try:
        with kept(tuning):
            call = loaded.timed(comparison.data)
            expected = _expected(comparison, loaded, plan)
            _run_once(comparison, call, tuning, versions, expected, plan)
            entrants = [e for e in comparison.entrants if e.agrees]
            with suppress(TimeLimit):
                measure_together(
                    [e.candidate for e in entrants],
                    plan,
                    slow=SLOW,
                    warm=True,
                    progress=progress,
                )
            for entrant in entrants:
                if not entrant.candidate.seconds and not entrant.candidate.failure:
                    entrant.candidate.failure = _too_long(plan)
    except TimeLimit:
        comparison.failure = _too_long(plan)
    except InternalError:
        raise
    except (MinifutError, MemoryError) as error:
        comparison.failure = str(error) or "out of memory"


@contextmanager
def kept(tuning: Tuning) -> Iterator[None]:
    """The parameters are as before after the block."""
    before = dict(tuning)
    try:
        yield
    finally:
        tuning.update(before)


def forced(
    call: Timed, tuning: Tuning, settings: dict[str, int]
) -> Callable[[], float]:
    """Runs of the call under these settings."""

    def run() -> float:
        tuning.update(settings)
        return call()

    return run


def _expected(
    comparison: Comparison, loaded: Loaded, plan: Plan
) -> Sequence[Any] | None:
    data = comparison.data
    expected = data.expected()
    if expected is not None:
        comparison.judged_by = "the expected results"
        return expected
    comparison.judged_by = "the first version's results"
    try:
        with time_limit(plan.limit):
            expected = loaded.expected(data)
    except TimeLimit:
        return None
    if expected is not None:
        comparison.judged_by = "an independent run"
    return expected


def _run_once(
    comparison: Comparison,
    call: Timed,
    tuning: Tuning,
    versions: Versions,
    expected: Sequence[Any] | None,
    plan: Plan,
) -> None:
    """Find out which versions differ on the data, and whether their results are right.
    These runs also compile the kernels."""
    before = dict(tuning)
    with tuning.watch() as seen:
        with time_limit(plan.limit):
            call()
        current = tuple(seen.launches)
        comparison.nbytes = call.nbytes
        known: dict[Way, Entrant] = {}
        for version in versions.versions:
            seen.clear()
            settings = {**before, **version.settings}
            run = forced(call, tuning, settings)
            entrant = Entrant(version.name, version, Candidate(run))
            expected = _try(entrant, call, expected, plan)
            entrant.way = tuple(seen.launches)
            if entrant.agrees and entrant.way in known:
                known[entrant.way].aliases.append(version)
                continue
            comparison.entrants.append(entrant)
            if entrant.agrees:
                known[entrant.way] = entrant
                entrant.name = _name(version, versions, seen.comparisons)
    comparison.chosen = known.get(current)
    names = distinct(entrant.name for entrant in comparison.entrants)
    for entrant, name in zip(comparison.entrants, names, strict=True):
        entrant.name = name


def _name(
    version: Version, versions: Versions, comparisons: Sequence[tuple[str, int]]
) -> str:
    """The version's name as far as it was seen to matter."""
    compared = {name for name, _ in comparisons}
    kinds = {p.name: p.kind for p in parameters_of(versions.choices)}
    settings = {
        name: value
        for name, value in version.settings.items()
        if name in compared or kinds[name] != "threshold"
    }
    return label(versions.choices, settings)


def _try(
    entrant: Entrant, call: Timed, expected: Sequence[Any] | None, plan: Plan
) -> Sequence[Any] | None:
    """Run and judge; gives what to judge the next by."""
    try:
        with time_limit(plan.limit):
            entrant.candidate.run()
        results = unpacked(call.results())
    except TimeLimit:
        entrant.candidate.failure = _too_long(plan)
        return expected
    except InternalError:
        raise
    except (MinifutError, MemoryError) as error:
        entrant.candidate.failure = str(error) or "out of memory"
        return expected
    if expected is None:
        return results
    entrant.wrong = judge_values(results, list(expected))
    return expected


def _too_long(plan: Plan) -> str:
    return f"took more than {plan.limit:g} s"
