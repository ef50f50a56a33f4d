"""The stage under Oclgrind: races, bounds, and reads of uninitialised memory.

A program and its cases, with the interpreter's results, become a file with a test block
that `minifut test` runs in the simulator, once for each schedule.

The simulator does not know the instruction `freeze`, and takes a number in all lanes of
a vector for uninitialised, so kernels are not optimised. What else misleads it is kept
from it by `shadow_memory`.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.campaign.comparison import Disagreement
from benchmarks.campaign.state import AGREES, DISAGREES, PARTLY, Record
from benchmarks.campaign.subject import Subject
from benchmarks.oclgrind import ENVIRONMENT, GAVE_UP, findings_in, without_findings
from benchmarks.worker import WAITING
from minifut.values.text import format_value
from tests.random_sources.program import random_program

SIZES = (0, 1, 2, 3, 5)
OPTIONS = {
    "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable",
    "OCLGRIND_UNINITIALIZED": "1",
}
COMMAND = "benchmarks.campaign.shadow_memory"
"""minifut's, with memory that the simulator follows"""
ROOT = Path(__file__).resolve().parents[2]


def check_simulated(seed: int, folder: Path, limit: int) -> Record:
    """One seed, under both schedules."""
    start = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed{seed}.fut"
    try:
        subject = Subject(str(random_program(seed, small=True)), seed, sizes=SIZES)
    except Disagreement as wrong:
        return Record("oclgrind", seed, DISAGREES, why=str(wrong))
    path.write_text(f"{test_block(subject)}\n{subject.text}")
    wrong, partial = [], []
    for schedule in ("cpu", "gpu"):
        found, gave_up = simulate(path, schedule, limit)
        wrong += found
        partial += gave_up
    verdict = DISAGREES if wrong else PARTLY if partial or not subject.runs else AGREES
    took = round(time.monotonic() - start, 1)
    why = "\n".join([*wrong, *partial])
    return Record("oclgrind", seed, verdict, 2 * len(subject.runs), 0, took, why)


def test_block(subject: Subject) -> str:
    """The runs of the subject as cases."""
    lines = ["-- =="]
    for given, expected in subject.runs:
        texts = (" ".join(map(format_value, values)) for values in (given, expected))
        lines.append("-- input {{ {} }} output {{ {} }}".format(*texts))
    return "\n".join(lines)


def simulate(
    path: Path, schedule: str, limit: int, module: str = COMMAND
) -> tuple[list[str], list[str]]:
    """What the simulator finds, and why it is incomplete."""
    command = [sys.executable, "-m", module, "test", str(path.resolve())]
    command += ["--device", "Oclgrind", "--schedule", schedule]
    environment = {**os.environ, **ENVIRONMENT, **OPTIONS}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=WAITING * limit,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
        )
    except subprocess.TimeoutExpired:
        return [], [f"{schedule}: slow"]
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return [], [f"{schedule}: slow"]
    output = done.stdout + done.stderr
    gave_up = GAVE_UP.search(output)
    if gave_up:
        return [], [f"{schedule}: the simulator: {gave_up[1] or gave_up[2]}"]
    findings = findings_in(output)
    if findings:
        return [f"{schedule}: {n} x {text}" for text, n in findings.items()][:8], []
    if done.returncode:
        return [f"{schedule}: {line}" for line in without_findings(output)], []
    return [], []
