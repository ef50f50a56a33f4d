"""Programs become smaller and keep what was requested."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from minifut.cli import main
from minifut.errors import CompileError
from minifut.testing.reducer import reduce_text

PROGRAM = """\
-- Something larger.
-- ==
-- input { 3i64 } output { 0i64 }
module numbers = { def a = 1i64 def b = 2i64 }

#[inline]
def unused (x: i32) = x

def step (x: i64) = (x + numbers.a) / 0

entry main (n: i64) =
  let ys = map (\\i -> step (i * 2)) (iota n)
  let zs = if n > 10 then ys else copy ys
  in match n case 0 -> 0 case _ -> i64.sum zs

entry other (x: f32) = [x + 1, x, x * 2]
"""


def test_only_what_is_needed_stays() -> None:
    seen: list[str] = []

    def holds(text: str) -> bool:
        seen.append(text)
        return "/ 0" in text

    small = reduce_text(PROGRAM, holds)
    assert small.strip() == "def step (x: i64) = x / 0"
    assert len(seen) < 60


def test_candidates_have_types_if_the_program_has() -> None:
    text = "def f (x: i32) = x + 1\nentry main (y: i32) = f (f y)\n"
    assert reduce_text(text, lambda text: "main" in text).split() == (
        ["entry", "main", "(y:", "i32)", "=", "y"]
    )


def test_a_program_without_types_is_reduced_by_its_syntax() -> None:
    text = "def f (x: i32) = x + 1.5f32\ndef g = 1i32 + (2i32 * 3i32)\n"
    assert reduce_text(text, lambda text: "1.5f32" in text).strip() == (
        "def f (x: i32) = 1.5f32"
    )


def test_what_does_not_parse_is_refused() -> None:
    with pytest.raises(CompileError):
        reduce_text("def f = (", lambda text: True)


def reduce_file(path: Path, command: str) -> tuple[int, str]:
    result = CliRunner().invoke(
        main, ["dev", "--reduce", str(path), "--while", command]
    )
    return result.exit_code, result.output


def test_the_command_gets_each_candidate(tmp_path: Path) -> None:
    path = tmp_path / "a b.fut"
    path.write_text(PROGRAM)
    code, output = reduce_file(path, "grep -q 'x / 0' {} || grep -q ') / 0' {}")
    assert code == 0, output
    assert path.read_text() == PROGRAM
    reduced = tmp_path / "a b.reduced.fut"
    assert reduced.read_text().strip() == "def step (x: i64) = x / 0"
    assert "a b.reduced.fut" in output


def test_the_program_must_do_what_is_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.fut"
    path.write_text(PROGRAM)
    code, output = reduce_file(path, "grep nothing")
    assert code == 2 and "exit code 1" in output
    assert not (tmp_path / "a.reduced.fut").exists()


def test_both_options_belong_together(tmp_path: Path) -> None:
    (tmp_path / "a.fut").write_text(PROGRAM)
    result = CliRunner().invoke(main, ["dev", "--reduce", str(tmp_path / "a.fut")])
    assert result.exit_code == 2 and "--while" in result.output
