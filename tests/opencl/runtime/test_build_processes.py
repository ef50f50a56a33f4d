"""Kernels are compiled side by side, by copies of the process."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minifut
from minifut import process_copies
from minifut.opencl.runtime import (
    binaries,
    builds,
    driver_binaries,
    open_session,
)
from minifut.opencl.runtime.build_processes import compiled_by_copies
from minifut.opencl.runtime.driver_locks import opening
from minifut.process_copies import count

TEXT = """
entry main (k: f32) (xs: []f32) (ys: []f32) =
  (map (* k) xs, map (+ k) (rotate 1 ys))
"""


def assert_no_copies_are_left() -> None:
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_copy_does_a_job_while_the_block_runs(tmp_path: Path) -> None:
    files = [tmp_path / name for name in "ab"]
    jobs = [lambda file=file: file.write_text(str(os.getpid())) for file in files]
    with compiled_by_copies(jobs):
        pass
    processes = {int(file.read_text()) for file in files}
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert_no_copies_are_left()


def test_copies_that_fail_or_are_interrupted_say_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def job() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        (tmp_path / "done").touch()
        raise ValueError

    with compiled_by_copies([job]):
        pass
    assert (tmp_path / "done").exists()
    assert capfd.readouterr() == ("", "")
    assert_no_copies_are_left()


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_copies_that_take_too_long_are_ended(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException] | None
) -> None:
    monkeypatch.setattr(process_copies, "PATIENCE", 0.1)
    begun = time.monotonic()
    try:
        with compiled_by_copies([lambda: time.sleep(60)]):
            if error is not None:
                raise error
    except KeyboardInterrupt:
        assert error is not None
    assert time.monotonic() < begun + 20
    assert_no_copies_are_left()


def test_there_is_no_copy_while_another_thread_is_in_a_driver(tmp_path: Path) -> None:
    has, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with opening:
            has.set()
            may_end.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    has.wait(60)
    with compiled_by_copies([(tmp_path / "done").touch]):
        pass
    may_end.set()
    thread.join()
    assert not (tmp_path / "done").exists()


def test_how_many_processes_there_are_is_for_users_to_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
    found = []
    for given in "", "2", "1", "0":
        monkeypatch.setenv(process_copies.SWITCH, given)
        found.append(count())
    assert found == [process_copies.MOST, 2, 1, 1]
    monkeypatch.setenv(process_copies.SWITCH, "2")
    monkeypatch.setattr(process_copies, "LARGEST", 1 << 20)
    assert count() == 1


@pytest.mark.device
@pytest.mark.parametrize("status", [0, 1])
def test_what_runs_on_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """Statuses of OpenCL: 1 is running, 0 complete."""
    session = open_session()
    session.wait()
    assert session.comes_to_rest()
    event = SimpleNamespace(command_execution_status=status)
    monkeypatch.setattr(session, "last_event", event)
    assert session.comes_to_rest() == (status == 0)
    assert session.last_event is event


def test_signals_are_allowed_again() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with compiled_by_copies([int]):
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def compiled_files() -> set[Path]:
    return set(Path(os.environ["POCL_CACHE_DIR"]).glob("*/*/*/*/*.so"))


def member(length: int) -> Any:
    return SimpleNamespace(section=SimpleNamespace(text=length * "x"))


def test_parts_are_about_as_long() -> None:
    lengths = [1000, 9000, 500, 8000, 600]
    parts = builds.divided([member(length) for length in lengths], 2)
    found = [[len(m.section.text) for m in part] for part in parts]
    assert found == [[9000, 600], [8000, 1000, 500]]
    assert len(builds.divided([member(100)] * 20, 4)) == 1
    assert len(builds.divided([member(90_000), member(100)], 4)) == 1
    assert len(builds.divided([member(5000)] * 3, 4)) == 3


@pytest.mark.device
@pytest.mark.parametrize("processes", [1, 2])
def test_what_a_copy_has_compiled_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    if not driver_binaries.serves_both(open_session().device):
        pytest.skip("another driver, or one device")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    monkeypatch.setenv("MINIFUT_CACHE", str(tmp_path))
    monkeypatch.setenv(process_copies.SWITCH, str(processes))
    monkeypatch.setattr(binaries, "_kept", [])
    monkeypatch.setattr(builds, "SHORT", 100)
    built, compiled = [], []
    build, started = builds.build, process_copies._started

    def note_build(*given: Any) -> Any:
        built.append(given)
        return build(*given)

    def wait_for(*job: Any) -> list[int]:
        before = compiled_files()
        for copy in started(*job):
            os.waitpid(copy, 0)
            compiled.extend(compiled_files() - before)
        return []

    monkeypatch.setattr(builds, "build", note_build)
    monkeypatch.setattr(process_copies, "_started", wait_for)
    xs = np.ones(1 << 20, np.float32)
    scaled, moved = minifut.compile(TEXT, schedule="cpu").main(3, xs, xs[:1000])
    assert set(scaled) == {3}
    assert set(moved) == {4}
    assert len(compiled) == processes - 1
    texts = {text: text.count("__kernel ") for _, _, text, *_ in built}
    assert list(texts.values()) == ([2] if processes == 1 else [1, 1])
