"""Parameters of a loaded program: set, listed, and never a reason to compile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.errors import UsageError
from minifut.opencl.runtime.kernels import Launcher
from minifut.parameters.tuning import NEVER

pytestmark = pytest.mark.device

NAME = "main.map_reduce_map.outer"
TEXT = """
def main [n][m] (xss: [n][m]i64) =
  map (\\xs -> let s = reduce (+) 0 xs in map (+ s) xs) xss
"""
XSS = np.arange(12).reshape(3, 4)
WANTED = XSS + XSS.sum(axis=1, keepdims=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "norm.fut"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_versions_agree_on_the_device(schedule: str) -> None:
    program = minifut.compile(TEXT, schedule=schedule)
    for threshold in (0, 1 << 60):
        program.tuning[NAME] = threshold
        np.testing.assert_array_equal(program.main(XSS), WANTED)


def test_a_version_not_taken_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    first = Launcher._first

    def spy(launcher: Any, *arguments: Any) -> Any:
        built.append(launcher.kernel.name)
        return first(launcher, *arguments)

    monkeypatch.setattr(Launcher, "_first", spy)
    program = minifut.compile(TEXT, params={NAME: 0})
    program.main(XSS)
    (outer,) = built
    program.tuning[NAME] = 1 << 60
    program.main(XSS)
    inner = built[1:]
    assert inner and outer not in inner
    program.tuning[NAME] = 0
    program.main(XSS)
    program.tuning[NAME] = 1 << 60
    program.main(XSS)
    assert built == [outer, *inner]


def test_the_file_beside_the_program_is_used(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(f"{file}.tuning").write_text(f"{NAME}=7\nold.outer=1\n")
    program = minifut.compile(file)
    assert program.tuning[NAME] == 7
    assert "'old.outer'" in capsys.readouterr().err
    assert minifut.compile(file, params={NAME: 9}).tuning[NAME] == 9


def test_values_are_checked_and_reset() -> None:
    tuning = minifut.compile(TEXT).tuning
    before = dict(tuning)
    with pytest.raises(UsageError, match="there is no parameter"):
        tuning.update({NAME: 3, "unknown": 1})
    with pytest.raises(UsageError, match="must be from 0"):
        tuning[NAME] = -1
    assert dict(tuning) == before
    tuning[NAME] = 3
    tuning.reset()
    assert dict(tuning) == before


def test_the_table_tells_class_defaults_and_guard() -> None:
    header, *lines = str(minifut.compile(TEXT).tuning).splitlines()
    assert header.split()[:5] == ["name", "class", "value", "cpu", "gpu"]
    (line,) = (line for line in lines if line.split()[0] == NAME)
    assert "threshold" in line and "one thread" in line


def test_saved_values_are_loaded(tmp_path: Path) -> None:
    tuning = minifut.compile(TEXT).tuning
    tuning[NAME] = 5
    tuning.save(tmp_path / "a.tuning")
    tuning.reset()
    tuning.load(tmp_path / "a.tuning")
    assert tuning[NAME] == 5


def test_runs_can_be_watched() -> None:
    program = minifut.compile(TEXT)
    program.main(XSS)
    with program.tuning.watch() as seen:
        program.tuning[NAME] = 0
        program.main(XSS)
        outer = list(seen.launches)
        assert (NAME, len(XSS)) in seen.comparisons
        seen.clear()
        program.tuning[NAME] = 1 << 60
        program.main(XSS)
        assert (NAME, len(XSS)) in seen.comparisons
        assert set(seen.launches).isdisjoint(outer) and outer
        seen.clear()
    program.main(XSS)
    assert seen.comparisons == [] and seen.launches == []


def test_a_program_without_parameters_is_watched_too() -> None:
    program = minifut.compile("entry main (xs: *[]i32) = scatter xs [0, 1] [5, 6]")
    assert not program.tuning.tunables
    with program.tuning.watch() as seen:
        program.main([1, 2, 3])
    assert seen.launches


PRODUCT = """
entry main [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose b)) a
"""


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_all_sizes_that_shape_a_tiled_kernel_are_seen(schedule: str) -> None:
    program = minifut.compile(PRODUCT, schedule=schedule)
    stem = "main.map_map_redomap."
    program.tuning.update({f"{stem}tiled": 0, f"{stem}split": NEVER})
    sizes = ("block_rows", "block_columns", "block_depth")
    sizes += ("register_rows", "register_columns")
    program.tuning.update({f"{stem}{name}": 2 for name in sizes})  # built soon
    with program.tuning.watch() as seen:
        program.main(np.ones((40, 30), np.float32), np.ones((30, 50), np.float32))
    assert {name.removeprefix(stem) for name in seen.uses} >= {*sizes}
    assert f"{stem}split_depth" not in seen.uses
