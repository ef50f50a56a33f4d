"""Measuring on runs whose times are made up, and cutting off real ones."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Iterable

import pytest

from minifut.benchmarking.measure import Candidate, RunPlan, measure, measure_together
from minifut.errors import ProgramError
from minifut.testing.time_limit import TimeLimit


def runs(times: Iterable[float]) -> Callable[[], float]:
    left = iter(times)
    return lambda: next(left)


def test_the_warm_up_does_not_count() -> None:
    candidate = Candidate(runs([100.0, *[1.0] * 30]))
    measure(candidate, RunPlan())
    assert candidate.seconds == [1.0] * 10
    assert candidate.best == candidate.mean == 1.0 and candidate.error == 0


def test_short_runs_go_on_for_half_a_second() -> None:
    candidate = Candidate(runs(itertools.repeat(0.01)))
    measure(candidate, RunPlan())
    assert 50 <= len(candidate.seconds) <= 51


def test_what_varies_is_forgotten_and_measured_until_it_is_precise() -> None:
    source = random.Random(3)
    first = [5.0, 1.0] * 5
    rest = (1 + source.random() / 10 for _ in itertools.count())
    candidate = Candidate(runs(itertools.chain([1.0], first, rest)))
    measure(candidate, RunPlan())
    assert max(candidate.seconds) < 1.2
    assert candidate.is_robust and candidate.error <= 0.01


def test_convergence_has_a_limit_and_can_be_left_out() -> None:
    noise = [1.0, 10.0]
    candidate = Candidate(runs(itertools.cycle(noise)))
    measure(candidate, RunPlan(most_seconds=100))
    assert 100 <= sum(candidate.seconds) <= 200
    plain = Candidate(runs(itertools.cycle(noise)))
    measure(plain, RunPlan(runs=4, converge=False))
    assert len(plain.seconds) == 4


def test_runs_that_resemble_the_last_one_are_not_yet_robust() -> None:
    drifting = Candidate(lambda: 0.0, [1 + i / 1000 for i in range(40)])
    shuffled = Candidate(lambda: 0.0, list(drifting.seconds))
    random.Random(1).shuffle(shuffled.seconds)
    assert drifting.resemblance > 0.8 > 0.4 > shuffled.resemblance
    assert shuffled.is_robust and not drifting.is_robust


def test_a_measurement_that_ends_early_keeps_its_runs() -> None:
    def interrupted() -> float:
        if len(candidate.seconds) == 3:
            raise KeyboardInterrupt
        return 1.0

    candidate = Candidate(interrupted)
    with pytest.raises(KeyboardInterrupt):
        measure(candidate, RunPlan())
    assert candidate.seconds == [1.0] * 3


def test_the_limit_holds_for_all_runs_together() -> None:
    def run() -> float:
        time.sleep(0.02)
        return 0.02

    started = time.perf_counter()
    with pytest.raises(TimeLimit):
        measure(Candidate(run), RunPlan(runs=1000, limit=0.1))
    with pytest.raises(TimeLimit):
        measure_together([Candidate(run), Candidate(run)], RunPlan(1000, limit=0.1))
    assert time.perf_counter() - started < 2


def test_candidates_take_turns() -> None:
    order: list[str] = []

    def run(name: str) -> Callable[[], float]:
        return lambda: order.append(name) or 1.0  # type: ignore[func-returns-value]

    candidates = [Candidate(run("a")), Candidate(run("b"))]
    measure_together(candidates, RunPlan(runs=3, converge=False))
    assert order == ["a", "a", "b", "b", *["a", "b"] * 2]
    assert [c.seconds for c in candidates] == [[1.0] * 3] * 2


def test_who_is_much_slower_leaves() -> None:
    slow, fast = Candidate(lambda: 10.0), Candidate(lambda: 1.0)
    measure_together([slow, fast], RunPlan(runs=5), slow=3)
    assert len(slow.seconds) == 1 and len(fast.seconds) == 5
    for seconds, runs in ((0.04, 3), (0.1, 2)):
        short, shorter = Candidate(lambda s=seconds: s), Candidate(lambda: 0.01)
        measure_together([short, shorter], RunPlan(runs=5, seconds=0), slow=3)
        assert len(short.seconds) == runs and len(shorter.seconds) == 5


def test_who_fails_is_noted_and_the_others_go_on() -> None:
    def fails() -> float:
        raise ProgramError("index 3 out of bounds")

    broken, fine = Candidate(fails), Candidate(lambda: 1.0)
    measure_together([broken, fine], RunPlan(runs=4))
    assert broken.failure is not None and "index 3" in broken.failure
    assert broken.is_over and broken.best == math.inf
    assert len(fine.seconds) == 4


def test_a_run_in_progress_is_cut_off() -> None:
    rounds = itertools.count()

    def slow() -> float:
        # Warm-ups may take their time.
        time.sleep(0.2 if next(rounds) == 0 else 5)
        return 5.0

    def fast() -> float:
        time.sleep(0.02)
        return 0.02

    candidates = [Candidate(fast), Candidate(slow)]
    started = time.perf_counter()
    measure_together(candidates, RunPlan(runs=3, seconds=0), abandon=3)
    assert time.perf_counter() - started < 2
    assert candidates[1].seconds == [] and candidates[1].is_over
    assert candidates[1].abandoned == pytest.approx(0.06)
    assert len(candidates[0].seconds) == 3
