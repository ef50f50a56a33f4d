"""Make a program that disagrees small, and keep it."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from benchmarks.campaign.state import BAD, Record
from benchmarks.campaign.worker import check
from benchmarks.worker import Worker
from minifut.errors import CompileError
from minifut.testing.reducer import reduce_text
from tests.random_sources.program import random_program


def keep_reduced(folder: Path, record: Record, worker: Worker, seconds: float) -> Path:
    """Write the program of a record, reduced for so long, to the folder."""
    text = str(random_program(record.seed, small=record.stage == "device"))
    until = time.monotonic() + seconds
    first = check(worker, record.stage, record.seed, text)
    if first.verdict in BAD:  # and not the related program
        wanted = kind(first)

        def holds(candidate: str) -> bool:
            if time.monotonic() > until:
                return False
            return kind(check(worker, record.stage, record.seed, candidate)) == wanted

        with contextlib.suppress(CompileError):  # refused, wrongly so
            text = reduce_text(text, holds)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record.stage}-{record.seed}.fut"
    said = "\n".join(f"-- {line}" for line in str(record).splitlines())
    path.write_text(f"{said}\n\n{text}")
    return path


def kind(record: Record) -> tuple[str, str]:
    """What a reduction must keep: how the check went wrong, without numbers."""
    words = record.why.split(":")[:2]
    return record.verdict, ":".join(w for w in words if "with {" not in w)[:60]
