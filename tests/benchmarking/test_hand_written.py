"""Hand-written kernels beside the compiler's versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minifut import stages
from minifut.benchmarking.compare import Comparison, compare
from minifut.benchmarking.datasets import DataSet, Selection, data_sets
from minifut.benchmarking.hand_written import hand_written
from minifut.benchmarking.kernel_file import read_kernel_file
from minifut.benchmarking.loaded import Loaded, load_program
from minifut.benchmarking.measure import RunPlan
from minifut.benchmarking.plot import plot_versions
from minifut.benchmarking.version_report import version_table, versions_json
from minifut.errors import UsageError
from minifut.parameters.versions import versions_of

# PoCL takes longer for large tiles without optimisation.
pytestmark = [pytest.mark.device, pytest.mark.optimised(barriers=True)]

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
-- ==
-- random input { [30][40]f32 [40][50]f32 }
entry main [n][k][m] (a: [n][k]f32) (b: [k][m]f32): [n][m]f32 =
  map (\\row -> map (\\column -> f32.sum (map2 (*) row column)) (transpose b)) a

entry ends [n] (by: i32) (r: {xs: [n]i32, from: i64}): (i32, [n]i32) =
  (by * r.xs[n - 1], map (\\x -> by * x + i32.i64 r.from) r.xs)
"""
NAIVE = """// ==
// kernel: multiply
// arguments: b, a, result, k, m
// global size: n, m
// local size: 1, 1
kernel void multiply(
    global const float *b, global const float *a, global float *c, int k, ulong m)
{
    size_t i = get_global_id(0), j = get_global_id(1);
    float sum = 0;
    for (int l = 0; l < k; l++)
        sum += a[i * k + l] * b[l * m + j];
    c[i * m + j] = sum;
}
"""
ENDS = """// ==
// kernel: scaled
// entry: ends
// arguments: r.xs, temporary, by, n
// global size: n
// local size: 1
// memory: temporary(4 * n)
kernel void scaled(global int *xs, global int *ys, int by, long n) {
    ys[get_global_id(0)] = by * xs[get_global_id(0)];
}
// ==
// kernel: moved
// entry: ends
// arguments: temporary, r.from, result.0, result.1, n - 1, local(max(4, 4 * by))
// global size: n
// local size: 1
kernel void moved(
    global int *xs, short from, global int *last, global int *ys, int end,
    local int *spare)
{
    size_t i = get_global_id(0);
    if (i == end)
        last[0] = xs[i];
    ys[i] = xs[i] + from;
}
"""
QUICK = RunPlan(runs=2, seconds=0, converge=False)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("against") / "matmul.fut"
    file.write_text(PROGRAM)
    return file


@pytest.fixture(scope="module", params=stages.SCHEDULES)
def loaded(path: Path, request: pytest.FixtureRequest) -> Loaded:
    return load_program(path, stages.Options(schedule=request.param))


def data_of(path: Path) -> DataSet:
    return data_sets(path, Selection())[0]


def compared(loaded: Loaded, *files: Path) -> Comparison:
    found = Comparison(data_of(loaded.path))
    assert loaded.kernels is not None
    versions = versions_of(loaded.kernels, "main")
    against = [read_kernel_file(file) for file in files]
    compare(found, loaded, versions, QUICK, against=against)
    return found


def kernel_file(folder: Path, text: str) -> Path:
    file = folder / "mine.cl"
    file.write_text(text)
    return file


def test_every_kind_of_product_stands_beside_the_kernel_by_hand(
    loaded: Loaded, tmp_path: Path
) -> None:
    found = compared(loaded, kernel_file(tmp_path, NAIVE))
    assert [entrant.name for entrant in found.entrants] == [
        "outer, untiled",
        "full, untiled",
        "block tiled",
        "block + register tiled",
        "block + register tiled, split",
        "hand-written",
    ]
    assert not found.is_wrong
    assert all(len(e.candidate.seconds) >= 2 for e in found.entrants)
    assert "\nhand-written " in version_table(found)
    (described,) = versions_json([found]).values()
    (data,) = described["datasets"].values()
    assert data["versions"]["hand-written"]["agrees"] is True
    assert b"hand-written" in plot_versions([found], "svg")


def test_wrong_results_are_seen(loaded: Loaded, tmp_path: Path) -> None:
    wrong = kernel_file(tmp_path, NAIVE.replace("float sum = 0", "float sum = 9"))
    found = compared(loaded, wrong, wrong)
    first, second = found.entrants[-2:]
    assert first.name == "hand-written (mine)" and found.is_wrong
    assert first.wrong and second.wrong and not found.entrants[0].wrong


BY_HAND = sorted((ROOT / "benchmarks" / "hand_written").glob("matmul_*.cl"))


@pytest.mark.parametrize("file", BY_HAND, ids=lambda file: file.stem)
def test_the_kernels_of_the_benchmarks_are_right(loaded: Loaded, file: Path) -> None:
    found = compared(loaded, file)
    failure = found.entrants[-1].candidate.failure
    if failure and "of local memory; the device has" in failure:
        pytest.skip(failure)
    assert found.entrants[-1].agrees, failure


def test_several_launches_and_all_kinds_of_arguments(
    path: Path, tmp_path: Path
) -> None:
    program = load_program(path, stages.Options(schedule="cpu")).program
    entry = program.entry("ends")
    assert entry.prepare is not None
    xs = np.arange(1, 6, dtype=np.int32)
    call: Any = entry.prepare((3, {"xs": xs, "from": 7}))
    assert call() > 0
    other = hand_written(read_kernel_file(kernel_file(tmp_path, ENDS)), call)
    for _ in range(2):
        assert other() > 0
        last, ys = other.results()
        assert last == 15
        np.testing.assert_array_equal(ys, 3 * xs + 7)
    assert other.nbytes == call.nbytes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("k, m\n", "k, q\n", "mine.cl:1: the entry point main has no 'q'"),
        ("b, a, result", "b, a, resalt", "has no 'resalt'; did you mean 'result'?"),
        ("size: n,", "size: a,", "main has no 'a'"),
        (": multiply", ": multipli", "no kernel 'multipli'; the file has multiply"),
        ("result, k, m", "result, k", "multiply takes 5 arguments, 4 are given"),
        ("result, k", "k, result", "parameter 3 of multiply, c, is an array; it is "
         "given k, a number"),
        (", k, m", ", k, local(4)", "parameter 5 of multiply, m, is a number; it is"),
        ("m)\n{", "m, float2 q)\n{", "multiply takes 6 arguments, 5 are given"),
        ("ulong m)\n{", "float2 q)\n{ int m = 1;", "5 of multiply, q, is of type float2"),
        ("float sum", "flaot sum", "mine.cl: "),
    ],
)  # fmt: skip
def test_files_that_do_not_fit(
    path: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    loaded = load_program(path, stages.Options(schedule="cpu"))
    with pytest.raises(UsageError) as raised:
        compared(loaded, kernel_file(tmp_path, NAIVE.replace(old, new)))
    assert message in str(raised.value)


def test_too_much_local_memory_is_a_failure(path: Path, tmp_path: Path) -> None:
    loaded = load_program(path, stages.Options(schedule="cpu"))
    text = NAIVE.replace("result, k, m", f"result, k, m, local({1 << 40})")
    text = text.replace("ulong m)", "ulong m, local int *spare)")
    found = compared(loaded, kernel_file(tmp_path, text))
    failure = found.entrants[-1].candidate.failure
    assert failure is not None
    assert "multiply needs 1099511627776 bytes of local memory; the device" in failure


def test_a_launch_that_the_device_refuses_is_a_failure(
    path: Path, tmp_path: Path
) -> None:
    loaded = load_program(path, stages.Options(schedule="cpu"))
    text = NAIVE.replace("local size: 1, 1", "local size: 7, 1")
    found = compared(loaded, kernel_file(tmp_path, text))
    failure = found.entrants[-1].candidate.failure
    assert failure is not None and "multiply over (30, 50) work-items" in failure
