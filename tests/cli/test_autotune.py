"""`minifut autotune`: files, summary, interrupts, mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import minifut
from minifut.cli import main
from minifut.cli.progress import plain_line
from minifut.parameters.file import read_tuning
from minifut.tuning.loaded_subject import LoadedSubject

PROGRAM = """
-- ==
-- "small" random input { [20][30]f32 }
-- "tall" random input { [3000][4]f32 }
-- "stray" notune input { [[1f32]] }
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\\xs -> let s = f32.sum xs in map (/ s) xs) xss

-- ==
-- entry: twice
-- input { 4i64 }
entry twice (x: i64) = 2 * x
"""
OUTER = "main.map_reduce_map.outer"


def invoke(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "norm.fut"
    file.write_text(PROGRAM)
    return file


@pytest.mark.device
def test_the_file_is_written_and_the_summary_printed(
    path: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    result = invoke("autotune", path, "-e", "main", "--json", out, "--schedule", "cpu")
    assert result.exit_code == 0, result.output
    assert "small" in result.output and "stray" not in result.output
    assert f"wrote {path}.tuning" in result.output
    found = json.loads(out.read_text())[str(path)]
    assert set(found["datasets"]) == {"small", "tall"}
    assert found["runs"] == found["threshold_runs"] <= 12 * found["pairs"]
    written = read_tuning(Path(f"{path}.tuning"))
    assert written == found["changed"]


SQUARES = """
-- ==
-- entry: loss
-- random input { [4]f64 [300][4]f64 }
entry loss [n][d] (w: [d]f64) (xs: [n][d]f64): f64 =
  f64.sum (map (\\x -> (f64.sum (map2 (*) w x)) ** 2) xs)
"""


@pytest.mark.device
def test_a_gradient_is_tuned_beside_its_program(tmp_path: Path) -> None:
    path = tmp_path / "squares.fut"
    path.write_text(SQUARES)
    file = Path(f"{path}.tuning")
    file.write_text("loss.map_redomap.outer=7\nlanes=8\n")
    name = "loss_vjp_wrt_w"
    result = invoke("autotune", path, "--gradient", "loss:w", "-r", "1")
    assert result.exit_code == 0, result.output
    assert "[300][4]f64" in result.output
    written = read_tuning(file)
    assert written["loss.map_redomap.outer"] == 7
    assert all(n.startswith(name) or "." not in n for n in written if "outer" not in n)
    gradient = minifut.compile(path).loss.derivative("vjp", "w")
    assert gradient.name == name and gradient.program is not None
    own = {n: v for n, v in written.items() if n.startswith(name)}
    assert {n: gradient.program.tuning[n] for n in own} == own


@pytest.mark.device
def test_a_gradient_in_what_is_not_there(path: Path) -> None:
    result = invoke("autotune", path, "--gradient", "main:yss")
    assert result.exit_code == 2
    assert "no parameter 'yss'" in result.output


@pytest.mark.device
def test_what_is_not_searched_stays_in_the_file(path: Path) -> None:
    file = Path(f"{path}.tuned")
    file.write_text(f"{OUTER}=77\nlanes=4\nsuff_outer_par_0=3\n")
    result = invoke("autotune", path, "-e", "twice", "--tuning", "tuned")
    assert result.exit_code == 0, result.output
    assert read_tuning(file)[OUTER] == 77


@pytest.mark.device
def test_an_interrupt_writes_the_best_so_far(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def run(self: LoadedSubject, settings: dict[str, int]) -> float:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise KeyboardInterrupt
        return 1.0

    monkeypatch.setattr(LoadedSubject, "run", run)
    result = invoke("autotune", path)
    assert result.exit_code == 130
    assert Path(f"{path}.tuning").is_file()
    assert "the best so far is kept" in result.output


def test_a_program_without_data_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bare.fut"
    file.write_text("entry main (x: i64) = x")
    result = invoke("autotune", file)
    assert result.exit_code == 2 and "no data set" in result.output
    assert invoke("autotune", file, "--backend", "interpreter").exit_code == 2


def test_the_plain_bar_is_as_long_as_what_is_done() -> None:
    assert plain_line("x", 0.5) == f"[{'#' * 12}{'-' * 12}]  50% x"
