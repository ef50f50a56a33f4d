"""The process that checks seeds, and what is known of a seed when it ended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from benchmarks.campaign.state import AGREES, CRASHED, DISAGREES, HUNG, PARTLY, Record
from benchmarks.worker import Ended, Json, Worker, serve

MOST_CHECKS = 300
"""of one process"""
LONGEST = 4000
"""characters kept of what is wrong"""


def checker(seconds: float) -> Worker:
    """A worker whose checks take at most so many seconds of CPU time each."""
    arguments = ("-m", "benchmarks.campaign.worker")
    return Worker(arguments, seconds, MOST_CHECKS, {"MINIFUT_DEBUG": "verify"})


def check(worker: Worker, stage: str, seed: int, text: str | None = None) -> Record:
    """The record of a seed, or of a text in the place of its program."""
    start = time.monotonic()
    try:
        (found,) = worker.events({"stage": stage, "seed": seed, "text": text})
        record = Record(**found)
    except Ended as ended:
        record = Record(stage, seed, HUNG if ended.slow else CRASHED, why=str(ended))
    return replace(record, seconds=round(time.monotonic() - start, 2))


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


def answer(job: Json) -> Iterator[Json]:
    yield asdict(record_of(**job))


if __name__ == "__main__":
    serve(answer)
