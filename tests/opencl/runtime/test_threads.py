"""Calls from several threads and processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import minifut
from minifut.errors import ProgramError

pytestmark = pytest.mark.device

PROGRAM = "entry main [n] (xs: [n]i32) (k: i32) = map (\\x -> k / x) xs"


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(*works: Callable[[], None]) -> list[BaseException]:
    """What goes wrong when these run at the same time."""
    wrong: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=guarded, args=(w,), daemon=True) for w in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return wrong


def test_a_failure_belongs_to_the_thread_whose_run_failed(hasty: None) -> None:
    program = minifut.compile(PROGRAM)
    ones, zeros = np.ones(100, np.int32), np.zeros(3, np.int32)

    def works(k: int) -> None:
        for _ in range(60):
            np.testing.assert_array_equal(program.main(ones, k), k * ones)

    def fails() -> None:
        for _ in range(60):
            with pytest.raises(ProgramError, match="division by zero"):
                program.main(zeros, 1)

    assert in_threads(lambda: works(1), lambda: works(2), fails, fails) == []


SUMS = "entry main [n][m] (xss: [n][m]i32) = map (\\xs -> let s = i32.sum xs in map (+ s) xs) xss"


def test_parameters_change_and_timed_calls_run_between_runs(hasty: None) -> None:
    """A run sees one value of each parameter, from its beginning to its end, and no
    kernel has the arguments of another thread's."""
    program = minifut.compile(SUMS)
    (name,) = [n for n in program.tuning if n.endswith(".outer")]
    entry = program.entries["main"]
    assert entry.prepare is not None
    ones, twos = np.ones((4, 30), np.int32), np.full((50, 7), 2, np.int32)
    timed = entry.prepare((twos,))

    def changes() -> None:
        for number in range(100):
            program.tuning[name] = (0, 1 << 62)[number % 2]

    def is_timed() -> None:
        for _ in range(60):
            assert timed() > 0
            np.testing.assert_array_equal(timed.results()[0], 16 * np.ones((50, 7)))

    def works() -> None:
        for _ in range(60):
            np.testing.assert_array_equal(program.main(ones), 31 * ones)

    assert in_threads(changes, is_timed, works, works) == []


FORKED = f"""
import multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
import numpy as np
import minifut
from minifut.opencl import runtime
from minifut.opencl.runtime import sessions

program = minifut.compile({SUMS!r})
given = np.arange(10**6, dtype=np.int32).reshape(1000, 1000)
wanted = program.main(given).tobytes()
arrived = program.to_device(given)

def child(wants):
    assert program.main(given).tobytes() == wants
    assert program.main(program.to_device(given), device=True).get().tobytes() == wants
    assert program.main(np.asarray(arrived)).tobytes() == wants
    assert minifut.compile({SUMS!r} + "-- anew").main(given).tobytes() == wants
    return os.getpid()

def without_device(_):
    found = replace(runtime.open_device(), synchronous=None)
    sessions.open_device = lambda _: found
    try:
        program.main(given)
    except minifut.UsageError as error:
        return str(error)

fork = multiprocessing.get_context("fork")
with ProcessPoolExecutor(2, mp_context=fork) as pool:
    assert os.getpid() not in pool.map(child, [wanted] * 4)
with ProcessPoolExecutor(2, mp_context=fork) as pool:
    assert [r.tobytes() for r in pool.map(program.main, [given] * 4)] == [wanted] * 4
with ProcessPoolExecutor(1, mp_context=fork) as pool:
    print(*pool.map(without_device, [0]))
if not os.fork():  # this one ends as any process does
    child(wanted)
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
assert program.main(given).tobytes() == wanted
"""


def test_a_forked_process_uses_the_device_without_threads() -> None:
    """Programs of its parent, and those that arrive, with the same bits. Where there is
    no such device, the error says what to do."""
    command = [sys.executable, "-c", FORKED]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=100, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    assert "was forked" in done.stdout and '"forkserver"' in done.stdout
