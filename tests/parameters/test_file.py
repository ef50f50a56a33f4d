"""Tuning files: what is read and written."""

from __future__ import annotations

from pathlib import Path

import pytest

from minifut.errors import UsageError
from minifut.parameters.file import (
    fitted,
    read_tuning,
    tuning_beside,
    unfitting_text,
    write_tuning,
)
from minifut.parameters.tuning import Tunable


def test_comments_blank_lines_and_the_last_of_two(tmp_path: Path) -> None:
    path = tmp_path / "p.fut.tuning"
    path.write_text("-- all of it\n\nb.outer=1\na = 2 -- so\nb.outer=1_000\n")
    assert tuning_beside(tmp_path / "p.fut") == {"b.outer": 1000, "a": 2}


def test_no_file_sets_nothing(tmp_path: Path) -> None:
    assert tuning_beside(tmp_path / "p.fut") == {}


def test_written_files_are_sorted_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "out.tuning"
    write_tuning(path, {"b": 2, "a": -1})
    assert path.read_text() == "a=-1\nb=2\n"
    assert read_tuning(path) == {"a": -1, "b": 2}


@pytest.mark.parametrize("line", ["a", "a=", "=3", "a=1.5", "a b=3"])
def test_a_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.tuning"
    path.write_text(f"ok=1\n{line}\n")
    with pytest.raises(UsageError, match="tuning:2: "):
        read_tuning(path)


PARAMETERS = [
    Tunable("main.outer", "threshold", {}, None, ""),
    Tunable("main.tile", "tile_side", {}, (4, 32), ""),
    Tunable("other.tile", "tile_size", {}, (4, 16), ""),
    Tunable("count", "choice", {}, None, ""),
]


def test_numbers_of_the_program_fit() -> None:
    values = {"main.outer": 0, "main.tile": 0, "count": 0, "other.tile": 8}
    expected = {"main.outer": 0, "count": 0, "other.tile": 8}
    assert fitted(values, PARAMETERS, "cpu") == (expected, [])


def test_defaults_of_a_class_count_on_gpus_where_in_bounds_and_not_set() -> None:
    values = {"default_tile_size": 32, "default_threshold": 7}
    assert fitted(values, PARAMETERS, "cpu") == ({}, [])
    expected = {"main.tile": 32, "main.outer": 7}
    assert fitted(values, PARAMETERS, "gpu") == (expected, [])
    values["main.tile"] = 8
    assert fitted(values, PARAMETERS, "gpu")[0]["main.tile"] == 8


def test_meaningless_names_take_one_line() -> None:
    values = {"main.suff_outer_par_0": 1, "main.suff_intra_par_1": 2, "main.outer": 3}
    found, meaningless = fitted(values, PARAMETERS, "cpu")
    assert found == {"main.outer": 3}
    assert meaningless == ["main.suff_outer_par_0", "main.suff_intra_par_1"]
    assert "sets 2 parameters" in unfitting_text(meaningless)
    assert "'main.suff_outer_par_0'" in unfitting_text(meaningless[:1])
