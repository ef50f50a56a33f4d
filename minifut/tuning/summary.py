"""What tuning gained, as a table and as JSON.

data set        before     after  speed-up
[1024][1024]  54.21 ms   6.12 ms      8.86
[16][16]      11.02 us  11.02 us      same
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from minifut.benchmarking.version_report import readable_seconds
from minifut.parameters.tuning import value_text
from minifut.tuning.autotune import Autotuner, Gain


def summary_table(tuner: Autotuner) -> str:
    """A line for each data set, then the parameters that left their defaults."""
    rows = [("data set", "before", "after", "speed-up"), *map(_cells, tuner.rows())]
    lines = []
    if len(rows) > 1:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for first, *rest in rows:
            cells = [text.rjust(w) for text, w in zip(rest, widths[1:], strict=True)]
            lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    for name, why in tuner.failures.items():
        lines.append(f"{name} was left out: {why}".replace("\n", "\n    "))
    if len(tuner.known) > 1:
        lines.append(f"geometric mean of the speed-ups: {tuner.gain:.2f}")
    if tuner.rejected:
        names = ", ".join(tuner.rejected)
        lines.append(f"What gained nothing in the end keeps its default: {names}")
    elif not tuner.changed and len(tuner.failures) < len(tuner.task.subjects):
        lines.append("The defaults are as good as anything that was found.")
    for name, value in sorted(tuner.changed.items()):
        lines.append(
            f"{name}: {value_text(tuner.task.defaults[name])} -> {value_text(value)}"
        )
    return "\n".join(lines)


def cost_line(tuner: Autotuner) -> str:
    """How many runs and seconds it took."""
    runs, seconds = tuner.trials.done, tuner.trials.seconds
    return f"{runs} program runs in {seconds:.1f} s"


def summary_json(tuner: Autotuner, program: str) -> dict[str, Any]:
    """Times in microseconds by data set, all parameters, what it took."""
    return {
        program: {
            "datasets": {row.name: _described(row) for row in tuner.rows()},
            "params": dict(sorted(tuner.values.items())),
            "changed": dict(sorted(tuner.changed.items())),
            "gain": round(tuner.gain, 4),
            "pairs": tuner.pairs,
            "threshold_runs": tuner.threshold_runs,
            "runs": tuner.trials.done,
            "seconds": round(tuner.trials.seconds, 3),
        }
    }


def _cells(row: Gain) -> tuple[str, str, str, str]:
    if row.failure is not None:
        return row.name, "-", "-", "fails"
    before, after = _time(row.before.seconds), _time(row.after.seconds)
    return row.name, before, after, "same" if row.same else f"{row.gain:.2f}"


def _time(seconds: float) -> str:
    return "fails" if math.isinf(seconds) else readable_seconds(seconds)


def _described(row: Gain) -> Mapping[str, Any]:
    if row.failure is not None:
        return {"error": row.failure}
    return {
        "before": _microseconds(row.before.seconds),
        "after": _microseconds(row.after.seconds),
        "same": row.same,
    }


def _microseconds(seconds: float) -> float | None:
    return None if math.isinf(seconds) else round(seconds * 1e6, 1)
