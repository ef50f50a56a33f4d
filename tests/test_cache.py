"""Entries of the cache are whole or absent, whatever happens while they are written."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minifut.cache import load_bytes, store_bytes

ROOT = Path(__file__).parent.parent
DATA = bytes(range(256)) * 4096
WRITER = """
import sys
from minifut.cache import load_bytes, store_bytes
data = bytes(range(256)) * 4096
print("ready", flush=True)
while len(sys.argv) < 2 or (sys.argv.append("") or len(sys.argv) < int(sys.argv[1])):
    assert load_bytes("kernels", "key") in (None, data)
    store_bytes("kernels", "key", data)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def writer(*arguments: str) -> subprocess.Popen[str]:
    """A process that stores and loads one entry, for ever or so many times."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WRITER, *arguments]
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_writers_that_are_killed_leave_whole_entries(folder: Path) -> None:
    rng = random.Random(5)
    for _ in range(8):
        process = writer()
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05 * rng.random())
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert load_bytes("kernels", "key") in (None, DATA)
    store_bytes("kernels", "key", DATA)
    assert load_bytes("kernels", "key") == DATA


def test_many_processes_may_fill_an_empty_folder(folder: Path) -> None:
    processes = [writer("40") for _ in range(8)]
    for process in processes:
        _, complaints = process.communicate(timeout=120)
        assert process.returncode == 0, complaints
    assert load_bytes("kernels", "key") == DATA
    assert [path.name[0] != "." for path in (folder / "kernels").iterdir()] == [True]


FULL = """
import resource, signal
from minifut.cache import load_bytes, store_bytes
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
store_bytes("kernels", "large", b"x" * 1_000_000)
store_bytes("kernels", "small", b"x" * 1_000)
print(load_bytes("kernels", "large"), len(load_bytes("kernels", "small")))
"""


def test_an_entry_without_room_is_absent(folder: Path) -> None:
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", FULL],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "None 1000\n"), done.stderr
    assert len(list((folder / "kernels").iterdir())) == 1


@pytest.mark.parametrize("seed", range(3))
def test_no_damage_is_taken_for_an_entry(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    data = rng.randbytes(500)
    store_bytes("kernels", "key", data)
    (entry,) = (folder / "kernels").iterdir()
    whole = entry.read_bytes()
    for _ in range(200):
        damaged = bytearray(whole)
        if rng.random() < 0.5:
            del damaged[rng.randrange(len(damaged)) :]
        else:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        entry.write_bytes(damaged)
        assert load_bytes("kernels", "key") is None
    store_bytes("kernels", "other", b"other")
    (other,) = set((folder / "kernels").iterdir()) - {entry}
    entry.write_bytes(other.read_bytes())
    assert load_bytes("kernels", "key") is None
    entry.write_bytes(whole)
    assert load_bytes("kernels", "key") == data
