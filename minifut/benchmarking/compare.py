"""All versions of an entry point on one data set: forced, judged, timed in turns.

    comparison = Comparison(data)
    compare(comparison, loaded, versions_of(loaded.kernels, data.entry), Plan())
    for entrant in comparison.entrants:
        entrant.version.name, entrant.candidate.best, entrant.wrong

A version is forced by setting thresholds to 0 or out of reach; nothing is compiled but
the kernels that it is the first to use. Two versions that compare alike on the data are
one way through the program, of which the first is run: a branch may be out of reach for
this size. What the current parameters choose is seen in a run with them.

Results are judged by those that the data gives, else by the oracle, and where that has
no answer by those of the first version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minifut.benchmarking.datasets import DataSet
from minifut.benchmarking.loaded import Loaded
from minifut.benchmarking.measure import Candidate, Plan, Progress, measure_together
from minifut.benchmarking.versions import Version, Versions
from minifut.errors import InternalError, MinifutError
from minifut.testing.judge import judge_values
from minifut.testing.oracle import unpacked
from minifut.testing.time_limit import TimeLimit, time_limit

if TYPE_CHECKING:
    from minifut.program import Timed
    from minifut.tuning.parameters import Comparison as Compared
    from minifut.tuning.parameters import Tuning

Outcomes = frozenset[tuple[str, bool]]
"""which thresholds were compared in a run, and whether they were reached"""

SLOW = 5.0
"""times the best; versions slower than that are measured less often"""


@dataclass(slots=True, eq=False)
class Entrant:
    """A version on a data set. `wrong` says how its results differ."""

    version: Version
    candidate: Candidate
    wrong: str | None = None
    outcomes: Outcomes = frozenset()
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
            _run_once(comparison, call, tuning, versions.versions, expected, plan)
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


def outcomes(seen: Iterable[Compared], tuning: Tuning) -> Outcomes:
    """What the comparisons of a run came to."""
    return frozenset((name, amount >= tuning[name]) for name, amount in seen)


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
    versions: Sequence[Version],
    expected: Sequence[Any] | None,
    plan: Plan,
) -> None:
    """Find out which versions differ on the data, and whether their results are right.
    These runs also compile the kernels."""
    with tuning.watch() as seen, time_limit(plan.limit):
        call()
        current = outcomes(seen, tuning)
        comparison.nbytes = call.nbytes
    before = dict(tuning)
    known: dict[Any, Entrant] = {}
    for version in versions:
        settings = {**before, **version.settings}
        entrant = Entrant(version, Candidate(forced(call, tuning, settings)))
        with tuning.watch() as seen:
            expected = _try(entrant, call, expected, plan)
            entrant.outcomes = outcomes(seen, tuning)
        key = (entrant.outcomes, _other_settings(version, tuning))
        if entrant.agrees and key in known:
            known[key].aliases.append(version)
            continue
        if entrant.agrees:
            known[key] = entrant
        comparison.entrants.append(entrant)
    comparison.chosen = _chosen(comparison.entrants, current, before, tuning)


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


def _other_settings(version: Version, tuning: Tuning) -> tuple[tuple[str, int], ...]:
    """The settings that are no thresholds: whether they were asked for is not seen."""
    return tuple(
        (name, value)
        for name, value in sorted(version.settings.items())
        if tuning.tunables[name].kind != "threshold"
    )


def _chosen(
    entrants: Sequence[Entrant],
    current: Outcomes,
    values: dict[str, int],
    tuning: Tuning,
) -> Entrant | None:
    """The entrant whose run went the way of the run with the current parameters."""
    for entrant in entrants:
        others = _other_settings(entrant.version, tuning)
        if entrant.outcomes == current and all(values[n] == v for n, v in others):
            return entrant
    return None
