"""Each data set of a program measured by itself and its results judged.

for data in data_sets(path, selection):
    outcome = Outcome(data)
    bench(outcome, loaded, Plan())
    outcome.failure or outcome.candidate.seconds
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minifut.benchmarking.datasets import DataSet
from minifut.benchmarking.loaded import Loaded
from minifut.benchmarking.measure import Candidate, ProgressFunction, RunPlan, measure
from minifut.errors import InternalError, MinifutError
from minifut.testing.time_limit import TimeLimit


def _no_run() -> float:
    raise InternalError("bench", "nothing to run")


@dataclass(slots=True)
class BenchOutcome:
    """What is known about a data set, complete or not."""

    data: DataSet
    candidate: Candidate = field(default_factory=lambda: Candidate(_no_run))
    failure: str | None = None
    peak: int = 0
    """bytes of device memory"""
    is_stuck: bool = False
    """a kernel went on long after its time"""


def bench(
    outcome: BenchOutcome,
    loaded: Loaded,
    plan: RunPlan,
    progress: ProgressFunction | None = None,
) -> None:
    """Measure and judge; a program that fails on the data is noted as such. Ctrl-C
    leaves the runs so far in the outcome."""
    data = outcome.data
    try:
        call = loaded.timed(data)
        outcome.candidate.run = call
        measure(outcome.candidate, plan, progress)
        outcome.peak = call.peak
        outcome.failure = loaded.judge(data, call.results())
    except TimeLimit as limit:
        outcome.failure = f"took more than {plan.limit:g} s"
        outcome.is_stuck = limit.is_stuck
    except InternalError:
        raise
    except (MinifutError, MemoryError) as error:
        outcome.failure = str(error) or "out of memory"
