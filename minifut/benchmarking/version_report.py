"""The comparison of the versions of a program, as a table and as JSON.

    matmul.fut, [1024][1024]f32 (12.6 MB), judged by an independent run
    version     best time   runs    GB/s   speed-up
    outer        54.21 ms     10    0.23       1.00
    full          6.12 ms     62    2.06       8.86  chosen

Time is that of the fastest run, speed-up that over the first version, round by round.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minifut.benchmarking.compare import CURRENT, ComparedVersion, Comparison
from minifut.benchmarking.ratios import ratio
from minifut.benchmarking.report import microseconds

COLUMNS = ("version", "best time", "runs", "GB/s", "speed-up", "")


def version_table(comparison: Comparison) -> str:
    """The table of one data set."""
    data = comparison.data
    title = f"{data.program_name}, {data.name}"
    if comparison.failure is not None:
        return f"{title}: {comparison.failure}"
    size = f" ({comparison.nbytes / 1e6:.1f} MB)" if comparison.nbytes else ""
    lines = [f"{title}{size}, judged by {comparison.judged_by}"]
    rows = [COLUMNS, *(_row(comparison, e) for e in comparison.entrants)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *middle, last = row
        cells = [text.rjust(w) for text, w in zip(middle, widths[1:-1], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells, last]).rstrip())
    for entrant in comparison.entrants:
        if not entrant.agrees:
            problem = entrant.candidate.failure or entrant.wrong or ""
            lines.append(f"{entrant.name}: " + problem.replace("\n", "\n    "))
    lines += _notes(comparison)
    return "\n".join(lines)


def _row(comparison: Comparison, entrant: ComparedVersion) -> tuple[str, ...]:
    name = entrant.name
    marks = []
    if entrant is comparison.chosen:
        marks.append("chosen")
    if not entrant.agrees:
        kind = "fails" if entrant.candidate.failure else "wrong results"
        return (name, "-", "-", "-", "-", ", ".join([*marks, kind]))
    if entrant is comparison.best and len(comparison.entrants) > 1:
        marks.append("best")
    candidate = entrant.candidate
    if not candidate.seconds:
        return (name, "-", "0", "-", "-", ", ".join(marks))
    first = comparison.entrants[0].candidate
    speed_up = f"{ratio(first, candidate).value:.2f}" if first.rounds else "-"
    return (
        name,
        readable_seconds(candidate.best),
        str(len(candidate.seconds)),
        _rate(comparison.nbytes / candidate.best / 1e9),
        speed_up,
        ", ".join(marks),
    )


def _rate(number: float) -> str:
    """GB/s; what computes more than it moves has none."""
    return f"{number:.2f}" if number >= 0.01 else "-"


def _notes(comparison: Comparison) -> list[str]:
    aliases = sum(len(e.aliases) for e in comparison.entrants)
    notes = []
    if aliases:
        verb = "goes" if aliases == 1 else "go"
        notes.append(f"({aliases} more {verb} the same way as one of these)")
    if comparison.left_out:
        notes.append(f"({comparison.left_out} more were not tried)")
    if comparison.chosen is not None and comparison.chosen.name == CURRENT:
        notes.append("(the current parameters take a mixture of versions)")
    return notes


def readable_seconds(seconds: float) -> str:
    """Three or four digits and a unit."""
    for unit, factor in (("s", 1), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} μs"


def versions_json(comparisons: Iterable[Comparison]) -> dict[str, Any]:
    """By program and entry point, data set and version: runs in microseconds, the
    parameters that force the version, whether its results are right, and its time over
    that of the best version."""
    found: dict[str, Any] = {}
    for comparison in comparisons:
        data = comparison.data
        name = data.program_name
        data_sets = found.setdefault(name, {"datasets": {}})["datasets"]
        if comparison.failure is not None:
            data_sets[data.name] = comparison.failure
            continue
        data_sets[data.name] = {
            "versions": {e.name: _entrant(comparison, e) for e in comparison.entrants},
            "chosen": comparison.chosen and comparison.chosen.name,
            "bytes": comparison.nbytes,
        }
    return found


def _entrant(comparison: Comparison, entrant: ComparedVersion) -> dict[str, Any]:
    described: dict[str, Any] = {
        "runtimes": microseconds(entrant.candidate.seconds),
        "params": dict(entrant.version.settings),
        "agrees": entrant.agrees,
    }
    relative = comparison.relative(entrant) if entrant.agrees else None
    if relative is not None:
        described["relative"] = round(relative.value, 4)
    problem = entrant.candidate.failure or entrant.wrong
    if problem:
        described["error"] = problem
    return described
