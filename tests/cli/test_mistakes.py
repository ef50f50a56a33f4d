"""What people do wrong, and what the system does to them: one line, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from minifut.cli import main

PROGRAM = """
entry add (x: i64) (y: f32) = (x + 1, y)
entry square [n] (m: [n][n]f64): [n]f64 = map f64.sum m
entry triple (xs: [3]u8) = xs
entry count (n: i64) = iota n
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "a.fut"
    path.write_text(PROGRAM)
    return str(path)


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def run(file: str, entry: str, *args: str) -> Result:
    return invoke("run", file, "--backend", "interpreter", "-e", entry, *args)


def test_numbers_without_suffix_take_the_type_of_the_parameter(file: str) -> None:
    assert run(file, "add", "3000000000", "2").output == "3000000001i64\n2.0f32\n"
    assert run(file, "triple", "[1, 2, 255]").output == "[1u8, 2u8, 255u8]\n"
    assert run(file, "square", "[[1, 2.5], [3, 4]]").output == "[3.5f64, 7.0f64]\n"


@pytest.mark.parametrize(
    ("entry", "args", "message"),
    [
        ("add", ["1i32", "2"], "parameter x of add: i64 is expected, got i32"),
        ("add", ["1.5", "2"], "parameter x of add: i64 is expected, got f64"),
        ("add", ["9" * 20, "2"], "is out of the range of i64"),
        ("triple", ["[1, 2, 256]"], "is expected, got []i32"),
        ("add", [], "add takes 2 values (x: i64, y: f32), none given"),
        ("count", ["1", "2"], "count takes 1 value (n: i64), 2 given"),
        ("square", ["[1, 2]"], "is expected, got []"),
    ],
)
def test_wrong_values(file: str, entry: str, args: list[str], message: str) -> None:
    result = run(file, entry, *args)
    assert result.exit_code == 2 and message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["1", "2"],
            "no entry point 'main'; there are: add, count, square, triple; na",
        ),
        (["-e", "trple", "1"], "no entry point 'trple'; did you mean 'triple'?\n"),
        (["-e", "triple", "data.csv"], "'data.csv' (there is no such file either)"),
        (["-e", "triple", "xs.npz"], "np.save(name, archive[name])"),
        (["-e", "triple", "xs.npy"], "use .astype(np.uint8) before the array is saved"),
        (["-e", "count", "3", "-o", "out.txt"], "out.txt: results are saved as .npy"),
    ],
)
def test_wrong_files_and_entries(
    file: str,
    args: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("xs.npz", xs=[1, 2, 3])
    np.save("xs.npy", np.arange(3.0))
    result = invoke("run", file, "--backend", "interpreter", *args)
    assert result.exit_code == 2 and message in result.stderr
    assert result.stdout == "" and not Path("out.txt").exists()


@pytest.mark.parametrize("command", ["compile", "wheel"])
def test_a_program_without_entry_points_makes_no_module(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lib.fut").write_text("def f (x: i32) = x")
    result = invoke(command, "lib.fut")
    assert result.exit_code == 2 and "`entry`, not `def`" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["lib.fut"]


def test_all_options_of_dataset_are_read_before_values_are_printed() -> None:
    result = invoke("dataset", "-g", "[2]i32", "--i32-bounds=5")
    assert result.exit_code == 2 and result.stdout == ""


def test_the_nearest_pass_is_named(file: str) -> None:
    result = invoke("dev", file, "--dump-after", "fues")
    assert "did you mean 'fuse'" in result.stderr


@pytest.mark.parametrize("option", ["--dump-after", "--stop-after"])
def test_a_pass_of_the_other_schedule_says_which(option: str, tmp_path: Path) -> None:
    file = tmp_path / "p.fut"
    file.write_text("entry main [n] (xs: [n]i32) = map (+ 1) xs")
    result = invoke("dev", str(file), option, "narrow")
    assert result.exit_code == 2
    assert "pass 'narrow' is for the gpu: add --schedule gpu" in result.output
    found = invoke("dev", str(file), option, "narrow", "--schedule", "gpu")
    assert found.exit_code == 0
    assert "kernel main_mapped" in found.output


@pytest.mark.device
def test_a_size_is_called_as_it_is_written(file: str) -> None:
    result = invoke("run", file, "-e", "square", "[[1, 2, 3], [4, 5, 6]]")
    assert result.exit_code == 2
    assert "dimension 1 must be 2 (n, from argument m), got 3" in result.stderr


def test_no_result_is_saved_unless_all_are(file: str, tmp_path: Path) -> None:
    outputs = ["-o", str(tmp_path / "x.npy"), "-o", str(tmp_path / "no" / "y.npy")]
    assert run(file, "add", "1", "2", *outputs).exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.fut"]


def start(file: str, *args: str, **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "minifut", "run", file, "--backend", "interpreter"]
    return subprocess.Popen([*command, *args], stderr=subprocess.PIPE, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_went_away(file: str, unbuffered: str) -> None:
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    args = ("-e", "count", "100000")
    with start(file, *args, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(1) == b"["
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_standard_output_that_is_closed(file: str) -> None:
    command = [sys.executable, "-m", "minifut", "run", file, "-e", "count", "3"]
    shell = " ".join([*command, "--backend", "interpreter", ">&-"])
    done = subprocess.run(shell, shell=True, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "minifut: standard output is closed\n"


def test_tests_without_programs(tmp_path: Path) -> None:
    result = invoke("test", tmp_path)
    assert result.exit_code == 2 and "no .fut file in" in result.stderr


def test_tests_whose_data_is_missing(tmp_path: Path) -> None:
    blocks = "-- ==\n-- input @ in.txt\n-- script input @ script.txt\n-- input { 1 }\n"
    (tmp_path / "a.fut").write_text(
        f"{blocks}-- output @ out.txt\ndef main (x: i32) = x"
    )
    result = invoke("test", tmp_path, "--backend", "interpreter")
    assert result.exit_code == 1
    for name in ("in.txt", "script.txt", "out.txt"):
        assert f"{name}: cannot be read: no such file" in result.stdout
    assert "internal" not in result.stdout


def test_loops_nested_deeper_than_python_allows(tmp_path: Path) -> None:
    outer = " ".join(f"loop y = {name} for i < 2 do" for name in ["xs", *["y"] * 24])
    path = tmp_path / "a.fut"
    path.write_text(f"def main [n] (xs: [n]i64) = {outer} map2 (+) y (reverse y)")
    result = invoke("compile", path)
    assert result.exit_code == 0, result.stderr
    module = path.with_suffix(".py")
    assert "def main_part(" in module.read_text()


def test_arrays_of_more_dimensions_than_numpy_has(tmp_path: Path) -> None:
    path = tmp_path / "a.fut"
    path.write_text(f"def main (x: i64) = {'[' * 40}x{']' * 40}")
    result = invoke("compile", path)
    assert result.exit_code == 2
    assert "a.fut:1:1: error: The entry point main" in result.stderr


def test_a_long_line_is_shown_in_part(tmp_path: Path) -> None:
    path = tmp_path / "a.fut"
    path.write_text(f"def main (x: i64) = x{' + x' * 200} + unknown{' + x' * 200}")
    result = invoke("check", path)
    lines = result.stderr.splitlines()
    assert max(map(len, lines)) < 200
    at = lines[2].index("^")
    assert lines[1][at:].startswith("unknown") and "^" * 7 in lines[2]


def test_failures_are_reported_where_the_program_is_theirs(tmp_path: Path) -> None:
    path = tmp_path / "a.fut"
    path.write_text("def main [n] (xs: [n]i32) = map2 (/) xs xs")
    result = invoke("run", path, "--backend", "interpreter", "[1, 0]")
    assert result.exit_code == 1 and "division by zero" in result.stderr
    assert f"-> #0  {path}:1:" in result.stderr and "prelude/" not in result.stderr


def test_a_full_disk(file: str) -> None:
    with open("/dev/full", "wb") as full:
        done = start(file, "-e", "count", "3", stdout=full)
        _, message = done.communicate(timeout=60)
    assert done.returncode == 1
    told = b"minifut: standard output cannot be written: no space left on device"
    assert message.strip() == told


def test_a_bench_that_measures_nothing_says_so(file: str) -> None:
    result = invoke("bench", file)
    assert result.exit_code == 0
    assert "nothing to measure" in result.stderr and "--data" in result.stderr


@pytest.mark.device
def test_no_database_of_others_is_used(file: str, tmp_path: Path) -> None:
    """pyopencl's would end programs where it is damaged."""
    cache = tmp_path / "cache"
    done = subprocess.run(
        [sys.executable, "-m", "minifut", "run", file, "-e", "count", "3"],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"XDG_CACHE_HOME": str(cache)},
    )
    assert done.stdout == "[0i64, 1i64, 2i64]\n" and done.stderr == ""
    assert not list(cache.rglob("*.sqlite"))


@pytest.mark.device
def test_a_home_without_a_cache_folder(file: str, tmp_path: Path) -> None:
    """Whatever folder the tests themselves keep their caches in."""
    home = tmp_path / "home"
    home.write_text("a file, not a folder")
    named = ("XDG_CACHE_HOME", "MINIFUT_CACHE")
    environment = {k: v for k, v in os.environ.items() if k not in named}
    done = subprocess.run(
        [sys.executable, "-m", "minifut", "run", file, "-e", "count", "3"],
        capture_output=True,
        text=True,
        timeout=100,
        env=environment | {"HOME": str(home)},
    )
    assert done.stdout == "[0i64, 1i64, 2i64]\n"
    assert done.stderr.startswith("nothing is kept between runs: ")
    assert done.stderr.count("\n") == 1 and "set MINIFUT_CACHE" in done.stderr


@pytest.mark.parametrize("command", ["test", "bench", "autotune"])
def test_an_entry_point_without_tests(command: str, tmp_path: Path) -> None:
    path = tmp_path / "mean.fut"
    path.write_text(
        "-- ==\n-- entry: mean\n-- input { [1i64, 3i64] } output { 2i64 }\n"
        "entry mean [n] (xs: [n]i64) = i64.sum xs / n\n"
    )
    result = invoke(command, path, "-e", "maen")
    assert result.exit_code == 2
    assert "no tested entry point 'maen'; did you mean 'mean'?" in result.output


def test_what_cannot_be_written_is_reported_before_the_work(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("worked before it looked")

    monkeypatch.setattr("minifut.compiler.compile_program", work)
    monkeypatch.setattr("minifut.benchmarking.loaded.load_program", work)
    data = tmp_path / "values"
    data.write_text("3i64")
    for args in (
        ("run", file, "-e", "count", "3", "-o", tmp_path),
        ("bench", file, "--data", data, "-e", "count", "--json", tmp_path / "no" / "x"),
        ("autotune", file, "--data", data, "-e", "count", "--json", tmp_path),
    ):
        result = invoke(*args)
        assert result.exit_code == 2 and "cannot be written" in result.stderr
    missing = ("run", file, "-e", "count", "3", "-o", tmp_path / "no" / "x.npy")
    assert "x.npy: cannot be written: its folder does not exist" in (
        invoke(*missing).stderr
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.fut", "values"]


def test_a_word_is_no_binary_value(file: str) -> None:
    result = run(file, "count", "bad")
    assert "argument 1 (bad): byte 0: a value was expected" in result.stderr


def test_a_file_that_is_no_printed_ir_is_named(tmp_path: Path) -> None:
    path = tmp_path / "values.txt"
    path.write_text("[1, 2")
    result = invoke("dev", path)
    assert result.exit_code == 2 and f"{path}: this is not printed IR" in result.stderr


@pytest.mark.parametrize("command", ["test", "bench", "autotune"])
def test_a_time_limit_that_is_none(command: str, file: str) -> None:
    for seconds in ("-3", "nan"):
        result = invoke(command, file, "--timeout", seconds)
        assert result.exit_code == 2 and "'--timeout'" in result.stderr


def test_a_kernel_that_does_not_end_ends_the_tests(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minifut.testing.runner import Report

    def stuck(path: Path, options: object) -> Report:
        return Report(path, ["took more than 1 s"], is_stuck=True)

    monkeypatch.setattr("minifut.testing.runner.run_program", stuck)
    result = invoke("test", file, file, file)
    assert result.exit_code == 1 and result.output.count("FAILED") == 1
    assert "2 not tested: a kernel that does not end" in result.output


def test_a_kernel_that_does_not_end_ends_the_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minifut.testing.time_limit import TimeLimit

    def stuck(*given: object) -> None:
        raise TimeLimit(is_stuck=True)

    monkeypatch.setattr("minifut.benchmarking.bench.measure", stuck)
    program = tmp_path / "twice.fut"
    program.write_text(
        "-- ==\n-- input { 1i32 } output { 1i32 }\n-- input { 2i32 }\n"
        "entry main (x: i32) = x\n"
    )
    result = invoke("bench", str(program), str(program), "--timeout", "1")
    assert result.exit_code == 1 and result.output.count("took more than 1 s") == 1
    assert "a kernel that does not end" in result.stderr
