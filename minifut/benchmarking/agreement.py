"""Whether every version of a program gives the same results as an independent run.

Each entry point is run on the data sets of the program's test blocks, once for every
version (thresholds 0 and never, at most `MOST` combinations of an entry point), in each
schedule; the expected results come from the interpreter, or the sequential kernel where
that takes too long. A version that needs more memory than the device has says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from minifut import compiler
from minifut.benchmarking.datasets import DataSet, Selection, data_sets
from minifut.benchmarking.loaded import Loaded, load_program
from minifut.benchmarking.versions import MOST, Version, versions_of
from minifut.errors import MinifutError
from minifut.testing.judge import judge_values

SCHEDULES = ("cpu", "gpu")
DISABLED = frozenset({"disable"})


@dataclass(frozen=True, slots=True)
class Run:
    """One version on one data set; `complaint` is None if it agrees."""

    data: DataSet
    schedule: str
    version: Version
    complaint: str | None


def runs_of(
    path: Path,
    schedules: Sequence[str] = SCHEDULES,
    most: int = MOST,
    device: str | None = None,
) -> Iterator[Run]:
    """Every version on every data set, as they come. Raises `CompileError` and
    `UsageError` if the program or its data cannot be used at all."""
    wanted = data_sets(path, Selection(excluded=DISABLED))
    if not wanted:
        return
    for schedule in schedules:
        options = compiler.Options(device=device, schedule=schedule, use_tuning=False)
        loaded = load_program(path, options)
        for data in wanted:
            yield from _runs(loaded, data, schedule, most)


def _runs(loaded: Loaded, data: DataSet, schedule: str, most: int) -> Iterator[Run]:
    assert loaded.kernels is not None
    expected = loaded.expected(data)
    if expected is None:
        return
    tuning = loaded.program.tuning
    before = dict(tuning)
    entry = loaded.program.entry(data.entry)
    for version in versions_of(loaded.kernels, data.entry, most).versions:
        tuning.update({**before, **version.settings})
        try:
            given = data.arguments(loaded.program)
            complaint = judge_values(entry.call(given), expected)
        except MemoryError:
            continue
        except MinifutError as error:
            complaint = str(error)
        yield Run(data, schedule, version, complaint)
    tuning.update(before)
