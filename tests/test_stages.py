"""What stages change in the interpreter, they put back; and what they load."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from minifut import stages
from minifut.errors import Source

TEXT = "entry main (xs: []f32) = f32.sum (map (* 2) xs)"


def settings() -> tuple[object, ...]:
    return gc.get_threshold(), sys.getrecursionlimit(), gc.get_freeze_count()


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """The generations that the collector looked through."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


def test_stages_running_in_threads_leave_the_settings_as_they_were() -> None:
    before = settings()
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with stages.deep_recursion():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=first)
    thread.start()
    entered.wait()
    with stages.deep_recursion():
        leave.set()
        thread.join()
        assert settings() != before
    assert settings() == before


def test_what_stages_make_is_not_looked_through_for_cycles(
    collections: list[int],
) -> None:
    for _ in range(2):  # tables are filled the first time
        del collections[:]
        checked = stages.check(Source("p.fut", TEXT))
        kernels = stages.to_kernels(stages.to_core(checked))
        stages.to_host_module(kernels, "cpu")
    assert not collections


def test_what_users_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        stages.check(Source("p.fut", TEXT))
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_compiling_loads_no_numpy(tmp_path: Path) -> None:
    """It takes a tenth of a second, an eighth of the time for a hundred lines."""
    source = tmp_path / "small.fut"
    source.write_text(
        "entry main [n] (xs: [n]f32) (c: f32) = scan (+) 0 (map (* c) xs)\n"
        "entry last (xs: []i32) = loop s = 0 for x in xs do if x > s then x else s\n"
    )
    program = (
        "import sys\n"
        "import minifut.cli\n"
        "from click.testing import CliRunner\n"
        "done = CliRunner().invoke(minifut.cli.main, ['compile', sys.argv[1]])\n"
        "assert done.exit_code == 0, done.output\n"
        "print([m for m in ('numpy', 'pyopencl') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(source)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
