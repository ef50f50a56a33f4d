"""Which settings send a data set the same way, without running it.

    seen = {"main.map_reduce.outer": (64, 4096)}
    way_of(choices, seen, {"main.map_reduce.outer": 64})   both amounts reach it
    way_of(choices, seen, {"main.map_reduce.outer": 0})    the same way

What a data set compares with a threshold was seen in a run; of another value of the
threshold it only matters how many of these amounts reach it, and only if the way comes
across it at all. Of a threshold that was not seen yet, and of other parameters, every
value counts as a way of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from minifut.tuning.choices import TAKEN, Choice, Settings

Seen = Mapping[str, Collection[int]]
"""the amounts that were compared with each threshold"""

Way = frozenset[tuple[str, int, bool]]
"""names with how many amounts reach the threshold, or (False) with the plain value"""


def way_of(choices: tuple[Choice, ...], seen: Seen, settings: Settings) -> Way:
    """See the module; the settings hold every parameter."""
    decided: dict[str, tuple[int, bool]] = {}
    left = list(choices)
    while left:
        choice = left.pop()
        name, value = choice.parameter.name, settings[choice.parameter.name]
        if choice.parameter.kind != "threshold":
            taken = {value}
        else:
            amounts = seen.get(name)
            if amounts:
                reach = sum(amount >= value for amount in amounts)
                decided[name] = (reach, True)
                taken = {b.value for b in choice.branches if b.value != TAKEN}
                if reach == len(amounts):
                    taken.clear()
                if reach:
                    taken.add(TAKEN)
            else:
                decided[name] = (value, False)
                taken = {branch.value for branch in choice.branches}
        for branch in choice.branches:
            if branch.value in taken:
                left.extend(branch.choices)
    hidden = _names(choices)
    for name, value in settings.items():
        if name not in hidden:
            decided[name] = (value, False)
    return frozenset((name, *how) for name, how in decided.items())


def _names(choices: tuple[Choice, ...]) -> set[str]:
    """The thresholds in the tree."""
    found: set[str] = set()
    left = list(choices)
    while left:
        choice = left.pop()
        if choice.parameter.kind == "threshold":
            found.add(choice.parameter.name)
        for branch in choice.branches:
            left.extend(branch.choices)
    return found
