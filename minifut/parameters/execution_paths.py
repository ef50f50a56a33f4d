"""Execution paths: which settings run a data set identically, without running it.

    seen = {"main.map_reduce.outer": (64, 4096)}
    execution_path(decisions, seen, {"main.map_reduce.outer": 64})   both reach it
    execution_path(decisions, seen, {"main.map_reduce.outer": 0})    the same path

The amounts that a data set compares with a threshold were observed in a run; another
value of the threshold changes the path only by the number of these amounts that reach
it, and only if the path contains the threshold at all. Each value of a threshold that
was not observed yet, and of other parameters, makes a path of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from minifut.parameters.decisions import TAKEN, DecisionPoint, Settings

Seen = Mapping[str, Collection[int]]
"""the amounts that were compared with each threshold"""

ExecutionPath = frozenset[tuple[str, int, bool]]
"""names with how many amounts reach the threshold, or (False) with the plain value"""


def execution_path(
    decisions: tuple[DecisionPoint, ...], seen: Seen, settings: Settings
) -> ExecutionPath:
    """See the module; the settings hold every parameter."""
    decided: dict[str, tuple[int, bool]] = {}
    left = list(decisions)
    while left:
        decision = left.pop()
        name, value = decision.parameter.name, settings[decision.parameter.name]
        if decision.parameter.kind != "threshold":
            taken = {value}
        else:
            amounts = seen.get(name)
            if amounts:
                reach = sum(amount >= value for amount in amounts)
                decided[name] = (reach, True)
                taken = {b.value for b in decision.branches if b.value != TAKEN}
                if reach == len(amounts):
                    taken.clear()
                if reach:
                    taken.add(TAKEN)
            else:
                decided[name] = (value, False)
                taken = {branch.value for branch in decision.branches}
        for branch in decision.branches:
            if branch.value in taken:
                left.extend(branch.decisions)
    hidden = _names(decisions)
    for name, value in settings.items():
        if name not in hidden:
            decided[name] = (value, False)
    return frozenset((name, *how) for name, how in decided.items())


def _names(decisions: tuple[DecisionPoint, ...]) -> set[str]:
    """The thresholds in the tree."""
    found: set[str] = set()
    left = list(decisions)
    while left:
        decision = left.pop()
        if decision.parameter.kind == "threshold":
            found.add(decision.parameter.name)
        for branch in decision.branches:
            left.extend(branch.decisions)
    return found
