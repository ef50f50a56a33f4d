"""All versions of an entry point on one data set: forced, judged, timed in turns.

    comparison = Comparison(data)
    compare(comparison, loaded, versions_of(loaded.kernels, data.entry), Plan())
    for entrant in comparison.entrants:
        entrant.version.name, entrant.candidate.best, entrant.wrong

A version is forced by setting thresholds to 0 or out of reach; nothing is compiled but
the kernels that it is the first to use. Two versions that start the same kernels in the
same order are one path through the program, of which the first is run: a branch may be
out of reach for this size, or a group's arrays too large for local memory. So a path is
named by the thresholds that its run compared. What the current parameters choose is
seen in a run with them, and other settings that start the same kernels share the runs
of the version.

Times are compared round by round (`ratios`), not by the fastest run of each.

Results are judged by those that the data gives, else by the oracle, and where that has
no answer by those of the first version. Hand-written kernels (`KernelFile`) and rivals,
the program as it was compiled otherwise, take part like versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from minifut.benchmarking.datasets import DataSet
from minifut.benchmarking.kernel_file import KernelFile, KernelFileError
from minifut.benchmarking.loaded import Loaded
from minifut.benchmarking.measure import (
    Candidate,
    ProgressFunction,
    RunPlan,
    measure_together,
)
from minifut.benchmarking.ratios import Ratio, comparable_seconds, ratio
from minifut.errors import InternalError, MinifutError
from minifut.parameters.tuning import NEVER
from minifut.parameters.versions import (
    TILED,
    Version,
    Versions,
    distinct,
    label,
    parameters_of,
)
from minifut.testing.judge import judge_values
from minifut.testing.oracle import unpacked
from minifut.testing.time_limit import TimeLimit, time_limit

if TYPE_CHECKING:
    from minifut.backend import Timed
    from minifut.opencl.runtime.watch import Observation
    from minifut.parameters.decisions import Settings
    from minifut.parameters.tuning import Tuning

PathOfRun = tuple[tuple[int, ...], frozenset[tuple[str, int]]]
"""the kernels that a run started, and the parameters that they were built with"""

CURRENT = "current"
"""the name of what the current parameters do, if that is a mixture of versions"""

HAND_WRITTEN = "hand-written"
"""the name of the kernel of a file; with several, the file's name follows"""

SLOW = 5.0
"""times the best; versions slower than that are measured less often"""

REPEATS = 4
"""runs in a round, if they are brief"""


@dataclass(slots=True, eq=False)
class ComparedVersion:
    """A version on a data set. `wrong` says how its results differ."""

    name: str
    version: Version
    candidate: Candidate
    wrong: str | None = None
    path: PathOfRun = ((), frozenset())
    aliases: list[Version] = field(default_factory=list)
    """versions that go the same path on this data"""

    @property
    def agrees(self) -> bool:
        """Whether it ran and gave the right results."""
        return self.wrong is None and self.candidate.failure is None


@dataclass(slots=True, eq=False)
class Comparison:
    """What is known about a data set, complete or not."""

    data: DataSet
    entrants: list[ComparedVersion] = field(default_factory=list)
    chosen: ComparedVersion | None = None
    """the one that the current parameters take"""
    judged_by: str = ""
    nbytes: int = 0
    """of arguments and results"""
    left_out: int = 0
    failure: str | None = None

    @property
    def best(self) -> ComparedVersion | None:
        """The fastest one that is right."""
        fit = [e for e in self.entrants if e.agrees and e.candidate.seconds]
        times = comparable_seconds([entrant.candidate for entrant in fit])
        order = range(len(fit))
        fastest = min(order, key=lambda at: times[at].value, default=None)
        return None if fastest is None else fit[fastest]

    def relative(self, entrant: ComparedVersion) -> Ratio | None:
        """Its time over that of the best one; None if it has none."""
        best = self.best
        if best is None or not entrant.candidate.rounds:
            return None
        return ratio(entrant.candidate, best.candidate)

    @property
    def is_wrong(self) -> bool:
        """Whether anything failed or differed."""
        return self.failure is not None or not all(e.agrees for e in self.entrants)


def compare(
    comparison: Comparison,
    loaded: Loaded,
    versions: Versions,
    plan: RunPlan,
    progress: ProgressFunction | None = None,
    others: Mapping[str, Settings] | None = None,
    rivals: Mapping[str, Loaded] | None = None,
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
            with tuning.watch() as seen:
                race = _Race(comparison, call, tuning, before, plan, expected, seen)
                race.find_paths(versions)
                wanted = dict(others or {})
                if comparison.chosen is None:
                    wanted[CURRENT] = {}
                for name, settings in wanted.items():
                    race.enter_other(name, settings)
                race.enter_written(against)
                for name, rival in (rivals or {}).items():
                    race.enter_rival(name, rival)
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
    comparison: Comparison, loaded: Loaded, plan: RunPlan
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
    plan: RunPlan
    expected: Sequence[Any] | None
    seen: Observation

    def find_paths(self, versions: Versions) -> None:
        """Find out which versions differ on the data, and whether their results are
        right. These runs also compile the kernels."""
        entrants = self.comparison.entrants
        with time_limit(self.plan.limit):
            self.call()
        current = self.path(self.before)
        self.comparison.nbytes = self.call.nbytes
        known: dict[PathOfRun, ComparedVersion] = {}
        for version in versions.versions:
            entrant = self.enter(version)
            if entrant.agrees and entrant.path in known:
                known[entrant.path].aliases.append(version)
                continue
            entrants.append(entrant)
            if entrant.agrees:
                known[entrant.path] = entrant
                entrant.name = self.name(version, versions, self.seen)
        self.comparison.chosen = next((e for e in entrants if e.path == current), None)
        names = distinct(entrant.name for entrant in entrants)
        for entrant, name in zip(entrants, names, strict=True):
            entrant.name = name

    def path(self, settings: Settings) -> PathOfRun:
        """The path that was just seen."""
        used = ((name, settings[name]) for name in self.seen.uses if name in settings)
        return tuple(self.seen.launches), frozenset(used)

    def name(self, version: Version, versions: Versions, seen: Observation) -> str:
        """The version's name as far as it was seen to matter in the run before: a tile
        that does not fit is none."""
        compared = {name for name, _ in seen.comparisons}
        kinds = {p.name: p.kind for p in parameters_of(versions.decisions)}
        settings = {
            name: value
            for name, value in version.settings.items()
            if name in compared or kinds.get(name) != "threshold"
        }
        for nest, names in versions.registers.items():
            settings |= {name: self.tuning[name] for name in names}
            if f"{nest}.{TILED}" in settings and seen.uses.isdisjoint(names):
                settings[f"{nest}.{TILED}"] = NEVER
        return label(versions.decisions, settings)

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

    def enter_other(self, name: str, settings: Settings) -> None:
        """Add settings that are no version of their own; where they go the path of one,
        its runs are theirs."""
        entrant = self.enter(Version(name, settings, ""))
        for known in self.comparison.entrants if entrant.agrees else ():
            if known.agrees and known.path == entrant.path:
                entrant.candidate = known.candidate
        self.comparison.entrants.append(entrant)
        if name == CURRENT:
            self.comparison.chosen = entrant

    def enter_rival(self, name: str, rival: Loaded) -> None:
        """Let another compilation of the program take part."""
        call = rival.timed(self.comparison.data)
        self.comparison.entrants.append(self.enter(Version(name, {}, ""), call))

    def enter(self, version: Version, call: Timed | None = None) -> ComparedVersion:
        """Run the version once, and judge it; the first one that ran is what others
        are judged by if nothing else is. A `call` takes the program's place."""
        call = call or self.call
        settings = {**self.before, **version.settings}
        run = forced(call, self.tuning, settings)
        entrant = ComparedVersion(version.name, version, Candidate(run))
        self.seen.clear()
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
        entrant.path = self.path(settings)
        return entrant

    def measure(self, progress: ProgressFunction | None) -> None:
        """Let those that are right run in interleaved rounds."""
        entrants = [e for e in self.comparison.entrants if e.agrees]
        candidates = list({id(e.candidate): e.candidate for e in entrants}.values())
        each = self.plan.limit
        whole = None if each is None else each * len(candidates)
        with suppress(TimeLimit):
            measure_together(
                candidates,
                replace(self.plan, limit=whole),
                slow=SLOW,
                warm=True,
                repeats=REPEATS,
                progress=progress,
            )
        for entrant in entrants:
            if not entrant.candidate.seconds and not entrant.candidate.failure:
                entrant.candidate.failure = _too_long(self.plan)


def _too_long(plan: RunPlan) -> str:
    return f"took more than {plan.limit:g} s"
