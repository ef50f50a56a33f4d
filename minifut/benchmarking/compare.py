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
no answer by those of the first version. Hand-written kernels (`KernelFile`) take part
like versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from minifut.benchmarking.datasets import DataSet
from minifut.benchmarking.kernel_file import KernelFile, KernelFileError
from minifut.benchmarking.loaded import Loaded
from minifut.benchmarking.measure import Candidate, Plan, Progress, measure_together
from minifut.benchmarking.versions import (
    TILED,
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
from minifut.tuning.parameters import NEVER

if TYPE_CHECKING:
    from minifut.opencl.runtime.watch import Seen
    from minifut.program import Timed
    from minifut.tuning.choices import Settings
    from minifut.tuning.parameters import Tuning

Way = tuple[tuple[int, ...], tuple[int, ...]]
"""the kernels that a run started, and the register tiles that they were built for"""

CURRENT = "current"
"""the name of what the current parameters do, if that is a mixture of versions"""

HAND_WRITTEN = "hand-written"
"""the name of the kernel of a file; with several, the file's name follows"""

SLOW = 5.0
"""times the best; versions slower than that are measured less often"""


@dataclass(slots=True, eq=False)
class Entrant:
    """A version on a data set. `wrong` says how its results differ."""

    name: str
    version: Version
    candidate: Candidate
    wrong: str | None = None
    way: Way = ((), ())
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
    """the one that the current parameters take"""
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
    others: Mapping[str, Settings] | None = None,
    against: Sequence[KernelFile] = (),
) -> None:
    """Run all versions, the `others`: settings by a name of their own, and what it is
    `against`. The plan's limit is that of each. What fails is noted; Ctrl-C leaves what
    is known so far. The program's parameters are as before afterwards. Raises
    `KernelFileError` if a file does not fit the entry point."""
    tuning = loaded.program.tuning
    comparison.left_out = versions.total - len(versions.versions)
    try:
        with kept(tuning) as before:
            call = loaded.timed(comparison.data)
            expected = _expected(comparison, loaded, plan)
            race = _Race(comparison, call, tuning, before, plan, expected)
            race.find_ways(versions)
            wanted = dict(others or {})
            if comparison.chosen is None:
                wanted[CURRENT] = {}
            for name, settings in wanted.items():
                entrant = race.enter(Version(name, settings, ""))
                comparison.entrants.append(entrant)
                if name == CURRENT:
                    comparison.chosen = entrant
            race.enter_written(against)
            race.measure(progress)
    except TimeLimit:
        comparison.failure = _too_long(plan)
    except (InternalError, KernelFileError):
        raise
    except (MinifutError, MemoryError) as error:
        comparison.failure = str(error) or "out of memory"


@contextmanager
def kept(tuning: Tuning) -> Iterator[dict[str, int]]:
    """The parameters are as before after the block."""
    before = dict(tuning)
    try:
        yield before
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


@dataclass(slots=True)
class _Race:
    """The versions of one call; parameters without a setting are as `before`."""

    comparison: Comparison
    call: Timed
    tuning: Tuning
    before: dict[str, int]
    plan: Plan
    expected: Sequence[Any] | None

    def find_ways(self, versions: Versions) -> None:
        """Find out which versions differ on the data, and whether their results are
        right. These runs also compile the kernels."""
        entrants = self.comparison.entrants
        with self.tuning.watch() as seen:
            with time_limit(self.plan.limit):
                self.call()
            current = self.way(versions, seen)
            self.comparison.nbytes = self.call.nbytes
            known: dict[Way, Entrant] = {}
            for version in versions.versions:
                seen.clear()
                entrant = self.enter(version)
                entrant.way = self.way(versions, seen)
                if entrant.agrees and entrant.way in known:
                    known[entrant.way].aliases.append(version)
                    continue
                entrants.append(entrant)
                if entrant.agrees:
                    known[entrant.way] = entrant
                    entrant.name = self.name(version, versions, seen)
        self.comparison.chosen = next((e for e in entrants if e.way == current), None)
        names = distinct(entrant.name for entrant in entrants)
        for entrant, name in zip(entrants, names, strict=True):
            entrant.name = name

    def way(self, versions: Versions, seen: Seen) -> Way:
        """Where the run went."""
        names = [name for each in versions.registers.values() for name in each]
        sizes = [self.tuning[name] for name in names if name in seen.uses]
        return tuple(seen.launches), tuple(sizes)

    def name(self, version: Version, versions: Versions, seen: Seen) -> str:
        """The version's name as far as it was seen to matter in the run before: a tile
        that does not fit is none."""
        compared = {name for name, _ in seen.comparisons}
        kinds = {p.name: p.kind for p in parameters_of(versions.choices)}
        settings = {
            name: value
            for name, value in version.settings.items()
            if name in compared or kinds.get(name) != "threshold"
        }
        for nest, names in versions.registers.items():
            settings |= {name: self.tuning[name] for name in names}
            if f"{nest}.{TILED}" in settings and seen.uses.isdisjoint(names):
                settings[f"{nest}.{TILED}"] = NEVER
        return label(versions.choices, settings)

    def enter_written(self, files: Sequence[KernelFile]) -> None:
        """Let the kernels of files take part."""
        if not files:
            return
        from minifut.benchmarking.hand_written import hand_written
        from minifut.opencl.runtime.timed import TimedCall

        assert isinstance(self.call, TimedCall)
        for file in files:
            name = HAND_WRITTEN
            if len(files) > 1:
                name += f" ({file.path.stem})"
            call = hand_written(file, self.call)
            self.comparison.entrants.append(self.enter(Version(name, {}, ""), call))

    def enter(self, version: Version, call: Timed | None = None) -> Entrant:
        """Run the version once, and judge it; the first one that ran is what others
        are judged by if nothing else is. A `call` takes the program's place."""
        call = call or self.call
        settings = {**self.before, **version.settings}
        run = forced(call, self.tuning, settings)
        entrant = Entrant(version.name, version, Candidate(run))
        try:
            with time_limit(self.plan.limit):
                run()
            results = unpacked(call.results())
            if self.expected is None:
                self.expected = results
            entrant.wrong = judge_values(results, list(self.expected))
        except TimeLimit:
            entrant.candidate.failure = _too_long(self.plan)
        except InternalError:
            raise
        except (MinifutError, MemoryError) as error:
            entrant.candidate.failure = str(error) or "out of memory"
        return entrant

    def measure(self, progress: Progress | None) -> None:
        """Let those that are right take turns."""
        entrants = [e for e in self.comparison.entrants if e.agrees]
        each = self.plan.limit
        whole = None if each is None else each * len(entrants)
        with suppress(TimeLimit):
            measure_together(
                [e.candidate for e in entrants],
                replace(self.plan, limit=whole),
                slow=SLOW,
                warm=True,
                progress=progress,
            )
        for entrant in entrants:
            if not entrant.candidate.seconds and not entrant.candidate.failure:
                entrant.candidate.failure = _too_long(self.plan)


def _too_long(plan: Plan) -> str:
    return f"took more than {plan.limit:g} s"
