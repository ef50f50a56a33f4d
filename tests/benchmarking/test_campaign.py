"""The campaign of random programs: what it compares, remembers and survives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.campaign import endurance, faults
from benchmarks.campaign.comparison import Disagreement, compare
from benchmarks.campaign.device import check_device
from benchmarks.campaign.passes import check_passes
from benchmarks.campaign.reduction import kind
from benchmarks.campaign.simulated import simulate
from benchmarks.campaign.state import AGREES, CRASHED, DISAGREES, HUNG, Record, State
from benchmarks.campaign.subject import Subject
from benchmarks.campaign.worker import check, checker
from minifut.errors import InternalError
from minifut.ir.core import Program
from minifut.opencl.runtime.queue import Session
from minifut.opencl.runtime.run import Run


def test_integers_are_compared_by_their_bits_and_floats_within_rounding() -> None:
    large = np.array([1e9, 3.0, np.nan, np.inf])
    assert compare([np.int32(3), large], [np.int32(3), large.copy()], "x")
    moved = large + np.array([1e-7, 1e-7, 0, 0])
    assert not compare([large], [moved], "x")
    for wrong in (large + 1, large[:2], large.astype(np.float32), -large):
        with pytest.raises(Disagreement):
            compare([large], [wrong], "x")
    with pytest.raises(Disagreement, match=r"x: result 0"):
        compare([np.array([1, 2])], [np.array([1, 3])], "x")


def test_a_campaign_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    state = State(tmp_path)
    state.add(Record("passes", 0, AGREES, 5))
    state.add(Record("passes", 2, DISAGREES, why="result 0"))
    again = State(tmp_path)
    assert list(again.left("passes", 0, 4, again=False)) == [1, 3]
    assert list(again.left("passes", 0, 4, again=True)) == [1, 2, 3]
    assert list(again.left("device", 0, 2, again=False)) == [0, 1]
    assert "passes: 2 seeds: 1 agrees, 1 DISAGREES; 5 runs" in again.summary()


def test_a_worker_survives_checks_that_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = checker(60)
    assert check(worker, "passes", 1).verdict == AGREES
    assert worker.process is not None
    worker.process.kill()
    assert check(worker, "passes", 1).verdict == CRASHED
    assert check(worker, "passes", 1).verdict == AGREES
    wrong = check(worker, "passes", 1, "def main (x: i32) = x + true")
    assert wrong.verdict == DISAGREES and "CompileError" in wrong.why
    worker.seconds = 0.02
    assert check(worker, "passes", 1).verdict == HUNG
    worker.stop()


def test_a_pass_that_changes_results_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: Subject, program: Program, what: str, chance: object) -> None:
        self.judge([np.int32(1)], [np.int32(2)], what)

    monkeypatch.setattr(Subject, "interpret", wrong)
    with pytest.raises(Disagreement, match=r"after .*: result 0: 1i32 expected, got 2"):
        check_passes(1)


def test_a_stage_that_fails_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise InternalError("lowering", "no variable")

    monkeypatch.setattr("minifut.stages.to_kernel_code", fail)
    with pytest.raises(Disagreement, match="internal error"):
        check_passes(1)


@pytest.mark.device
def test_memory_that_is_read_before_it_is_written_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "def main (is: []i64) = hist (+) 0i32 5 is (map (const 1) is)"
    assert check_device(1, text).compared
    monkeypatch.setattr(Session, "fill", lambda *_: None)
    monkeypatch.setattr(Run, "write", lambda *_: None)
    with pytest.raises((Disagreement, MemoryError)):  # a size that is garbage
        check_device(1, text)


def test_reductions_keep_the_kind_of_disagreement() -> None:
    one = Record("passes", 1, DISAGREES, why="after fuse: result 0: 1i32 expected")
    two = Record("passes", 1, DISAGREES, why="after fuse: result 0: 7i32 expected")
    other = Record("passes", 1, DISAGREES, why="after tile: result 0: 7i32 expected")
    assert kind(one) == kind(two) != kind(other)


@pytest.mark.device
def test_calls_of_several_threads_are_right() -> None:
    tally = endurance.endure(0.1, 3, 1)
    assert tally.calls > 5 and not tally.wrong, tally.wrong[:3]
    assert endurance.most_between(tally, 0, 1) > 0


@pytest.mark.device
def test_each_allocation_may_fail(tmp_path: Path) -> None:
    found = list(faults.memory(faults.Place(tmp_path, 1, 0)))
    assert len(found) > 50
    assert [(said, why) for said, why in found if why is not None] == []


STOPPED = """
import os, subprocess, sys
from benchmarks.campaign.faults import wrong
run = subprocess.Popen(["sh", "-c", "sleep 1; echo 7"], stdout=-1, stderr=-1, text=True)
judge = os.getpid()
subprocess.Popen(
    ["sh", "-c", f"sleep 0.3; kill -STOP {judge}; sleep 4; kill -CONT {judge}"]
)
sys.exit(wrong(run, "7\\n", seconds=3))
"""


def test_the_time_of_a_run_stands_still_while_its_judge_does() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_run_that_does_not_end_says_where_it_is() -> None:
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-c",
        "import time; time.sleep(90)",
    ]
    pipe = subprocess.PIPE
    run = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    found = faults.wrong(run, seconds=1)
    assert found and "no end after 1 seconds" in found and 'File "<string>"' in found


def test_half_written_files_are_told_from_whole_ones() -> None:
    assert faults.whole("a.tuning", b"") and faults.whole("a.tuning", b"a.b=3\nc=4\n")
    assert not faults.whole("a.tuning", b"a.b=3\nc=") and not faults.whole("a", b"x")
    assert faults.whole("a.py", b"x = 1\n") and not faults.whole("a.py", b"x = (1\n")


BLOCKS_OF_SEVERAL_SIZES = """
-- ==
-- input { [[1i32,2i32],[3i32,4i32]] 5i64 } output { [7i32,49i32] [[1i32,2i32],[9i32,9i32]] }
-- input { [[1i32],[2i32],[3i32]] 1i64 } output { [7i32] [[1i32],[9i32],[9i32]] }
-- input { [[1i32,2i32,3i32]] 3i64 } output { [7i32,49i32,343i32] [[1i32,2i32,3i32]] }
def main [m] [n] (xss: [m][n]i32) (k: i64) =
  let xs = if k % 2 == 0 && m > 0 then xss[k % m] else replicate n 7
  in (scan (*) 1 xs, copy xss with [1:] = replicate (m - 1) (replicate n 9))
"""
SHUFFLES = """
-- ==
-- input { [1i64,2i64,3i64,4i64,5i64,6i64,7i64,8i64,9i64] } output { 45i64 }
def main [n] (xs: [n]i64) = loop s = 0 for y in scan (+) 0 xs do i64.max s y
"""


UNWRITTEN = """
-- ==
-- input { [1i32,2i32,3i32,4i32] } output { [20i32,12i32,6i32,2i32] }
def main [n] (xs: [n]i32) = map (*2) (reverse (scan (+) 0 xs))
"""


def requires_simulator() -> None:
    cl = pytest.importorskip("pyopencl")
    if not any("oclgrind" in p.name.lower() for p in cl.get_platforms()):
        pytest.skip("Oclgrind is not installed")


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("text", [BLOCKS_OF_SEVERAL_SIZES, SHUFFLES, UNWRITTEN])
def test_the_simulator_follows_what_host_and_kernels_store(
    tmp_path: Path, text: str, schedule: str
) -> None:
    """Its own notes say of blocks that are used again, and of vectors whose elements
    are shuffled, that they are uninitialised."""
    requires_simulator()
    path = tmp_path / "program.fut"
    path.write_text(text)
    assert simulate(path, schedule, 120) == ([], [])


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_a_read_of_what_no_kernel_stored_is_reported(
    tmp_path: Path, schedule: str
) -> None:
    requires_simulator()
    path = tmp_path / "program.fut"
    path.write_text(UNWRITTEN)
    planted = "tests.benchmarking.planted_read"
    found, gave_up = simulate(path, schedule, 120, planted)
    assert any("Uninitialized" in line for line in found) and not gave_up, found
