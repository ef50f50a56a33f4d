"""Versions of programs on the device, forced and judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minifut import stages
from minifut.benchmarking.bench import BenchOutcome, bench
from minifut.benchmarking.compare import Comparison, compare
from minifut.benchmarking.datasets import DataSet, Selection, data_sets
from minifut.benchmarking.loaded import Loaded, load_program
from minifut.benchmarking.measure import RunPlan
from minifut.benchmarking.plot import plot_versions
from minifut.benchmarking.report import bench_json, result_line
from minifut.benchmarking.version_report import version_table, versions_json
from minifut.errors import UsageError
from minifut.parameters.versions import Versions, versions_of
from minifut.testing.blocks import ValuesText

pytestmark = pytest.mark.device

NORM = """
-- ==
-- random input { [40][30]f32 } auto output
-- "fails" input { [[0f32, 1f32]] } output { [[1f32, 2f32]] }
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\\xs -> let s = f32.sum xs in map (/ s) xs) xss

-- ==
-- entry: at consume
-- input { [1i64, 2i64, 3i64] 1i64 }
-- input { [1i64, 2i64, 3i64] 7i64 }
entry at (xs: []i64) (i: i64): i64 = xs[i]

entry consume (xs: *[]i64) (i: i64): []i64 = xs with [i] = 5
"""
NAME = "main.map_reduce_map.outer"
QUICK = RunPlan(runs=2, seconds=0, converge=False)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("bench") / "norm.fut"
    file.write_text(NORM)
    return file


@pytest.fixture(scope="module")
def loaded(path: Path) -> Loaded:
    return load_program(path, stages.Options(schedule="cpu"))


@pytest.fixture(scope="module")
def data(path: Path) -> dict[str, DataSet]:
    return {f"{d.entry} {d.name}": d for d in data_sets(path, Selection())}


@pytest.fixture(scope="module")
def versions(loaded: Loaded) -> Versions:
    assert loaded.kernels is not None
    return versions_of(loaded.kernels, "main")


@pytest.fixture(scope="module")
def comparison(
    loaded: Loaded, data: dict[str, DataSet], versions: Versions
) -> Comparison:
    found = Comparison(data["main [40][30]f32"])
    compare(found, loaded, versions, QUICK)
    return found


def test_every_version_is_run_and_agrees(comparison: Comparison) -> None:
    names = [entrant.name for entrant in comparison.entrants]
    assert {"outer", "full"} <= set(names) and len(set(names)) == len(names)
    assert not comparison.is_wrong and comparison.best is not None
    assert all(len(e.candidate.seconds) >= 2 for e in comparison.entrants)
    assert len({e.path for e in comparison.entrants}) == len(comparison.entrants)
    assert comparison.nbytes == 2 * 40 * 30 * 4
    assert comparison.judged_by == "an independent run"


def test_the_current_parameters_choose_and_stay(
    loaded: Loaded, data: dict[str, DataSet], versions: Versions
) -> None:
    tuning = loaded.program.tuning
    for value, name in ((0, "outer"), (1 << 60, "full")):
        tuning.reset()
        tuning[NAME] = value
        before = dict(tuning)
        found = Comparison(data["main [40][30]f32"])
        compare(found, loaded, versions, QUICK)
        assert found.chosen is not None and found.chosen.name == name
        assert dict(tuning) == before
    tuning.reset()


def test_a_version_with_wrong_results_is_named(
    loaded: Loaded, data: dict[str, DataSet], versions: Versions
) -> None:
    found = Comparison(data["main fails"])
    compare(found, loaded, versions, QUICK)
    assert found.judged_by == "the expected results" and found.is_wrong
    assert all(e.wrong and not e.agrees for e in found.entrants)
    table = version_table(found)
    assert "wrong results" in table and "outer: " in table
    (described,) = versions_json([found]).values()
    for version in described["datasets"]["fails"]["versions"].values():
        assert version["agrees"] is False and version["error"]
    assert plot_versions([found])


def test_the_table_and_the_json(comparison: Comparison, path: Path) -> None:
    title, header, *rows = version_table(comparison).splitlines()
    assert title == f"{path}, [40][30]f32 (0.0 MB), judged by an independent run"
    assert header.split() == [
        "version", "best", "time", "runs", "GB/s", "speed-up",
    ]  # fmt: skip
    first = next(row for row in rows if row.startswith("outer"))
    assert " 1.00" in first and sum("chosen" in row for row in rows) == 1
    described = versions_json([comparison])[str(path)]["datasets"]["[40][30]f32"]
    outer = described["versions"]["outer"]
    assert outer["agrees"] is True and outer["params"][NAME] == 0
    assert all(isinstance(us, int) and us > 0 for us in outer["runtimes"])
    assert described["chosen"] in described["versions"]


def test_the_figure(comparison: Comparison) -> None:
    assert plot_versions([comparison]).startswith(b"\x89PNG")
    assert plot_versions([comparison] * 30, "svg").startswith(b"<?xml")
    with pytest.raises(UsageError, match=r"cannot be written as \.doc"):
        plot_versions([comparison], "doc")


def test_data_sets_are_measured_and_judged(
    loaded: Loaded, data: dict[str, DataSet], path: Path
) -> None:
    right = BenchOutcome(data["main [40][30]f32"])
    wrong = BenchOutcome(data["main fails"])
    stray = BenchOutcome(data['at #1 ("[1i64, 2i64, 3i64] 7i64")'])
    for outcome in (right, wrong, stray):
        bench(outcome, loaded, RunPlan(runs=3, seconds=0.001))
    assert right.failure is None and len(right.candidate.seconds) >= 3
    assert right.peak >= 40 * 30 * 4
    assert wrong.failure is not None
    assert stray.failure is not None and "out of bounds" in stray.failure
    found = bench_json([right, wrong, stray])
    assert set(found) == {str(path), f"{path}:at"}
    entry = found[str(path)]["datasets"]
    assert set(entry["[40][30]f32"]) == {"runtimes", "bytes", "stderr"}
    assert isinstance(entry["fails"], str)
    assert "95% CI" in result_line(right, 20)


def test_what_is_consumed_is_there_again_in_the_next_run(
    loaded: Loaded, data: dict[str, DataSet]
) -> None:
    call = loaded.timed(data['consume #0 ("[1i64, 2i64, 3i64] 1i64")'])
    for _ in range(3):
        assert call() > 0
        np.testing.assert_array_equal(call.results()[0], [1, 5, 3])
    assert call.nbytes >= 2 * 3 * 8


def test_a_failing_run_leaves_the_call_usable(
    loaded: Loaded, data: dict[str, DataSet]
) -> None:
    first = data['at #0 ("[1i64, 2i64, 3i64] 1i64")']
    wild = replace(first.case, input=ValuesText("[1i64] 9i64"))
    call = loaded.timed(first)
    assert call.results() == (2,)
    other = BenchOutcome(replace(first, case=wild))
    bench(other, loaded, QUICK)
    assert other.failure is not None
    assert call() > 0 and call.results() == (2,)


def test_backends_without_a_device_are_measured_too(
    path: Path, data: dict[str, DataSet]
) -> None:
    interpreted = load_program(path, stages.Options(backend="interpreter"))
    assert interpreted.kernels is None
    outcome = BenchOutcome(data["main fails"])
    bench(outcome, interpreted, QUICK)
    assert outcome.failure is not None and len(outcome.candidate.seconds) == 2


def test_a_limit_ends_a_data_set(loaded: Loaded, data: dict[str, DataSet]) -> None:
    outcome = BenchOutcome(data["main [40][30]f32"])
    bench(outcome, loaded, RunPlan(runs=10**6, limit=0.1))
    assert outcome.failure == "took more than 0.1 s"
