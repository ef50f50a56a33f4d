"""Successive halving: measure all a little, the better half twice as much, and so on.

    best = halving(points, measure, group)

Of each group the best one stays to the end: it may be needed where those of other
groups cannot be used.

Source: "Non-stochastic best arm identification and hyperparameter optimization"
(Jamieson and Talwalkar, 2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

P = TypeVar("P", bound=Hashable)

FEW = 2
"""points that are not halved any more"""
MOST_RUNS = 8
"""of a point in one round"""


def halving(
    points: Sequence[P],
    measure: Callable[[Sequence[P], int], Sequence[float]],
    group: Callable[[P], Hashable],
) -> list[tuple[P, float]]:
    """The points that are left, the best ones first, with their costs of the last
    round. `measure` gives the costs of points that run so many times, infinity for
    those that cannot."""
    alive = list(points)
    runs = 1
    while alive:
        costs = dict(zip(alive, measure(alive, runs), strict=True))
        fit = sorted(
            (p for p in alive if math.isfinite(costs[p])), key=costs.__getitem__
        )
        kept = fit[: max(FEW, len(fit) // 2)]
        groups = {group(point) for point in kept}
        for point in fit[len(kept) :]:
            if group(point) not in groups:
                groups.add(group(point))
                kept.append(point)
        is_stable = len(kept) == len(alive)
        alive = kept
        if is_stable or runs >= MOST_RUNS:
            return [(point, costs[point]) for point in alive]
        runs *= 2
    return []
