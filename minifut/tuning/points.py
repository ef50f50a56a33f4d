"""Legal values of the parameters that shape kernels, and their neighbours.

    ladder(block_rows = 42 in 1 .. 1024)  =  5 8 10 16 21 32 42 63 84 126 168 252 336
    neighbours({"rows": 42, "depth": 256})  one number one rung up or down

A ladder holds a parameter's default, times and divided by 1.5 and powers of two, within
its bounds; a choice has all its values. What the device cannot run shows when it is
tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from minifut.parameters.tuning import NEVER, Tunable

SizeValues = Mapping[str, int]

FACTORS = (1 / 8, 3 / 16, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
FARTHEST = 3
"""rungs between a random value and the default"""
MOST_VALUES = 64
"""of a choice"""
LANES = (1, 8, 16)
"""the numbers of lanes for which kernels have code"""
POWERS_OF_TWO = ("group_size", "num_threads", "num_groups")
"""kinds of which other values make no sense"""
NOT_SEARCHED = ("threshold", "limit")


def is_size(tunable: Tunable) -> bool:
    """Whether the parameter shapes kernels, instead of choosing between versions."""
    return tunable.kind not in NOT_SEARCHED


def ladder(tunable: Tunable, default: int) -> list[int]:
    """The values to try, ascending; the default is one of them."""
    low, high = tunable.bounds or (1, NEVER)
    if tunable.kind == "choice":
        return sorted({default, *range(low, min(high, low + MOST_VALUES - 1) + 1)})
    if tunable.kind == "lanes":
        return sorted({default, *(n for n in LANES if low <= n <= high)})
    if tunable.kind in POWERS_OF_TWO:
        powers = (1 << exponent for exponent in range(62))
        near = (p for p in powers if default <= 16 * p and p <= 16 * default)
        return sorted({default, *(p for p in near if low <= p <= high)})
    found = {max(1, round(default * factor)) for factor in FACTORS}
    return sorted({default, *(value for value in found if low <= value <= high)})


def random_points(
    random: Random, ladders: Mapping[str, Sequence[int]], start: SizeValues, number: int
) -> list[dict[str, int]]:
    """So many different points around the start (fewer, if there are no more)."""
    found: list[dict[str, int]] = []
    known = {tuple(start.values())}
    for _ in range(number * 10):
        if len(found) == number:
            break
        point = {
            name: _moved(random, ladders[name], value)
            if random.random() < 0.5
            else value
            for name, value in start.items()
        }
        if tuple(point.values()) not in known:
            known.add(tuple(point.values()))
            found.append(point)
    return found


def neighbours(
    ladders: Mapping[str, Sequence[int]], point: SizeValues
) -> Iterator[dict[str, int]]:
    """The points that differ in one number by one rung."""
    for name, value in point.items():
        rungs = ladders[name]
        at = rungs.index(value)
        for other in (at - 1, at + 1):
            if 0 <= other < len(rungs):
                yield {**point, name: rungs[other]}


def _moved(random: Random, rungs: Sequence[int], value: int) -> int:
    at = rungs.index(value) + random.randint(-FARTHEST, FARTHEST)
    return rungs[max(0, min(at, len(rungs) - 1))]
