"""Reports of measurements, as text and as JSON.

    [1000]f32:        153μs (95% CI: [     151.2,      155.9])

JSON is in the format of `futhark bench`, so that its tools can compare: microseconds as
whole numbers, a failed data set as a string.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from minifut.benchmarking.bench import BenchOutcome
from minifut.benchmarking.measure import Candidate

WIDEST_NAME = 40


def name_width(names: Iterable[str]) -> int:
    """How wide the column of data sets is."""
    return min(WIDEST_NAME, max(map(len, names), default=0)) + 1


def result_line(outcome: BenchOutcome, width: int) -> str:
    """A data set that was measured."""
    candidate = outcome.candidate
    low, high = confidence_interval(candidate.seconds)
    return (
        f"{_label(outcome.data.name, width)}{candidate.mean * 1e6:11.0f}μs "
        f"(95% CI: [{low * 1e6:10.1f}, {high * 1e6:10.1f}])"
    )


def progress_line(name: str, candidate: Candidate, width: int) -> str:
    """A data set that is being measured."""
    error = candidate.error
    shown = f"RSE of mean: {error:.4f}; " if math.isfinite(error) else ""
    runs = len(candidate.seconds)
    line = f"{candidate.mean * 1e6:11.0f}μs ({shown}{runs:4} runs)"
    return _label(name, width) + line


def _label(name: str, width: int) -> str:
    if len(name) >= width:
        name = name[: width - 4] + "..."
    return f"{name}:".ljust(width)


FEW = 100
"""runs; the mean of more is distributed normally"""


def confidence_interval(seconds: Sequence[float]) -> tuple[float, float]:
    """Bounds that hold the mean with a probability of 95 %: of few runs by resampling,
    of many by their standard error."""
    if len(seconds) > FEW:
        mean = statistics.fmean(seconds)
        margin = 1.96 * statistics.stdev(seconds, mean) / math.sqrt(len(seconds))
        return mean - margin, mean + margin
    import numpy as np

    values = np.asarray(seconds)
    picks = np.random.default_rng(1).integers(0, len(values), (1000, len(values)))
    low, high = np.quantile(values[picks].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def microseconds(seconds: Iterable[float]) -> list[int]:
    """Runs as JSON has them."""
    return [max(1, round(s * 1e6)) for s in seconds]


def bench_json(outcomes: Iterable[BenchOutcome]) -> dict[str, Any]:
    """Results by program and entry point, then by data set."""
    found: dict[str, Any] = {}
    for outcome in outcomes:
        name = outcome.data.program_name
        data_sets = found.setdefault(name, {"datasets": {}})["datasets"]
        if outcome.failure is not None:
            data_sets[outcome.data.name] = outcome.failure
        elif outcome.candidate.seconds:
            data_sets[outcome.data.name] = {
                "runtimes": microseconds(outcome.candidate.seconds),
                "bytes": {"device": outcome.peak},
                "stderr": "",
            }
    return found
