"""Programs from source: each step of the pipeline keeps what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minifut import stages
from minifut.ir.core import Program
from minifut.ir.parser import names_after
from minifut.passes.pipelines import PipelineOptions, run_pipeline
from tests.passes.meaning import assert_same, outcome

FOLDER = Path(__file__).parent.parent / "programs"


def whole(*numbers: Any, dtype: type = np.int64) -> np.ndarray:
    return np.array(numbers, dtype)


def table(rows: int, columns: int, dtype: type) -> np.ndarray:
    return np.arange(rows * columns).reshape(rows, columns).astype(dtype)


ARGUMENTS: dict[str, list[list[Any]]] = {
    "matmul": [
        [table(2, 3, np.float32), table(3, 4, np.float32)],
        [table(2, 0, np.float32), table(0, 4, np.float32)],
    ],
    "segmented_sums": [[table(3, 4, np.int64)], [table(3, 0, np.int64)]],
    "irregular": [[whole(0, 3, 1, 5)], [whole()]],
    "in_place": [[whole(3, 1, 2, 5, dtype=np.int32)], [whole(1, dtype=np.int32)]],
    "scatter_and_histogram": [
        [whole(0, 2, 9, -1, 2), whole(1, 2, 3, 4, 5, dtype=np.int32)]
    ],
    "existential": [
        [whole(5, -1, 7, 0, dtype=np.int32), np.True_],
        [whole(5, -1, 7, 0, dtype=np.int32), np.False_],
    ],
    "flattened_windows": [
        [
            (table(12, 6, np.float32) % 7).reshape(2, 6, 6),
            (table(18, 2, np.float32) % 5).reshape(3, 2, 3, 2),
        ],
    ],
    "flattened_rows": [[np.int64(2), (table(12, 6, np.float32) % 7).reshape(2, 6, 6)]],
    "views_in_branches": [
        [np.False_, np.int64(1), table(4, 3, np.int32)],
        [np.True_, np.int64(1), table(2, 0, np.int32)],
    ],
    "checked_rows": [
        [table(2, 2, np.int32), whole(10, 20, dtype=np.int32), whole(1, 0)],
        [table(2, 2, np.int32), whole(10, 20, dtype=np.int32), whole(1, 7)],
        [table(2, 0, np.int32), whole(10, 20, dtype=np.int32), whole(1, 7)],
        [table(0, 0, np.int32), whole(10, 20, dtype=np.int32), whole()],
    ],
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_step_keeps_the_results(name: str) -> None:
    source = stages.read_source(FOLDER / f"{name}.fut")
    program = stages.to_core(stages.check(source))
    expected = [outcome(program, given) for given in ARGUMENTS[name]]
    steps: list[tuple[str, Program]] = []
    options = PipelineOptions(
        dump_after=frozenset({"all"}),
        on_dump=lambda step, after: steps.append((step, after)),
    )
    run_pipeline(program, names_after(program), options=options)
    for step, after in steps:
        for given, wanted in zip(ARGUMENTS[name], expected, strict=True):
            assert_same(wanted, outcome(after, given), step)


def test_an_empty_row_does_not_hide_a_failing_check() -> None:
    source = stages.read_source(FOLDER / "checked_rows.fut")
    program = stages.to_kernels(stages.to_core(stages.check(source)))
    answer = outcome(program, ARGUMENTS["checked_rows"][2])
    assert isinstance(answer, str) and "out of bounds" in answer
