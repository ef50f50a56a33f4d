"""PoCL's files are in a folder of each process, removed when the process ends."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minifut.opencl.runtime.driver_cache import PREFIX

pytest.importorskip("fcntl")

USE = """
import os, sys
from minifut.opencl.runtime import driver_cache
driver_cache.use_private_folder()
print(os.environ["POCL_CACHE_DIR"], flush=True)
sys.stdin.readline()
"""


def start(temporary: Path, ending: str = "") -> tuple[subprocess.Popen[str], Path]:
    """A process that uses a folder until it reads a line, and the folder."""
    variables = {k: v for k, v in os.environ.items() if k != "POCL_CACHE_DIR"}
    process = subprocess.Popen(
        [sys.executable, "-c", USE + ending],
        env={**variables, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def finish(process: subprocess.Popen[str]) -> None:
    process.communicate("\n")
    assert process.returncode == 0


def test_folders_in_use_stay_and_those_left_behind_go(tmp_path: Path) -> None:
    killed, left = start(tmp_path)
    killed.kill()
    killed.wait()
    assert left.is_dir() and left.name.startswith(PREFIX)
    first, one = start(tmp_path)
    second, other = start(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([one, other])
    finish(first)
    assert list(tmp_path.iterdir()) == [other]
    finish(second)
    assert not list(tmp_path.iterdir())


def test_a_forked_process_leaves_the_folder_alone(tmp_path: Path) -> None:
    fork = "if os.fork(): os.wait(); print(os.path.isdir(os.environ['POCL_CACHE_DIR']))"
    process, folder = start(tmp_path, fork)
    answer, _ = process.communicate("\n")
    assert process.returncode == 0 and answer.strip() == "True"
    assert not folder.exists()


BUILD = """
import resource, signal, sys
import minifut
program = minifut.compile("entry main (n: i64) = iota n")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
try:
    program.main(3)
except minifut.UsageError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
print(program.main(3))
"""


@pytest.mark.device
def test_no_room_for_the_files_of_the_driver_is_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BUILD],
        env={**os.environ, "MINIFUT_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    complaint, result = done.stdout.splitlines()
    assert "1.0 MiB are free" in complaint and "set TMPDIR" in complaint
    assert result == "[0 1 2]"


def test_nothing_is_built_with_the_cache_of_pyopencl() -> None:
    """That has a lock file, which a killed process leaves for all others."""
    root = Path(__file__).parents[3]
    paths = [*root.glob("minifut/**/*.py"), *root.glob("benchmarks/campaign/*.py")]
    texts = "".join(path.read_text() for path in paths)
    calls = re.findall(r"program\.build\([^()]*\)", texts)
    assert len(calls) == 4 and all("cache_dir=False" in call for call in calls), calls
