"""Whether every version of a program does what an independent run does.

    for run in Agreement(path).runs(deadline):
        run.complaint                     None: the version agrees

Each entry point is run on the cases of the program's test blocks, once for every
version (thresholds 0 and never, at most `most` combinations of an entry point), in each
schedule. The expected results come from the interpreter, or the sequential kernel where
that takes too long; where that run fails, or the case says that it must, each version
has to fail, too. Of opaque results it is only judged that they come. The program is
elaborated and flattened once, lowered once for each schedule; versions are forced by
parameters only.

Large random inputs are made smaller, every size by the same rule wherever it occurs,
unless the program does not take them so; large data files are left out where the
program has others.

    [10000][512]f32 [512]f32 10000i64   ->   [131][67]f32 [67]f32 131i64
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minifut import loaded_module, stages
from minifut.benchmarking.datasets import DataSet, Selection, case_name, data_sets
from minifut.errors import MinifutError, ProgramError, Source
from minifut.interpreted import interpreted_program
from minifut.parameters.versions import MOST, Version, versions_of
from minifut.testing.blocks import FailsWith, RandomValues, ValuesFile
from minifut.testing.judge import announced_bytes, judge_failure, judge_values
from minifut.testing.oracle import Oracle
from tests.benchmarking.generated_data import generated_data

if TYPE_CHECKING:
    from minifut.ir.core import Program as CoreProgram
    from minifut.program import Program

SCHEDULES = ("cpu", "gpu")
DISABLED = frozenset({"disable"})
LARGE = 1 << 20
"""bytes of random values, from which on they are made smaller"""
LARGE_FILE = 8 << 20
"""bytes of a data file that is left out if there are others"""
UNSAFE = "#[unsafe]"
KEPT_SIZE, SMALLER_SIZES = 64, (67, 131, 61, 127, 59, 113)
"""sizes up to the first stay, the others take these in turn"""

Expected = list[Any] | str
"""the results, or what an error message must match"""


@dataclass(frozen=True, slots=True)
class VersionRun:
    """One version on one data set; `complaint` is None if it agrees. `settled` is False
    if the run says nothing, and `complaint` why."""

    data: DataSet
    schedule: str
    version: Version
    complaint: str | None = None
    settled: bool = True

    def __str__(self) -> str:
        where = f"{self.schedule} {self.data.entry} {self.data.name}"
        return f"{where}, version {self.version.name}"


@dataclass(slots=True)
class Agreement:
    """One program. Raises `CompileError` and `UsageError` if it, or its data, cannot be
    used at all."""

    path: Path
    schedules: Sequence[str] = SCHEDULES
    most: int = MOST
    device: str | None = None
    invent: bool = False
    """take values made up from the types of entry points instead of the cases"""
    cases: list[DataSet] = field(init=False)
    versions: dict[str, int] = field(init=False, default_factory=dict)
    """how many are run of each entry point, once known"""
    left_out: list[str] = field(init=False, default_factory=list)
    """large data sets that are not run"""
    made_smaller: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        cases = data_sets(self.path, Selection(excluded=DISABLED, failing=True))
        self.cases = [] if self.invent else self._without_large(cases)

    def runs(self, deadline: float | None = None) -> Iterator[VersionRun]:
        """Every version on every case, as they come; from `deadline` on (of
        `time.monotonic`) no further run is begun, but those left are told."""
        if not self.cases and not self.invent:
            return
        source = stages.read_source(self.path)
        core = stages.to_core(stages.check(source))
        oracle = self._oracle(core)
        if self.invent:
            self.cases = self._defined(source, generated_data(self.path, core))
        kernels = stages.to_kernels(core)
        smaller: dict[int, tuple[DataSet, Expected | None]] = {}
        for schedule in self.schedules:
            module = stages.to_host_module(kernels, schedule, self.path.stem)
            program = loaded_module.load(module, self.device)
            for case in self.cases:
                if id(case) not in smaller:
                    smaller[id(case)] = self._expected(oracle, case)
                data, expected = smaller[id(case)]
                versions = versions_of(kernels, data.entry, self.most).versions
                self.versions[data.entry] = len(versions)
                for version in versions:
                    run = VersionRun(data, schedule, version)
                    if expected is None:
                        yield replace(run, complaint="no oracle", settled=False)
                    elif deadline is not None and time.monotonic() > deadline:
                        yield replace(run, complaint="no time left", settled=False)
                    else:
                        yield _done(run, program, expected)

    def _defined(self, source: Source, cases: list[DataSet]) -> list[DataSet]:
        """The cases in which nothing happens that #[unsafe] leaves undefined."""
        text = source.text.replace(UNSAFE, " " * len(UNSAFE))
        if text == source.text:
            return cases
        checked = stages.check(Source(source.name, text))
        safe = self._oracle(stages.to_core(checked))
        return [case for case in cases if _asked(safe, case) != ""]

    def _without_large(self, cases: list[DataSet]) -> list[DataSet]:
        """Those whose data files are small, if there are any."""
        small = [case for case in cases if _file_bytes(case) <= LARGE_FILE]
        if not small:
            return cases
        self.left_out = [str(case.name) for case in cases if case not in small]
        return small

    def _oracle(self, core: CoreProgram) -> Oracle:
        from minifut.sequential.load import sequential_program

        options = stages.Options(device=self.device, use_tuning=False)
        sequential = partial(sequential_program, core, options, self.path.stem)
        return Oracle(core, partial(interpreted_program, core, {}), sequential)

    def _expected(
        self, oracle: Oracle, case: DataSet
    ) -> tuple[DataSet, Expected | None]:
        """The case, or a smaller one, and what must come of it."""
        if announced_bytes(case.case.input) > LARGE:
            small = with_smaller_values(case)
            expected = _asked(oracle, small)
            if isinstance(expected, list) or _must_fail(case):
                self.made_smaller.append(small.name)
                return small, expected
        return case, _asked(oracle, case)


def with_smaller_values(data: DataSet) -> DataSet:
    """The data set with random values of smaller sizes."""
    assert isinstance(data.case.input, RandomValues)
    text = smaller_types(data.case.input.text)
    case = replace(data.case, input=RandomValues(text))
    return replace(data, case=case, name=case_name(case, 0))


def smaller_types(text: str) -> str:
    """Types and values with each size replaced wherever it occurs."""
    sizes = [int(n) for n in re.findall(r"\[(\d+)\]", text)]
    large = list(dict.fromkeys(n for n in sizes if n > KEPT_SIZE))
    new = {n: SMALLER_SIZES[i % len(SMALLER_SIZES)] for i, n in enumerate(large)}

    def replaced(found: re.Match[str]) -> str:
        number = int(found[1])
        return f"{new.get(number, number)}"

    return re.sub(r"(?<![\w.])(\d+)(?=\]|[iu]\d+)", replaced, text)


def visible(results: Sequence[Any]) -> list[Any]:
    """The arrays and scalars in tuples and records; what is opaque stays out."""
    found: list[Any] = []
    for result in results:
        if isinstance(result, tuple):
            found += visible(result)
        elif isinstance(result, dict):
            found += visible(list(result.values()))
        elif hasattr(result, "dtype"):
            found.append(result)
    return found


def _must_fail(data: DataSet) -> bool:
    return isinstance(data.case.output, FailsWith)


def _file_bytes(data: DataSet) -> int:
    match data.case.input:
        case ValuesFile(name):
            file = data.path.parent / name
            return file.stat().st_size if file.is_file() else 0
    return 0


def _asked(oracle: Oracle, data: DataSet) -> Expected | None:
    """What must come of a run; None if there is no telling."""
    if isinstance(data.case.output, FailsWith):
        return data.case.output.regex

    def arguments(program: Program, entry: Any) -> list[Any]:
        return data.arguments(program)

    try:
        return oracle.expected(data.entry, data.case, data.path.parent, arguments)
    except ProgramError:
        return ""


def _done(run: VersionRun, program: Program, expected: Expected) -> VersionRun:
    """The run with a verdict."""
    entry = program.entry(run.data.entry)
    tuning = program.tuning
    before = dict(tuning)
    tuning.update({**before, **run.version.settings})
    try:
        given = run.data.arguments(program)
        if isinstance(expected, str):
            complaint = judge_failure(entry, given, expected)
        else:
            complaint = judge_values(visible(entry.call(given)), visible(expected))
    except MemoryError as error:
        words = str(error) or "out of memory"
        return replace(run, complaint=words, settled=False)
    except MinifutError as error:
        complaint = str(error)
    finally:
        tuning.update(before)
    return replace(run, complaint=complaint)
