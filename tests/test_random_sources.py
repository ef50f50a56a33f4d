"""Random programs: well-typed, and alike in every version and schedule.

`python -m tests.random_sources` and `benchmarks/agreement.py --invent` do so with as
many as one likes.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.campaign.passes import check_passes, check_related
from benchmarks.campaign.subject import Subject
from minifut import stages
from minifut.errors import Source
from tests.benchmarking.agreement import Agreement
from tests.random_sources import random_source
from tests.random_sources.program import random_program
from tests.random_sources.relations import RELATIONS, Relation

pytestmark = pytest.mark.optimised(barriers=True)


def test_programs_are_well_typed_and_the_same_for_the_same_seed() -> None:
    for seed in range(25):
        text = random_source(seed)
        stages.check(Source(f"seed{seed}.fut", text))
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


@pytest.mark.parametrize("relation", RELATIONS)
def test_related_programs_give_the_same(relation: Relation) -> None:
    found = 0
    for seed in range(1000):
        program = random_program(seed, small=True)
        other = relation(program, random.Random(seed))
        if other is None:
            continue
        assert str(other) != str(program)
        check_related(str(other), Subject(str(program), seed), relation.__name__)
        found += 1
        if found == 3:
            return
    pytest.fail(f"{relation.__name__} has nothing to work on")


@pytest.mark.parametrize("seed", range(4))
def test_passes_keep_what_programs_mean(seed: int) -> None:
    assert check_passes(seed).compared > 3


def test_every_kind_of_statement_is_made() -> None:
    texts = " ".join(random_source(seed) for seed in range(150))
    for part in (
        "vjp ", "jvp ", "scatter_stream", "hist_stream", "reduce_by_index", "scatter ",
        "#one", "match ", "{a = ", "module ", "folds ", "filter ", " with [", "::2]",
        "while ", ".nan", ".lowest", "rotate ", "transpose ", "for x", "f16", " ^ (1 << ",
        " :> [", "i64.bool (",
    ):  # fmt: skip
        assert part in texts, part
