"""A process that checks seeds, and is started again when one brings it down.

The parent writes a line of JSON for each check, `{"stage": .., "seed": ..}`, with
`"text": ..` if that stands for the seed's program, and reads a record back. A driver
that crashes or does not return ends the worker, never the campaign.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.campaign.state import AGREES, CRASHED, DISAGREES, HUNG, PARTLY, Record

ROOT = Path(__file__).resolve().parents[2]
MOST_CHECKS = 300
"""of one process, since device compilers do not return all memory"""
LONGEST = 4000
"""characters kept of what is wrong"""


@dataclass(slots=True)
class Worker:
    """Runs checks in another process, each for at most `seconds`."""

    seconds: float
    process: subprocess.Popen[str] | None = None
    checks: int = 0

    def check(self, stage: str, seed: int, text: str | None = None) -> Record:
        """The record of a seed, or of a text in the place of its program."""
        process = self._started()
        self.checks += 1
        start = time.monotonic()
        stopper = threading.Timer(self.seconds, process.kill)
        stopper.start()
        assert process.stdin is not None and process.stdout is not None
        try:
            job = {"stage": stage, "seed": seed, "text": text}
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        stopper.cancel()
        took = round(time.monotonic() - start, 2)
        if answer:
            return Record(**{**json.loads(answer), "seconds": took})
        code = process.wait()
        self.stop()
        if took >= self.seconds:
            return Record(stage, seed, HUNG, seconds=took, why="no answer in time")
        return Record(stage, seed, CRASHED, seconds=took, why=f"exit code {code}")

    def _started(self) -> subprocess.Popen[str]:
        if self.process is not None and self.checks < MOST_CHECKS:
            return self.process
        self.stop()
        self.checks = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.campaign.worker"],
            cwd=ROOT,
            env={**os.environ, "MINIFUT_DEBUG": "verify"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return self.process

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def work() -> None:
    """Answer checks until there are no more."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what device compilers write must not come between
    for line in sys.stdin:
        answers.write(json.dumps(asdict(record_of(**json.loads(line)))) + "\n")


def record_of(stage: str, seed: int, text: str | None) -> Record:
    """Check a seed, or a text."""
    from benchmarks.campaign.comparison import Disagreement
    from benchmarks.campaign.device import check_device
    from benchmarks.campaign.passes import check_passes

    checks: dict[str, Any] = {"passes": check_passes, "device": check_device}
    try:
        subject = checks[stage](seed, text)
    except Disagreement as wrong:
        return Record(stage, seed, DISAGREES, why=str(wrong)[:LONGEST])
    except Exception as error:
        why = f"{type(error).__name__}: {error}"[:LONGEST]
        return Record(stage, seed, DISAGREES, why=why)
    partly = subject.skipped or not subject.compared
    return Record(
        stage,
        seed,
        PARTLY if partly else AGREES,
        subject.compared,
        subject.rounded,
        why=f"{subject.skipped} runs take too long" if partly else "",
    )


if __name__ == "__main__":
    work()
