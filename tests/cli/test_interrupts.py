"""An interrupt at any moment ends a command: 130, one line, no files, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minifut import interrupts
from minifut.files import temporary_beside

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from interrupts import COLUMNS, COMMANDS, interrupt, judge

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

INSTALLED = "import minifut.interrupts as interrupts; interrupts.install()\n"


def answer(program: str, folder: Path) -> tuple[int, str]:
    """Exit code and messages of a program that is interrupted once it prints a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", INSTALLED + program],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": str(Path(interrupts.__file__).resolve().parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    process.stdout.readline()
    began = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert time.perf_counter() - began < 30
    return process.returncode, message


@pytest.mark.parametrize(
    "work",
    [
        "while True: pass",
        "import time; time.sleep(100)",
        "import threading; threading.Event().wait()",
        # a callback, from which an exception would be lost
        "class A:\n  def __del__(self):\n    while True: pass\nA()",
        "import atexit, time; atexit.register(time.sleep, 100)",
    ],
)
def test_an_interrupt_ends_what_is_done(work: str, tmp_path: Path) -> None:
    assert answer(f"print(flush=True)\n{work}", tmp_path) == (130, "interrupted\n")


def test_a_call_that_does_not_return_is_not_waited_for(tmp_path: Path) -> None:
    """One in C, of the main thread, in which Python runs no handlers: a lock that is
    taken twice."""
    work = (
        "import ctypes\n"
        "lock, take = ctypes.create_string_buffer(64), ctypes.CDLL(None)\n"
        "take.pthread_mutex_lock(lock)\n"
        "import threading\n"
        "threading.Timer(0.3, print, [''], {'flush': True}).start()\n"
        "with interrupts.raised():\n"
        "  take.pthread_mutex_lock(lock)\n"
    )
    assert answer(work, tmp_path) == (130, "interrupted\n")


def test_temporary_files_go(tmp_path: Path) -> None:
    work = (
        "from pathlib import Path\nfrom minifut.files import *\n"
        "write_whole(Path('whole'), b'1')\n"
        "Path('folder/inner').mkdir(parents=True); Path('folder/inner/a').touch()\n"
        "interrupts.note_temporary('folder')\n"
        "temporary_beside(Path('half').absolute())\n"
        "print(flush=True)\nwhile True: pass"
    )
    assert answer(work, tmp_path)[0] == 130
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]


def test_a_deferred_interrupt_comes_after_the_block(tmp_path: Path) -> None:
    work = (
        "import time\nfrom pathlib import Path\n"
        "with interrupts.deferred():\n"
        "  print(flush=True); time.sleep(0.2); Path('a').touch()\n"
        "time.sleep(0.1); Path('b').touch()"
    )
    assert answer(work, tmp_path) == (130, "interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_interrupt_can_be_caught_where_that_is_asked_for(tmp_path: Path) -> None:
    work = (
        "import time\n"
        "try:\n"
        "  with interrupts.raised():\n    print(flush=True); time.sleep(100)\n"
        "except KeyboardInterrupt:\n"
        "  time.sleep(1.2); open('kept', 'w').close(); raise SystemExit(7)\n"
    )
    assert answer(work, tmp_path) == (7, "")
    assert (tmp_path / "kept").exists()


def test_an_interrupt_after_all_is_done_changes_nothing(tmp_path: Path) -> None:
    """Behind the exit functions: here, while what is left of a module is deleted."""
    work = (
        "class Last:\n"
        "  def __init__(self): import time; self.sleep = time.sleep\n"
        "  def __del__(self, p=print): p(flush=True); self.sleep(0.2)\n"
        "last = Last()"
    )
    assert answer(work, tmp_path) == (0, "")


def test_ignored_interrupts_stay_ignored(tmp_path: Path) -> None:
    program = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    done = subprocess.run(
        [
            *(sys.executable, "-c"),
            program + INSTALLED + "signal.raise_signal(signal.SIGINT)",
        ],
        env=os.environ | {"PYTHONPATH": str(Path(interrupts.__file__).parents[1])},
        timeout=60,
    )
    assert done.returncode == 0


def test_the_package_alone_installs_no_handler() -> None:
    assert signal.getsignal(signal.SIGINT) is not interrupts._handle


def test_names_of_temporary_files_are_forgotten(tmp_path: Path) -> None:
    from minifut.files import discard, replace

    first, second = (temporary_beside(tmp_path / "a") for _ in range(2))
    assert {first, second} <= set(interrupts._answer.temporary)
    replace(first, tmp_path / "a")
    discard(second)
    assert {first, second}.isdisjoint(interrupts._answer.temporary)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.device
@pytest.mark.parametrize("command", ["cache", "check", "compile", "run"])
def test_commands_at_random_moments(command: str) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        seed = f"test {command}"
        counts = interrupt(COMMANDS[command], 4, seed, float("inf")).counts
    finally:
        signal.signal(signal.SIGINT, before)
    assert sum(counts[c] for c in ("130", "ended", "python")) == 4
    assert not any(counts[c] for c in COLUMNS[3:] if c != "late")


def test_answers_are_judged() -> None:
    trace = 'Traceback (most recent call last):\n  File "minifut/cli/run.py"'
    cases = [(130, "interrupted\n"), (130, "x"), (0, ""), (-2, ""), (1, trace)]
    kinds = ["130", "silent", "ended", "python", "traceback"]
    assert [judge(*case) for case in cases] == kinds
