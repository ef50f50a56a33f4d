"""Ranges of threshold values that a data set distinguishes, and the best for several.

    amounts 64, 4096 were compared    →    cut 0: up to 64        both are taken
                                           cut 1: 65 .. 4096      only the larger one
                                           cut 2: 4097 .. never   neither

Only observed amounts separate values, so there is one cut more than amounts. The best
one is found by binary search: of two neighbours in the middle the better one decides on
which side to continue. A data set then says what each of its cuts loses against its
best one; a loss that is not above 2 % and the noise is none. Over several data sets the
value with the least loss wins: where the best intervals of all have values in common,
those lose nothing. The default stays if it is as good as any.

Source: "Dataset sensitive autotuning of multi-versioned code" (TFP 2021).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from minifut.parameters.tuning import NEVER

Interval = tuple[int, int]
"""the least and the greatest value"""

SIGNIFICANT = 0.02
"""a smaller gain is no reason to leave a default"""

INFINITE_LOSS = math.log(1000)
"""of what fails, or is never waited for: bad, but comparable"""


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """Seconds (infinity if it failed) that compare with those of the same race, and the
    relative difference that may be chance."""

    seconds: float
    noise: float = 0.0


@dataclass(frozen=True, slots=True)
class Cuts:
    """The cuts of a threshold by ascending amounts."""

    amounts: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.amounts) + 1

    def interval(self, cut: int) -> Interval:
        """The values that mean the cut."""
        low = 0 if cut == 0 else self.amounts[cut - 1] + 1
        high = NEVER if cut == len(self.amounts) else self.amounts[cut]
        return low, high

    def of(self, value: int) -> int:
        """The cut that a value means."""
        return sum(amount < value for amount in self.amounts)

    def value(self, cut: int) -> int:
        """A value that means the cut, also for amounts that were left out."""
        return pick(self.interval(cut))


def cuts_of(amounts: Iterable[int], most: int) -> Cuts:
    """The cuts between the amounts; of more than `most` amounts some that are evenly on
    a logarithmic scale, the largest one among them."""
    known = sorted({amount for amount in amounts if 0 <= amount < NEVER})
    if len(known) <= most:
        return Cuts(tuple(known))
    low, high = math.log(known[0] + 1), math.log(known[-1] + 1)
    kept = {known[-1]}
    for number in range(most):
        wanted = low + (high - low) * number / max(1, most - 1)
        kept.add(min(known, key=lambda a: abs(math.log(a + 1) - wanted)))
    return Cuts(tuple(sorted(kept)[-most:]))


Compare = Callable[[Sequence[int]], Mapping[int, MeasuredTime]]
"""the times of several cuts, interleaved"""


def search(cuts: Cuts, default: int, compare: Compare) -> dict[int, float]:
    """The loss of each cut that was tried, by binary search. The cut of the default is
    run along each time, so that times of different rounds can be compared."""
    first, last = 0, len(cuts) - 1
    home = cuts.of(default)
    ratios: dict[int, float] = {home: 0.0}
    noises: dict[int, float] = {home: 0.0}
    while first < last:
        middle = (first + last) // 2
        times = compare(sorted({middle, middle + 1, home}))
        for cut, loss in relative(times, home).items():
            if cut not in ratios or loss < ratios[cut]:
                ratios[cut], noises[cut] = loss, times[cut].noise
        if ratios[middle] <= ratios[middle + 1]:
            last = middle
        else:
            first = middle + 1
    return significant(ratios, noises)


def relative(times: Mapping[int, MeasuredTime], home: int) -> dict[int, float]:
    """How much slower than home each is, as a logarithm."""
    at_home = times[home].seconds
    if math.isinf(at_home):
        fit = [t.seconds for t in times.values() if math.isfinite(t.seconds)]
        return {
            c: math.log(t.seconds / min(fit)) - INFINITE_LOSS
            if math.isfinite(t.seconds)
            else 0.0
            for c, t in times.items()
        }
    return {
        cut: min(INFINITE_LOSS, math.log(max(1e-9, t.seconds) / max(1e-9, at_home)))
        if math.isfinite(t.seconds)
        else INFINITE_LOSS
        for cut, t in times.items()
    }


def significant(
    ratios: Mapping[int, float], noises: Mapping[int, float]
) -> dict[int, float]:
    """What each loses against the best, if that is more than noise."""
    best = min(ratios, key=lambda cut: ratios[cut])
    found: dict[int, float] = {}
    for cut, ratio in ratios.items():
        least = math.log1p(max(SIGNIFICANT, noises[cut], noises[best]))
        loss = ratio - ratios[best]
        found[cut] = loss if loss > least else 0.0
    return found


@dataclass(frozen=True, slots=True)
class Finding:
    """What a data set says: losses of cuts. One that was not tried is like the nearest
    one that was."""

    cuts: Cuts
    losses: Mapping[int, float]

    def loss(self, value: int) -> float:
        """What the data set loses with the value."""
        cut = self.cuts.of(value)
        return self.losses[
            min(self.losses, key=lambda known: (abs(known - cut), known))
        ]


def combine(findings: Collection[Finding], default: int) -> int:
    """The value with which the data sets together lose least."""
    bounds = {0, NEVER + 1}
    for finding in findings:
        bounds |= {amount + 1 for amount in finding.cuts.amounts}
    intervals = [(a, b - 1) for a, b in itertools.pairwise(sorted(bounds))]

    def total(value: int) -> float:
        return sum(finding.loss(value) for finding in findings)

    losses = [total(high) for _, high in intervals]
    least = min(losses)
    if total(default) <= least + 1e-9:
        return default
    at = losses.index(least)
    until = at
    while until + 1 < len(losses) and losses[until + 1] <= least + 1e-9:
        until += 1
    return pick((intervals[at][0], intervals[until][1]))


def pick(interval: Interval) -> int:
    """The value in an interval that is farthest from what was seen on either side:
    an end if nothing was, else the geometric mean."""
    low, high = interval
    if low == 0:
        return 0
    if high >= NEVER:
        return NEVER
    return min(high, max(low, round(math.sqrt(low * high))))
