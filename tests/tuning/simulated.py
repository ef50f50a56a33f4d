"""Data sets that are not run: their times are functions of the settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from minifut.errors import UsageError
from minifut.ir.kernels import Parameter
from minifut.parameters.decisions import (
    TAKEN,
    Alternative,
    DecisionPoint,
    Settings,
)
from minifut.parameters.tuning import NEVER, Tunable
from minifut.tuning.subject import Sample

Cost = Callable[[Mapping[str, bool], Settings], float]
"""seconds from the decisions that were met (one for each threshold: the latest one) and
the settings"""


def threshold(name: str, cpu: int = NEVER) -> Parameter:
    return Parameter(name, "threshold", (("cpu", cpu), ("gpu", cpu)), (0, NEVER))


def choice(
    name: str,
    taken: Sequence[DecisionPoint] = (),
    not_taken: Sequence[DecisionPoint] = (),
    cpu: int = NEVER,
) -> DecisionPoint:
    branches = (Alternative(TAKEN, tuple(taken)), Alternative(NEVER, tuple(not_taken)))
    return DecisionPoint(threshold(name, cpu), branches)


def tunables_of(decisions: Sequence[DecisionPoint]) -> dict[str, Tunable]:
    found: dict[str, Tunable] = {}
    for each in decisions:
        p = each.parameter
        found[p.name] = Tunable(p.name, p.kind, dict(p.defaults), p.bounds, p.guards)
        for branch in each.branches:
            found |= tunables_of(branch.decisions)
    return found


class Simulated:
    """`amounts` are compared with each threshold that a run comes across. `sizes` says
    which parameters shape the kernels behind a decision; `legal` refuses settings."""

    def __init__(
        self,
        name: str,
        decisions: Sequence[DecisionPoint],
        amounts: Mapping[str, Sequence[int]],
        cost: Cost,
        sizes: Callable[[Mapping[str, bool]], Sequence[str]] = lambda taken: (),
        legal: Callable[[Mapping[str, bool], Settings], bool] = lambda t, s: True,
    ) -> None:
        self.name = name
        self.decisions = tuple(decisions)
        self.amounts = amounts
        self.cost, self.sizes, self.legal = cost, sizes, legal
        self.runs = 0

    def run(self, settings: Settings) -> float:
        seconds, _ = self._run(settings)
        return seconds

    def sample(
        self, settings: Settings, allowed: Collection[int] | None = None
    ) -> Sample:
        try:
            _, sample = self._run(settings)
        except UsageError as error:
            return Sample(failure=str(error))
        if allowed is not None and not set(sample.launches) <= set(allowed):
            return Sample(failure="the run goes another way")
        return sample

    def _run(self, settings: Settings) -> tuple[float, Sample]:
        self.runs += 1
        compared: list[tuple[str, int]] = []
        launches: list[int] = []
        taken: dict[str, bool] = {}
        rounds = max((len(a) for a in self.amounts.values()), default=1)
        seconds = 0.0
        for number in range(rounds):
            left = list(self.decisions)
            while left:
                at = left.pop(0)
                name = at.parameter.name
                amounts = self.amounts.get(name, (1,))
                amount = amounts[min(number, len(amounts) - 1)]
                compared.append((name, amount))
                taken[name] = amount >= settings[name]
                launches.append(hash((name, taken[name])))
                branch = at.branches[0 if taken[name] else 1]
                left[:0] = branch.decisions
            if not self.legal(taken, settings):
                raise UsageError("a kernel needs too much local memory")
            seconds += self.cost(taken, settings)
        uses = frozenset(self.sizes(taken))
        return seconds, Sample(tuple(compared), tuple(launches), uses)


def defaults_of(tunables: Mapping[str, Tunable]) -> dict[str, int]:
    return {name: t.defaults["cpu"] for name, t in tunables.items()}
