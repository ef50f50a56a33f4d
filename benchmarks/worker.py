"""A process that does jobs, and is started again when one of them brings it down.

    with the parent:   for event in worker.events({"path": "a.fut"}): ..
    in the process:    serve(handle)        handle(job) gives the events of a job

A job is a line of JSON, with the seconds of CPU time that it may take; so is each
event, and an empty one is the last. CPU time is counted, since other work on the
machine must not decide what is slow; a job that waits for ever is stopped by the clock.
A driver that crashes or does not return ends the process, never the parent.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WAITING = 30
"""times the limit of CPU time, by the clock, after which a job is stopped"""

Json = dict[str, Any]


class Ended(Exception):
    """The process ended within a job, `slow` if because of the limit."""

    def __init__(self, code: int, slow: bool) -> None:
        super().__init__("no answer in time" if slow else f"exit code {code}")
        self.slow = slow


@dataclass(slots=True)
class Worker:
    """Runs `python` with `arguments`; each job may take so many `seconds` of CPU time.
    A process is given at most `most` jobs, since device compilers do not return all
    memory."""

    arguments: Sequence[str]
    seconds: float
    most: int
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None
    given: int = 0

    def events(self, job: Json) -> Iterator[Json]:
        """Let the process do a job. Raises `Ended`."""
        process = self._started()
        self.given += 1
        start = time.monotonic()
        stopper = threading.Timer(WAITING * self.seconds, process.kill)
        stopper.start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps([self.seconds, job]) + "\n")
            process.stdin.flush()
            while event := json.loads(process.stdout.readline()):
                yield event
        except (BrokenPipeError, json.JSONDecodeError):
            code = process.wait()
            self.stop()
            late = time.monotonic() - start >= WAITING * self.seconds
            raise Ended(code, late or code == -signal.SIGPROF) from None
        finally:
            stopper.cancel()

    def _started(self) -> subprocess.Popen[str]:
        if self.process is not None and self.given < self.most:
            return self.process
        self.stop()
        self.given = 0
        self.process = subprocess.Popen(
            [sys.executable, *self.arguments],
            cwd=ROOT,
            env={**os.environ, **self.environment},
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


def serve(handle: Callable[[Json], Iterable[Json]]) -> None:
    """Do jobs until there are no more."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what device compilers write must not come between
    for line in sys.stdin:
        seconds, job = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # ends the process
        for event in handle(job):
            out.write(json.dumps(event) + "\n")
        signal.setitimer(signal.ITIMER_PROF, 0)
        out.write("{}\n")
