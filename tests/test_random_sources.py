"""Random programs: well-typed, and alike in every version and schedule.

`python -m tests.random_sources` and `benchmarks/agreement.py --invent` do so with as
many as one likes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from minifut import compiler
from minifut.errors import Source
from tests.benchmarking.agreement import Agreement
from tests.random_sources import random_source


def test_programs_are_well_typed_and_the_same_for_the_same_seed() -> None:
    for seed in range(25):
        text = random_source(seed)
        compiler.check(Source(f"seed{seed}.fut", text))
        assert text == random_source(seed)


@pytest.mark.device
@pytest.mark.parametrize("seed", [3, 8])
def test_versions_agree(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "random.fut"
    path.write_text(random_source(seed))
    runs = list(Agreement(path, invent=True).runs())
    assert len(runs) >= 8
    for run in runs:
        assert run.settled and run.complaint is None, f"{run}: {run.complaint}"
