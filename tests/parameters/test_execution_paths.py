"""Settings that are known to send a data set the same way."""

from __future__ import annotations

from minifut.parameters.execution_paths import execution_path
from minifut.parameters.tuning import NEVER
from tests.tuning.simulated import choice

CHOICES = (choice("outer", not_taken=[choice("inner")]),)
SEEN = {"outer": (64, 4096), "inner": (8,)}


def way(outer: int, inner: int, **sizes: int) -> object:
    return execution_path(CHOICES, SEEN, {"outer": outer, "inner": inner, **sizes})


def test_values_between_the_same_amounts_are_alike() -> None:
    assert way(65, 0) == way(4096, 8) != way(4097, 0)
    assert way(65, 0) != way(65, 9) == way(4096, NEVER)


def test_what_is_not_come_across_does_not_matter() -> None:
    assert way(0, 0) == way(64, NEVER)


def test_unseen_thresholds_and_sizes_count_by_value() -> None:
    assert way(0, 0, rows=4) != way(0, 0, rows=5)
    values = ({"outer": 0, "inner": 0}, {"outer": 1, "inner": 0})
    assert execution_path(CHOICES, {}, values[0]) != execution_path(
        CHOICES, {}, values[1]
    )
