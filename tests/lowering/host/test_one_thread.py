"""What one work-item of a GPU does alone is listed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from minifut.cli import bench, check, profile
from minifut.cli.dev import command
from minifut.kernel_ir.printer import show
from minifut.kernel_ir.reader import read_program

LARGEST = """\
entry main [n][d] (xs: [n][d]f32): [d]f32 =
  #[sequential] reduce (\\a b -> if a[0] > b[0] then a else b) (replicate d 0) xs
"""
LOOP = """entry main (n: i64) (xs: []f32) =
  loop xs for _i < n do map2 (+) xs (reverse xs)"""
SUM = "entry main [n] (xs: [n]f32): f32 = reduce (+) 0 xs"
TITLE = "in one work-item of the device"


def explained(tmp_path: Path, text: str, *options: str) -> str:
    path = tmp_path / "program.fut"
    path.write_text(text)
    result = CliRunner().invoke(command, ["--schedule", "gpu", *options, str(path)])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_sequential_reduction_in_one_work_item_is_listed(tmp_path: Path) -> None:
    section = explained(tmp_path, LARGEST, "--explain").split(TITLE)[1]
    (line,) = section.strip().splitlines()
    assert "program.fut:2" in line and "reduced: " in line and "* n" in line


PARALLEL = (
    SUM,
    LARGEST.replace("#[sequential]", ""),
    LARGEST.replace("#[sequential] reduce", "last <| scan"),
    """
entry main [n][d] (to: *[8][d]f32) (is: [n]i64) (xs: [n][d]f32): [8][d]f32 =
  reduce_by_index to (\\a b -> if a[0] > b[0] then a else b) (replicate d 0) is xs
""",
)


@pytest.mark.parametrize("text", PARALLEL)
def test_what_is_parallel_is_not_listed(tmp_path: Path, text: str) -> None:
    assert TITLE not in explained(tmp_path, text, "--explain")


def test_a_version_that_no_default_chooses_is_not_listed(tmp_path: Path) -> None:
    """A loop of the host has one of a single work-item, which CPUs take."""
    text = explained(tmp_path, LOOP, "--explain")
    assert "choose_version_of_loop" in text and TITLE not in text


COMMANDS = {
    "check": (check.command, ()),
    "bench": (bench.command, ("-r", "1")),
    "profile": (profile.command, ()),
}


@pytest.mark.device
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_warn(tmp_path: Path, name: str) -> None:
    """Of what one work-item does in the GPU schedule, and of nothing else."""
    command, options = COMMANDS[name]
    test = "-- ==\n-- input {{ [{}] }}\n"
    arguments = {LARGEST: "[[1f32, 2f32, 3f32]]", SUM: "[1f32, 2f32]"}
    for schedule, text in (("gpu", LARGEST), ("gpu", SUM), ("cpu", LARGEST)):
        path = tmp_path / "program.fut"
        path.write_text(test.format(arguments[text][1:-1]) + text)
        values = (arguments[text],) if name == "profile" else ()
        result = CliRunner().invoke(
            command, ["--schedule", schedule, *options, str(path), *values]
        )
        assert result.exit_code == 0, result.output
        warned = "warning: " + TITLE in result.output
        assert warned == (schedule == "gpu" and text == LARGEST)


def test_printed_kernel_code_keeps_the_lines(tmp_path: Path) -> None:
    text = explained(tmp_path, LARGEST, "--stop-after", "deduplicate")
    program = read_program(text)
    assert len(program.one_thread) == 1
    assert show(program) == show(read_program(show(program)))
