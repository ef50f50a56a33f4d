"""Tuning files: what is read and written."""

from __future__ import annotations

from pathlib import Path

import pytest

from minifut.errors import UsageError
from minifut.tuning.file import read_tuning, tuning_beside, write_tuning


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
