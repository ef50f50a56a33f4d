"""Every version of the small programs agrees with the interpreter, in both schedules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarking.agreement import Agreement

PROGRAMS = sorted((Path(__file__).parents[2] / "programs").glob("*.fut"))

WITH_GROUPS = {"three_scans", "groups", "nested_loop"}


@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_version_agrees(path: Path) -> None:
    runs = list(Agreement(path).runs())
    for run in runs:
        assert run.complaint is None, f"{run}: {run.complaint}"
    if path.stem in WITH_GROUPS:
        assert any("intra" in name for run in runs for name in run.version.settings)
