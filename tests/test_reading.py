"""Only regular files are read: nothing else keeps a command waiting."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minifut import cache
from minifut.errors import UsageError
from minifut.files import open_regular, read_regular, read_text, write_whole

ROOT = Path(__file__).parent.parent
PROGRAM = "entry main (x: i32): i32 = x + 1\n"

pytestmark = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="this system has no named pipes"
)


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_socket(path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.close()


KINDS: list[Callable[[Path], None]] = [make_pipe, make_device, make_socket, Path.mkdir]
EACH_KIND = pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)


def minifut(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, which has to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "minifut", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input="",
        capture_output=True,
        text=True,
        timeout=60,
    )


@EACH_KIND
def test_what_is_no_regular_file_is_not_opened(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "x")
    for read in (open_regular, read_text, lambda path: read_regular(path, 9)):
        with pytest.raises(OSError, match=r"regular file|directory"):
            read(tmp_path / "x")


def test_regular_files_are_read_through_links_up_to_a_size(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\r\n2\r3")
    (tmp_path / "b").symlink_to("a")
    assert read_text(tmp_path / "b") == "1\n2\n3"
    assert read_regular(tmp_path / "b", 6) == b"1\r\n2\r3"
    with pytest.raises(OSError, match="larger than"):
        read_regular(tmp_path / "a", 5)


@EACH_KIND
def test_an_entry_of_the_cache_that_is_no_file_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    entry = cache._entry("kernels", "key")
    entry.parent.mkdir()
    monkeypatch.chdir(entry.parent)  # names of sockets are short
    make(Path(entry.name[:20]))
    Path(entry.name[:20]).rename(entry)
    assert cache.load_bytes("kernels", "key") is None


INPUTS = {
    "a.fut": ("check", "a.fut"),
    "b.fut": ("check", "importing.fut"),
    "good.fut.tuning": ("run", "--backend=interpreter", "good.fut", "1"),
    "x.npy": ("run", "--backend=interpreter", "good.fut", "x.npy"),
    "x.data": ("test", "--backend=interpreter", "reading.fut"),
    "x.spec": ("bench", "--backend=interpreter", "--spec-file=x.spec", "good.fut"),
    "x.in": ("bench", "--backend=interpreter", "--data=x.in", "good.fut"),
}

REFUSALS = ("not a regular file", "is no file", "no readable file", "outside")


@pytest.mark.parametrize("make", KINDS[:2], ids=["pipe", "device"])
@pytest.mark.parametrize("name", INPUTS)
def test_no_command_waits_for_its_input(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    (tmp_path / "good.fut").write_text(PROGRAM)
    (tmp_path / "importing.fut").write_text('import "b"\n' + PROGRAM)
    (tmp_path / "reading.fut").write_text(f"-- ==\n-- input @ x.data\n{PROGRAM}")
    make(tmp_path / name)
    done = minifut(tmp_path, *INPUTS[name])
    said = done.stderr + done.stdout
    assert done.returncode in (1, 2), said
    assert any(words in said for words in REFUSALS)
    assert Path(name).stem in said and "Traceback" not in said


def test_a_pipe_that_nobody_reads_is_not_written(tmp_path: Path) -> None:
    make_pipe(tmp_path / "out.npy")
    with pytest.raises(
        UsageError, match=r"out\.npy: cannot be written: no such device"
    ):
        write_whole(tmp_path / "out.npy", np.zeros(3).tobytes())
