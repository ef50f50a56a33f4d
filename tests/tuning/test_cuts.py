"""Which values of a threshold differ, and which is best for several data sets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minifut.parameters.tuning import NEVER
from minifut.tuning.cuts import (
    Compare,
    Cuts,
    Finding,
    MeasuredTime,
    combine,
    cuts_of,
    pick,
    search,
)


def test_amounts_separate_values() -> None:
    cuts = cuts_of([4096, 64, 64], 7)
    assert [cuts.interval(cut) for cut in range(3)] == [
        (0, 64),
        (65, 4096),
        (4097, NEVER),
    ]
    assert [cuts.of(v) for v in (0, 64, 65, 4096, 4097, NEVER)] == [0, 0, 1, 1, 2, 2]
    assert all(cuts.of(cuts.value(cut)) == cut for cut in range(3))


def test_of_many_amounts_a_few_are_kept_evenly() -> None:
    cuts = cuts_of(range(1, 10_000), 3)
    assert cuts.amounts[0] == 1 and cuts.amounts[-1] == 9999 and len(cuts) == 4
    assert 50 < cuts.amounts[1] < 200


def test_open_intervals_stand_for_always_and_never() -> None:
    assert pick((0, 10)) == 0
    assert pick((11, NEVER)) == NEVER
    assert pick((10, 1000)) == 100


def times(seconds: Sequence[float], noise: float = 0.0) -> Compare:
    def compare(wanted: Sequence[int]) -> Mapping[int, MeasuredTime]:
        return {cut: MeasuredTime(seconds[cut], noise) for cut in wanted}

    return compare


@given(st.integers(0, 7), st.integers(0, 7))
def test_the_best_cut_is_found(best: int, default: int) -> None:
    cuts = Cuts((1, 2, 4, 8, 16, 32, 64))
    seconds = [1.0 + abs(cut - best) / 4 for cut in range(8)]
    asked: list[int] = []

    def compare(wanted: Sequence[int]) -> Mapping[int, MeasuredTime]:
        asked.extend(wanted)
        return {cut: MeasuredTime(seconds[cut]) for cut in wanted}

    losses = search(cuts, cuts.value(default), compare)
    assert min(losses, key=lambda cut: losses[cut]) == best
    assert len(asked) <= 9  # three steps of at most three


def test_small_and_noisy_differences_are_no_loss() -> None:
    assert search(Cuts((10,)), NEVER, times([1.0, 1.01])) == {0: 0.0, 1: 0.0}
    assert search(Cuts((10,)), NEVER, times([1.0, 1.1], 0.2)) == {0: 0.0, 1: 0.0}
    losses = search(Cuts((10,)), NEVER, times([1.0, 1.1]))
    assert losses[0] == 0 and losses[1] == pytest.approx(math.log(1.1))


def test_what_fails_loses_against_anything() -> None:
    losses = search(Cuts((10,)), NEVER, times([math.inf, 5.0]))
    assert losses[1] == 0 and losses[0] > 1
    losses = search(Cuts((10,)), NEVER, times([5.0, math.inf]))
    assert losses[0] == 0 and losses[1] > 1


def finding(amount: int, taken: float, not_taken: float) -> Finding:
    """One amount, and the losses if it reaches the threshold or not."""
    return Finding(Cuts((amount,)), {0: taken, 1: not_taken})


def test_the_best_intervals_of_all_data_sets_are_intersected() -> None:
    small, large = finding(16, 1.0, 0.0), finding(4096, 0.0, 1.0)
    value = combine([small, large], NEVER)
    assert 16 < value <= 4096
    assert combine([small, large], 100) == 100  # the default is as good
    assert combine([finding(16, 0.0, 1.0)], NEVER) == 0
    assert combine([finding(16, 1.0, 0.0)], 0) == NEVER


def test_where_intervals_have_nothing_in_common_the_least_loss_counts() -> None:
    small, large = finding(16, 0.0, 2.0), finding(4096, 0.5, 0.0)
    assert combine([small, large], NEVER) == 0
    small, large = finding(16, 0.0, 0.5), finding(4096, 2.0, 0.0)
    assert combine([small, large], 0) == NEVER


@given(
    st.lists(
        st.tuples(st.integers(0, 99), st.floats(0, 2), st.floats(0, 2)),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 120),
)
def test_no_value_loses_less(
    given: list[tuple[int, float, float]], default: int
) -> None:
    findings = [finding(*each) for each in given]

    def total(value: int) -> float:
        return sum(each.loss(value) for each in findings)

    chosen = combine(findings, default)
    assert total(chosen) <= min(total(v) for v in range(121)) + 1e-6
