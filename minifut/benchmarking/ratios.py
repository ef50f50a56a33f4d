"""Comparison of interleaved candidates: the median of the ratios of paired runs.

    rounds of one     5.6  11.2  11.3  5.7     the machine halved its speed for a while
    of the other     6.1  12.4  12.2  6.3     → 1.09, 1.11, 1.08, 1.11: a tenth slower

A machine that is shared changes its speed by up to two, for milliseconds or for
minutes. The fastest run of each candidate then says most about which one met the
machine at its best; a ratio within one round compares like with like, and the middle
one of several is not changed by a round that was disturbed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from minifut.benchmarking.measure import Candidate

MIDDLE_SPREAD, MEAN_SPREAD = 1.4826, 1.2533
"""the standard deviation of what is distributed normally, over the middle one and the
mean of its deviations from the middle"""

SEVERAL = 6
"""rounds; of fewer the middle deviation may well be none"""

MIDDLE = 1.2533
"""how much less precise the middle is than the mean"""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A time over another, and the relative standard error (0 for a single round, which
    does not know better)."""

    value: float
    error: float


def ratio(one: Candidate, other: Candidate) -> Ratio:
    """The first one's time over the other's. One that ended early is compared in the
    rounds that it had; infinity if it had none."""
    pairs = zip(one.rounds, other.rounds, strict=False)
    logs = [math.log(max(a, 1e-9) / max(b, 1e-9)) for a, b in pairs]
    if not logs:
        return Ratio(math.inf, 0.0)
    middle = statistics.median(logs)
    deviations = [abs(log - middle) for log in logs]
    if len(logs) < SEVERAL:
        spread = MEAN_SPREAD * statistics.fmean(deviations)
    else:
        spread = MIDDLE_SPREAD * statistics.median(deviations)
    error = MIDDLE * spread / math.sqrt(len(logs))
    return Ratio(math.exp(middle), math.expm1(error))


def reference(candidates: Sequence[Candidate]) -> Candidate:
    """The one to compare others with: that of most rounds, of these the fastest."""
    return max(candidates, key=lambda c: (len(c.rounds), -c.best))


def comparable_seconds(candidates: Sequence[Candidate]) -> list[Ratio]:
    """The time of each as if all had run at the same speed of the machine, with the
    error of their comparison: their ratios to one of them, times its fastest run."""
    known = [c for c in candidates if c.rounds]
    if not known:
        return [Ratio(math.inf, 0.0)] * len(candidates)
    base = reference(known)
    ratios = [ratio(candidate, base) for candidate in candidates]
    return [Ratio(base.best * r.value, r.error) for r in ratios]
