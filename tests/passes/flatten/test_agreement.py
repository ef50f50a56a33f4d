"""Every version of the small programs agrees with the interpreter, in both schedules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.benchmarking.agreement import Agreement

PROGRAMS = sorted((Path(__file__).parents[2] / "programs").glob("*.fut"))

WITH_GROUPS = {"three_scans", "groups", "nested_loop"}
LARGE_TILES = {"matmul"}
"""for which PoCL takes longer without optimisation"""


def marked(path: Path) -> Any:
    """The program with how its kernels are built."""
    mark = pytest.mark.optimised(barriers=path.stem in LARGE_TILES)
    return pytest.param(path, id=path.stem, marks=mark)


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("path", [*map(marked, PROGRAMS)])
def test_every_version_agrees(path: Path) -> None:
    runs = list(Agreement(path).runs())
    for run in runs:
        assert run.complaint is None, f"{run}: {run.complaint}"
    if path.stem in WITH_GROUPS:
        assert any("intra" in name for run in runs for name in run.version.settings)
