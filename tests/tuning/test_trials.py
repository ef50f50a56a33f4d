"""What a run has shown is not asked again, and says no more than it has shown."""

from __future__ import annotations

from minifut.tuning.trials import Trials
from tests.tuning.simulated import Simulated, choice

SETTINGS = {"outer": 0}


def test_what_was_not_allowed_once_may_run_later() -> None:
    subject = Simulated("d", (choice("outer"),), {"outer": [4]}, lambda taken, s: 1.0)
    trials = Trials()
    for _ in range(2):
        assert trials.sample(subject, SETTINGS, allowed=()).failure is not None
    assert subject.runs == 1
    for _ in range(2):
        assert trials.sample(subject, SETTINGS).failure is None
    assert trials.keys(subject, [SETTINGS]) != [None]
    again = trials.sample(subject, SETTINGS, allowed=())
    assert again.failure is None and again.launches, "its kernels are seen: no rerun"
