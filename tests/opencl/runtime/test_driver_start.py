"""PoCL reads its library while a program is compiled."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

import minifut
from minifut.errors import UsageError
from minifut.opencl.runtime import driver_start
from minifut.opencl.runtime.driver_start import driver_starts
from minifut.opencl.runtime.sessions import open_session

pytestmark = pytest.mark.device


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The devices for which a program was built."""
    handles: list[Any] = []

    def note(session: Any, handle: Any, text: str, options: str) -> None:
        handles.append(handle)

    monkeypatch.setattr(driver_start, "compile_program", note)
    monkeypatch.setattr(driver_start, "_begun", set())
    return handles


def join_others() -> None:
    for thread in threading.enumerate():
        if thread.name == driver_start.NAME:
            thread.join()


def test_the_device_that_compiles_starts_once(built: list[Any]) -> None:
    device = open_session().device
    if not device.is_pocl or "PoCL 3.0" not in device.version:
        pytest.skip("another driver")
    for _ in range(2):
        with driver_starts(None, None):
            join_others()
        assert built == [device.synchronous]


def test_nothing_is_begun_once_the_compiler_is_done(built: list[Any]) -> None:
    session = open_session()
    with session.lock, driver_starts(None, None):
        pass
    join_others()
    assert not built


def test_errors_are_left_to_those_who_need_the_device(
    built: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*given: Any) -> None:
        raise UsageError("no device")

    monkeypatch.setattr(driver_start, "open_session", missing)
    with driver_starts("none", None):
        join_others()
    assert not built


PROGRAM = """
import os, sys
import minifut
prog = minifut.compile("entry main (x: i64) = reduce (+) 0 (map (* x) (iota 10))")
child = os.fork()
if child == 0:
    os._exit(0 if prog.main(2) == 90 else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), prog.main(3))
"""


def test_a_fork_waits_for_the_driver(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.split() == ["0", "135"], done.stderr


def test_a_process_that_only_compiles_ends(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    text = "import minifut; minifut.compile('entry main (x: i32) = x + 1')"
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_sources_that_are_wrong_start_nothing(built: list[Any]) -> None:
    with pytest.raises(minifut.CompileError):
        minifut.compile("entry main (x: i32) = x + true")
    join_others()
    assert not built
