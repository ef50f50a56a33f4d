"""What one work-item of a GPU does alone is listed."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from minifut.cli.dev import command
from minifut.kernel_ir.printer import show
from minifut.kernel_ir.reader import read_program

LARGEST = """\
entry main [n] (xs: [n][3]f32): [3]f32 =
  reduce (\\a b -> if a[0] > b[0] then a else b) [0, 0, 0] xs
"""
SUM = "entry main [n] (xs: [n]f32): f32 = reduce (+) 0 xs"
TITLE = "in one work-item of the device"


def explained(tmp_path: Path, text: str, *options: str) -> str:
    path = tmp_path / "program.fut"
    path.write_text(text)
    result = CliRunner().invoke(command, ["--schedule", "gpu", *options, str(path)])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_reduction_of_arrays_in_one_work_item_is_listed(tmp_path: Path) -> None:
    section = explained(tmp_path, LARGEST, "--explain").split(TITLE)[1]
    (line,) = section.strip().splitlines()
    assert "program.fut:2" in line and "reduced: " in line and "* n" in line


def test_what_is_parallel_is_not_listed(tmp_path: Path) -> None:
    assert TITLE not in explained(tmp_path, SUM, "--explain")


def test_printed_kernel_code_keeps_the_lines(tmp_path: Path) -> None:
    text = explained(tmp_path, LARGEST, "--stop-after", "deduplicate")
    program = read_program(text)
    assert len(program.one_thread) == 1
    assert show(program) == show(read_program(show(program)))
