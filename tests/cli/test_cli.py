"""The command line: exit codes, messages, values in and out, on a fake program."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from minifut import compiler
from minifut.cli import SUBCOMMANDS, main
from minifut.cli.errors import guarded
from minifut.errors import (
    CompileError,
    InternalError,
    Location,
    ProgramError,
    Source,
    UsageError,
)
from minifut.ir.entries import EntryType
from minifut.program import EntryPoint, Program
from minifut.signature import Parameter
from minifut.values.binary import write_binary
from minifut.version import __version__


def invoke(*args: str, stdin: bytes | str = "") -> Result:
    return CliRunner().invoke(main, list(args), input=stdin)


def parameter(name: str, type_text: str, kind: str = "array") -> Parameter:
    structure = EntryType(name, type_text, kind, 1)
    return Parameter(name, type_text, kind, False, None, structure)


I32, ROW = parameter("x", "i32"), parameter("xs", "[]f64")
FAKE = Program(
    [
        EntryPoint("main", (I32, ROW), (ROW,), lambda x, xs: x * xs),
        EntryPoint("negate", (parameter("x", "i8"),), (I32,), lambda x: np.int32(-x)),
        EntryPoint("both", (), (I32, ROW), lambda: (np.int32(1), np.ones(2))),
        EntryPoint("use", (parameter("h", "t", "opaque"),), (I32,), lambda h: h),
    ],
    "a fake",
)


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setattr(compiler, "compile_program", lambda source, options: FAKE)
    path = tmp_path / "a.fut"
    path.write_text("def main = 1")
    return str(path)


def test_help_lists_all_commands() -> None:
    result = invoke("--help")
    assert result.exit_code == 0
    for name in SUBCOMMANDS:
        assert name in result.output
        assert invoke(name, "--help").exit_code == 0


def test_run_with_literals(file: str) -> None:
    result = invoke("run", file, "2", "[1.5, 2.5]")
    assert (result.exit_code, result.output) == (0, "[3.0f64, 5.0f64]\n")


def test_negative_numbers_are_values(file: str) -> None:
    for option in (["-e", "negate"], ["--entry=negate"]):
        result = invoke("run", file, *option, "-100i8")
        assert (result.exit_code, result.output) == (0, "100i32\n")


def test_run_from_standard_input(file: str) -> None:
    data = b"3 " + write_binary(np.array([1.0]))
    for stdin in ("3 [1.0]", data):
        result = invoke("run", file, stdin=stdin)
        assert (result.exit_code, result.output) == (0, "[3.0f64]\n")


def test_run_with_files(file: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.int32(2))
    np.save(tmp_path / "xs.npy", np.arange(3.0))
    out = tmp_path / "out.npy"
    result = invoke(
        "run", file, str(tmp_path / "x.npy"), str(tmp_path / "xs.npy"), "-o", str(out)
    )
    assert (result.exit_code, result.output) == (0, "")
    assert np.load(out).tolist() == [0, 2, 4]


def test_run_with_files_of_records(tmp_path: Path) -> None:
    program = tmp_path / "records.fut"
    program.write_text(
        "entry main [n] (ps: [n]{x: f32, y: i32}) = map (\\p -> p with x = p.x + 1) ps\n"
        "entry one (x: i32) = {x, y = (x, true)}\n"
    )
    path, out = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(path, np.array([(1, 2), (3, 4)], [("y", ">i4"), ("x", "f4")]))
    result = invoke("run", str(program), str(path), "-o", str(out))
    assert (result.exit_code, result.output) == (0, "")
    wanted = np.array([(3, 1), (5, 3)], [("x", "f4"), ("y", "i4")])
    np.testing.assert_array_equal(np.load(out), wanted)
    result = invoke("run", str(program), "-e", "one", "1", "-o", str(out))
    assert result.exit_code == 2 and "cannot be saved as .npy" in result.output


def test_run_with_several_results(file: str, tmp_path: Path) -> None:
    result = invoke("run", file, "-e", "both")
    assert result.output == "1i32\n[1.0f64, 1.0f64]\n"
    result = invoke("run", file, "-e", "both", "-b")
    assert result.stdout_bytes == write_binary(np.int32(1)) + write_binary(np.ones(2))
    outputs = [str(tmp_path / "a.npy"), str(tmp_path / "b.npy")]
    result = invoke("run", file, "-e", "both", "-o", outputs[0], "-o", outputs[1])
    assert result.exit_code == 0 and np.load(outputs[0]) == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-e", "mian", "1"], "no entry point 'mian'; did you mean 'main'"),
        (["1"], "main takes 2 values (x: i32, xs: []f64), 1 given"),
        (["1", "2.0"], "parameter xs of main: []f64 is expected, got f64"),
        (["1", "[2.0f32]"], "[]f64 is expected, got []f32"),
        (["1", "[2.0,, 3]"], "argument 2 ([2.0,, 3]): byte 5"),
        (["300i8", "[2.0]"], "300 is out of the range of i8"),
        (["1", "missing.npy"], "missing.npy: cannot be read: no such file"),
        (["-e", "both", "-o", "a.npy"], "-o is given 1 time, both has 2 results: give"),
        (
            ["-e", "use", "1"],
            "a value of the type t was expected, as a run prints it: #<t ...>",
        ),
        (["-P", "tile", "1"], "not of the form NAME=INT"),
        (["--schedule", "tpu", "1"], "'tpu' is not one of"),
        (["--entyr", "main"], "--entry"),
    ],
)
def test_wrong_use_is_one_clear_message(
    file: str, args: list[str], message: str
) -> None:
    result = invoke("run", file, *args)
    assert result.exit_code == 2
    assert message in result.stderr and result.stdout == ""
    assert "Traceback" not in result.stderr


def test_malformed_input_has_an_offset(file: str) -> None:
    result = invoke("run", file, stdin="1 [1.0, x]")
    assert result.exit_code == 2
    assert "standard input: byte 8: a value was expected, not 'x]'" in result.stderr


def test_nothing_is_half_written(file: str, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    assert invoke("run", file, "1", "[x]", "-o", str(out)).exit_code == 2
    assert not out.exists()
    missing = tmp_path / "no" / "out.npy"
    result = invoke("run", file, "1", "[1.0]", "-o", str(missing))
    assert result.exit_code == 2 and "cannot be written" in result.stderr


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for command in ("run", "check", "compile", "dev"):
        result = invoke(command, str(tmp_path / "a.fut"))
        assert result.exit_code == 2
        assert "a.fut: cannot be read: no such file" in result.stderr
    (tmp_path / "b.fut").write_bytes("-- Größe\ndef ü = ".encode() + b"\xff\0")
    result = invoke("check", str(tmp_path / "b.fut"))
    assert result.exit_code == 2
    assert "b.fut:2:9: error: the text is not UTF-8" in result.stderr
    assert "2 | def ü = \ufffd\ufffd\n" + " " * 16 + "^\nhint: save" in result.stderr
    result = invoke("check", str(tmp_path))
    assert result.exit_code == 2 and "is a directory" in result.stderr


def test_unknown_command() -> None:
    result = invoke("rnu")
    assert result.exit_code == 2 and "did you mean 'run'" in result.stderr


PLACE = Location(Source("a.fut", "def x = y"), 1, 9, 1, 10)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (CompileError(PLACE, "unknown y"), 2, "a.fut:1:9: error: unknown y\n"),
        (UsageError("no such thing"), 2, "minifut: no such thing\n"),
        (ProgramError("too small", ("a.fut:1:1",)), 1, "Error: too small\n"),
        (MemoryError("8 GiB needed, 4 GiB there"), 1, "out of memory: 8 GiB needed"),
        (
            MemoryError("out of device memory: 8 GiB"),
            1,
            "minifut: out of device memory",
        ),
        (MemoryError(), 1, "minifut: out of memory\n"),
        (OSError(28, "No space left", "a"), 1, "minifut: a: no space left\n"),
        (InternalError("pass fuse", "lost"), 3, "internal error in pass fuse: lost"),
        (KeyError("x"), 3, "internal error: KeyError"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.exceptions.Exit(5), 5, ""),
    ],
)
def test_errors_become_messages_and_codes(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> Any:
        raise error

    assert guarded(fail) == code
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""
    assert ("report" in captured.err) == (code == 3)


def test_dataset_options_act_from_left_to_right() -> None:
    result = invoke(
        "dataset", "--i8-bounds=5:5", "-g", "[2]i8", "--i8-bounds", "6:6", "-gi8",
        "-t", "-g", "[3][4]f64", "--text", "-g", "[1, 2]", "-b", "-g", "7u8",
    )  # fmt: skip
    assert result.exit_code == 0
    expected = b"[5i8, 5i8]\n6i8\n[3][4]f64\n[1i32, 2i32]\n"
    assert result.stdout_bytes == expected + write_binary(np.uint8(7))


def test_dataset_converts_and_repeats() -> None:
    assert invoke("dataset", "-b", stdin="[1, 2]").stdout_bytes == write_binary(
        np.array([1, 2], np.int32)
    )
    assert invoke("dataset", "-t", stdin="[1, 2] true").output == "[2]i32\nbool\n"
    args = ("dataset", "-s", "5", "-g", "[4]u64")
    assert invoke(*args).output == invoke(*args).output
    assert invoke(*args).output != invoke("dataset", "-g", "[4]u64").output


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--i31-bounds=1:2"], "did you mean '--i32-bounds'"),
        (["-g"], "-g needs a value"),
        (["-g", "[2]f33"], "'[2]f33' is not the type"),
        (["--u8-bounds=1:300"], "out of the range of u8"),
        (["-s", "x"], "'x' is not a seed"),
        (["[2]i32"], "'[2]i32' is not an option (to make a value of a type: -g"),
    ],
)
def test_dataset_mistakes(args: list[str], message: str) -> None:
    result = invoke("dataset", *args)
    assert result.exit_code == 2 and message in result.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m minifut dataset -g '[300000]i32' | head -c 3"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == "" and done.stdout.startswith("[")


GATHER = """
entry main [n] (is: [n]i64) (xs: [n]f32) = map (\\i -> f32.exp xs[i]) is
"""


def test_kernel_code_is_dumped_read_back_and_passed_on(tmp_path: Path) -> None:
    source, kernels = tmp_path / "gather.fut", tmp_path / "gather.kir"
    source.write_text(GATHER)
    lowered = invoke("dev", str(source), "--stop-after", "lower-cpu")
    assert "prefetch" not in lowered.output and "points {" in lowered.output
    kernels.write_text(lowered.output)
    alone = ["--pass", "vectorise", "--pass", "prefetch"]
    apart = invoke("dev", str(kernels), *alone).output
    assert apart == invoke("dev", str(source), "--stop-after", "prefetch").output
    assert re.search(r"prefetch is\[size\(i(_\d+)? \+ 128\)\]", apart)
    dumped = invoke("dev", str(source), "--dump-after", "vectorise").output
    assert dumped.startswith("-- after vectorise\nschedule cpu\n")
    assert invoke("dev", str(kernels)).output.rstrip() == lowered.output.rstrip()
    wrong = invoke("dev", str(kernels), "--pass", "simplify")
    assert "the pass 'simplify' reads the core" in wrong.output


def test_the_version_needs_no_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert invoke("--version").output == f"minifut, version {__version__}\n"
