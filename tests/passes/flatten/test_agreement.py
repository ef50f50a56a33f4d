"""Every version of the small programs agrees with the interpreter, in both schedules."""

from __future__ import annotations

from pathlib import Path

import pytest

from minifut.benchmarking.agreement import runs_of

PROGRAMS = sorted((Path(__file__).parents[2] / "programs").glob("*.fut"))

WITH_GROUPS = {"three_scans", "groups", "nested_loop"}


@pytest.mark.device
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_version_agrees(path: Path) -> None:
    runs = list(runs_of(path))
    for run in runs:
        told = f"{run.data.name} {run.schedule} {run.version.name}"
        assert run.complaint is None, f"{told}: {run.complaint}"
    if path.stem in WITH_GROUPS:
        assert any("intra" in name for run in runs for name in run.version.settings)
