"""A limit is told when the time is over, and again to who goes on."""

from __future__ import annotations

import signal
import time

import pytest

from minifut.testing.time_limit import TimeLimit, time_limit


def test_who_goes_on_is_stuck() -> None:
    with pytest.raises(TimeLimit) as second, time_limit(0.02, 0.02):
        with pytest.raises(TimeLimit) as first:
            time.sleep(5)
        assert not first.value.is_stuck
        time.sleep(5)
    assert second.value.is_stuck


def test_without_an_interval_it_is_reported_once() -> None:
    with time_limit(0.02):
        with pytest.raises(TimeLimit):
            time.sleep(5)
        time.sleep(0.06)


def test_nothing_is_reported_later() -> None:
    with time_limit(0.02, 0.02):
        pass
    time.sleep(0.06)


@pytest.mark.parametrize("seconds", [1e11, 1e300, float("inf")])
def test_a_limit_of_centuries(seconds: float) -> None:
    with time_limit(seconds, seconds):
        left, interval = signal.getitimer(signal.ITIMER_REAL)
    assert 1e7 < left <= interval
