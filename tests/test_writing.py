"""Written files appear whole or not at all, and nothing else changes."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from minifut.errors import UsageError
from minifut.files import write_together, write_whole
from minifut.values.npy import write_npy_files


def test_an_existing_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "a", tmp_path / "link"
    link.symlink_to(target)
    for data in (b"first", b"second"):
        write_whole(link, data)
        assert link.is_symlink() and target.read_bytes() == data


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    came: list[bytes] = []
    reader = threading.Thread(target=lambda: came.append(path.read_bytes()))
    reader.start()
    write_npy_files([(path, np.arange(3))])
    reader.join(10)
    assert came and came[0].startswith(b"\x93NUMPY") and path.is_fifo()


def test_what_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="cannot be written: is a directory"):
        write_whole(tmp_path, b"")
    with pytest.raises(
        UsageError, match=r"no/a: cannot be written: its folder does not"
    ):
        write_whole(tmp_path / "no" / "a", b"")
    guarded = tmp_path / "guarded"
    guarded.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UsageError, match="guarded: cannot be written: permission"):
        write_whole(guarded, b"new")
    assert guarded.read_text() == "old" and list(tmp_path.iterdir()) == [guarded]


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fails(stream: IO[bytes]) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    whole = (tmp_path / "a", lambda stream: stream.write(b"whole"))
    with pytest.raises(KeyboardInterrupt):
        write_together([whole, (tmp_path / "b", fails)])
    assert list(tmp_path.iterdir()) == []
