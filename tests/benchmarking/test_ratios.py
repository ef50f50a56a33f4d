"""Comparing candidates whose runs were interleaved on a machine that changes its speed."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from minifut.benchmarking.measure import Candidate, RunPlan, measure_together
from minifut.benchmarking.ratios import comparable_seconds, ratio


class Machine:
    """Its speed halves after some runs, and doubles again."""

    def __init__(self, *speeds: float) -> None:
        self.speeds = speeds
        self.done = 0

    def runs(self, seconds: float) -> Callable[[], float]:
        def run() -> float:
            speed = self.speeds[min(self.done // 4, len(self.speeds) - 1)]
            self.done += 1
            return seconds / speed

        return run


def raced(machine: Machine, *seconds: float, repeats: int = 1) -> list[Candidate]:
    candidates = [Candidate(machine.runs(each)) for each in seconds]
    plan = RunPlan(runs=8 // repeats + 1, seconds=0, converge=False)
    measure_together(candidates, plan, warm=True, repeats=repeats)
    return candidates


def test_a_change_of_speed_does_not_matter() -> None:
    slower, faster = raced(Machine(1, 0.5, 1.0, 0.5), 1.1, 1.0)
    assert ratio(slower, faster).value == pytest.approx(1.1)
    assert ratio(slower, faster).error == pytest.approx(0)
    times = comparable_seconds([slower, faster])
    assert times[0].value / times[1].value == pytest.approx(1.1)


def test_a_disturbed_turn_does_not_matter_but_noise_shows() -> None:
    calm = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    one, other, noisy = (Candidate(lambda: 1.0) for _ in range(3))
    one.rounds, other.rounds = list(calm), [1.0, 9.0, 1.0, 1.0, 1.0, 1.0]
    noisy.rounds = [1.0, 1.4, 0.8, 1.1, 1.2, 0.9]
    assert ratio(other, one).value == pytest.approx(1) and not ratio(other, one).error
    assert ratio(noisy, one).error > 0.05


def test_brief_runs_are_repeated_within_a_turn() -> None:
    one, other = raced(Machine(1), 1e-4, 2e-4, repeats=4)
    assert len(one.rounds) == len(other.rounds) == 3
    assert len(one.seconds) == len(other.seconds) == 9
    assert ratio(other, one).value == pytest.approx(2)


def test_who_had_no_turn_is_infinitely_slow() -> None:
    one, never = Candidate(lambda: 1.0), Candidate(lambda: 1.0)
    one.rounds = [1.0]
    one.add(1.0)
    assert [t.value for t in comparable_seconds([one, never])] == [1.0, math.inf]


def test_the_number_of_runs_can_be_bounded() -> None:
    candidates = [Candidate(lambda: 1.0) for _ in range(3)]
    measure_together(candidates, RunPlan(runs=99, seconds=0), warm=True, most=10)
    assert sum(len(c.seconds) for c in candidates) == 9
