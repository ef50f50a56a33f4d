"""What is run to compare versions, and what counts as agreement."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.interpreted import interpreted_program
from minifut.ir.core import Program
from minifut.testing.judge import case_arguments
from tests.benchmarking.agreement import Agreement, smaller_types, visible
from tests.benchmarking.generated_data import SIZES, generated_data

ROOT = Path(__file__).parents[2]
PROGRAM = """
-- ==
-- input { [1, 0] } error: zero
-- input { [1, 2] } output { 4 }
entry main (xs: []i32) = reduce (+) 0 (map (3 /) xs)
"""
WRONG = PROGRAM.replace("error: zero", "error: too hot")


def test_large_sizes_are_replaced_wherever_they_occur() -> None:
    text = "[10000][512]f32 [512]f32 10000i64 [3]i8 512 0.5f32"
    assert smaller_types(text) == "[67][131]f32 [131]f32 67i64 [3]i8 512 0.5f32"
    assert smaller_types("[64]f32") == "[64]f32"


def test_arrays_are_seen_in_tuples_and_records() -> None:
    one, two = np.int32(1), np.arange(2)
    assert visible([(one, ()), {"a": two}, "opaque"]) == [one, two]


def core_of(text: str) -> Program:
    return stages.to_core(stages.check(Source("a.fut", text)))


def test_data_are_made_up_from_types() -> None:
    text = (
        "entry f [n][m] (xs: [n][m]u8) (k: i64) (ys: [m]bool) = (xs, k, ys)\n"
        "entry g (n: i64) (xs: [n]f32) = xs\n"
        "entry h (p: (i32, i32)) = p.0\n"
    )
    core = core_of(text)
    program = interpreted_program(core)
    shapes, linked = [], 0
    for data in generated_data(Path("a.fut"), core):
        entry = program.entry(data.entry)
        values = case_arguments(program, entry, data.case.input, Path())
        if data.entry == "g":
            linked += values[1].shape == (values[0],)
        else:
            assert len(entry.call(values)) == 3
            shapes.append((*values[0].shape, *values[2].shape))
            assert values[1] >= 0
    assert linked >= 3
    assert shapes == [(n, m, m) for n, m, _ in SIZES]


def test_what_unsafe_leaves_unchecked_is_reported_by_the_interpreter() -> None:
    program = interpreted_program(core_of("entry f (i: i64) = #[unsafe] (iota 3)[i]"))
    assert program.f(np.int64(2)) == 2
    with pytest.raises(ProgramError, match="unsafe"):
        program.f(np.int64(7))


@pytest.mark.device
def test_runs_must_fail_where_they_have_to(tmp_path: Path) -> None:
    path = tmp_path / "a.fut"
    path.write_text(PROGRAM)
    runs = list(Agreement(path).runs())
    assert len(runs) == 4 and all(run.complaint is None for run in runs)
    path.write_text(WRONG)
    complaints = [run.complaint for run in Agreement(path, schedules=("cpu",)).runs()]
    assert complaints[0] is not None and "too hot" in complaints[0]
    assert complaints[1:] == [None]


@pytest.mark.device
def test_without_time_runs_are_reported_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "a.fut"
    path.write_text(PROGRAM)
    runs = list(Agreement(path).runs(deadline=0))
    assert [run.complaint for run in runs] == ["no time left"] * 4
    assert not any(run.settled for run in runs)


@pytest.mark.device
def test_the_harness_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    (tmp_path / "a.fut").write_text(PROGRAM)
    (tmp_path / "b.fut").write_text(WRONG)
    results = tmp_path / "results"

    def harness(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchmarks.agreement", str(tmp_path)]
        command += ["--results", str(results), *options]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert harness("--limit", "1").returncode == 0
    done = harness()
    assert done.returncode == 1 and done.stdout.startswith("DISAGREES b.fut")
    lines = [json.loads(text) for text in results.read_text().splitlines()]
    assert [(x["program"], x["runs"]) for x in lines] == [("a.fut", 4), ("b.fut", 2)]
