"""The whole search, on data sets whose times are known functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from minifut.parameters.decisions import DecisionPoint, Settings
from minifut.parameters.tuning import NEVER, Tunable
from minifut.tuning.autotune import Autotuner, Limits, TuningTask
from minifut.tuning.summary import summary_json, summary_table
from minifut.tuning.thresholds import affordable
from tests.tuning.simulated import Cost, Simulated, choice, defaults_of, tunables_of

OUTER = (choice("outer"),)
NESTED = (choice("outer", not_taken=[choice("inner")], cpu=4),)


def series(
    decisions: Sequence[DecisionPoint] = OUTER, fast_from: int = 256
) -> list[Simulated]:
    """Data sets of growing parallelism: outer is fast from some amount on."""

    def cost(amount: int) -> Cost:
        def seconds(taken: Mapping[str, bool], settings: Settings) -> float:
            better = taken["outer"] == (amount >= fast_from)
            return amount * (1.0 if better else 2.0)

        return seconds

    return [
        Simulated(f"n={n}", decisions, {"outer": [1 << n]}, cost(1 << n))
        for n in range(12)
    ]


def tuner_for(
    subjects: Sequence[Simulated],
    more: Mapping[str, Tunable] | None = None,
    fixed: frozenset[str] = frozenset(),
    points: int = 0,
) -> Autotuner:
    tunables = {**tunables_of(subjects[0].decisions), **(more or {})}
    task = TuningTask(subjects, tunables, defaults_of(tunables), fixed)
    return Autotuner(task, Limits(points=points))


def test_the_crossing_is_found_between_data_sets() -> None:
    subjects = series()
    tuner = tuner_for(subjects)
    tuner.run()
    assert 128 < tuner.values["outer"] <= 256
    gains = [row.gain for row in tuner.rows()]
    assert gains == pytest.approx([1.0] * 8 + [2.0] * 4)
    assert tuner.gain == pytest.approx(2 ** (4 / 12))


@pytest.mark.parametrize("fast_from", [1, 8, 256, 1 << 20])
def test_runs_are_bounded_for_each_threshold_and_data_set(fast_from: int) -> None:
    for decisions, thresholds in ((OUTER, 1), (NESTED, 2)):
        subjects = series(decisions, fast_from)
        tuner = tuner_for(subjects)
        tuner.run()
        done = sum(subject.runs for subject in subjects)
        assert done == tuner.trials.done <= 12 * thresholds * len(subjects)


def test_many_amounts_of_one_data_set_stay_in_the_budget() -> None:
    amounts = range(1000, 0, -1)
    subject = Simulated(
        "lu", OUTER, {"outer": amounts}, lambda taken, s: 2.0 - taken["outer"]
    )
    tuner = tuner_for([subject])
    tuner.run()
    assert subject.runs <= 12 and tuner.values["outer"] == 0


def test_deeper_thresholds_come_first_with_ancestors_forced() -> None:
    # The default (outer taken) is slow, and without the inner one taken all else is.
    def cost(taken: Mapping[str, bool], settings: Settings) -> float:
        if taken["outer"]:
            return 3.0
        return 1.0 if taken["inner"] else 9.0

    subject = Simulated("d", NESTED, {"outer": [100], "inner": [50]}, cost)
    tuner = tuner_for([subject])
    tuner.run()
    assert tuner.values["inner"] <= 50 and tuner.values["outer"] > 100
    assert tuner.rows()[0].gain == pytest.approx(3)


def test_data_sets_that_go_elsewhere_have_no_say() -> None:
    """Like tiles over what is otherwise done: small data are best flattened or not,
    large ones tiled, whatever they would do without tiles."""
    decisions = (choice("tiled", not_taken=[choice("outer")], cpu=64),)

    def subject(amount: int, outer: float, full: float, tiled: float) -> Simulated:
        def cost(taken: Mapping[str, bool], settings: Settings) -> float:
            if taken["tiled"]:
                return tiled
            return outer if taken["outer"] else full

        amounts = {"tiled": [amount], "outer": [amount]}
        return Simulated(f"n={amount}", decisions, amounts, cost)

    subjects = [
        subject(4, outer=3.0, full=1.0, tiled=9.0),
        subject(16, outer=1.0, full=2.0, tiled=9.0),
        subject(64, outer=9.0, full=3.0, tiled=1.0),
        subject(256, outer=9.0, full=3.0, tiled=1.0),
    ]
    tuner = tuner_for(subjects)
    tuner.run()
    assert 16 < tuner.values["tiled"] <= 64 and 4 < tuner.values["outer"] <= 16
    assert [row.gain for row in tuner.rows()] == [1, 2, 1, 1]


def test_equal_versions_keep_the_defaults() -> None:
    subject = Simulated("d", NESTED, {}, lambda taken, s: 1.0 + 0.01 * taken["outer"])
    tuner = tuner_for([subject])
    tuner.run()
    assert not tuner.changed and not tuner.to_write()
    assert "as good as anything" in summary_table(tuner)


def test_fixed_parameters_stay() -> None:
    tuner = tuner_for(series(), fixed=frozenset({"outer"}))
    tuner.run()
    assert not tuner.changed


def test_data_sets_that_fail_are_left_out_and_named() -> None:
    good, bad = series()[11], series()[0]
    bad.legal = lambda taken, settings: False
    bad.name = "bad"
    tuner = tuner_for([bad, good])
    tuner.run()
    assert set(tuner.failures) == {"bad"} and tuner.values["outer"] == 0
    assert "bad was left out" in summary_table(tuner)
    tuner = tuner_for([bad])
    tuner.run()
    assert "as good as anything" not in summary_table(tuner)


def test_a_version_that_fails_is_avoided() -> None:
    subject = Simulated(
        "d",
        (choice("outer", cpu=NEVER),),
        {"outer": [100]},
        lambda taken, s: 0.5 if taken["outer"] else 1.0,
        legal=lambda taken, s: not taken["outer"],
    )
    tuner = tuner_for([subject])
    tuner.run()
    assert not tuner.changed


def test_an_interrupt_keeps_what_is_known() -> None:
    def cost(taken: Mapping[str, bool], settings: Settings) -> float:
        if taken["outer"]:
            if settings["inner"] == 0:  # the inner threshold has been tuned
                raise KeyboardInterrupt
            return 9.0
        return 1.0 if taken["inner"] else 5.0

    subject = Simulated("d", NESTED, {"outer": [100], "inner": [50]}, cost)
    tuner = tuner_for([subject])
    with pytest.raises(KeyboardInterrupt):
        tuner.run()
    assert tuner.to_write() == {"inner": 0}


def test_what_gains_nothing_in_the_end_is_rejected() -> None:
    """Each threshold seems to gain while it is tuned; times then turn out worse."""
    subject = series()[11]
    tuner = tuner_for([subject])
    tuner.run()
    assert tuner.changed
    tuner.trials.known.clear()
    subject.cost = lambda taken, s: 3.0 if taken["outer"] else 1.0
    tuner._compare([subject])
    assert tuner.rejected == ["outer"] and not tuner.changed
    assert "keeps its default: outer" in summary_table(tuner)


def test_only_what_gains_nothing_goes_back() -> None:
    """Two decisions, one after the other; one gains, the other loses in the end."""
    decisions = (choice("one"), choice("two"))

    def cost(taken: Mapping[str, bool], settings: Settings) -> float:
        return 2.0 - taken["one"] + (2.0 - taken["two"])

    subject = Simulated("d", decisions, {"one": [10], "two": [10]}, cost)
    tuner = tuner_for([subject])
    tuner.run()
    assert set(tuner.changed) == {"one", "two"}
    tuner.trials.known.clear()
    tuner.known.clear()
    subject.cost = lambda taken, s: 2.0 - taken["one"] + taken["two"]
    tuner._compare([subject])
    assert tuner.rejected == ["two"] and set(tuner.changed) == {"one"}
    assert tuner.rows()[0].gain == pytest.approx(2)


def test_the_summary_has_all_data_sets() -> None:
    tuner = tuner_for(series())
    tuner.run()
    found = summary_json(tuner, "p.fut")["p.fut"]
    assert len(found["datasets"]) == 12 and found["runs"] == tuner.trials.done
    assert found["changed"] == {"outer": tuner.values["outer"]}
    assert "outer: never -> " in summary_table(tuner)


@pytest.mark.parametrize("share", [0, 2, 5, 9, 12, 20, 40, 100])
@pytest.mark.parametrize("amounts", [1, 2, 3, 5, 40])
def test_cuts_are_as_many_as_runs_suffice_for(share: int, amounts: int) -> None:
    cuts, runs = affordable(range(1, amounts + 1), share, 5)
    assert runs <= 5 and len(cuts) >= 2
    if runs:
        steps = math.ceil(math.log2(len(cuts)))
        least = 2 * runs if len(cuts) == 2 else 3 * steps * runs
        assert least <= share
