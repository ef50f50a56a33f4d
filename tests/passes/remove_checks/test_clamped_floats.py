"""Positions that are clamped as floats are inside, whatever they are."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from tests.passes.meaning import assert_same, outcome
from tests.passes.remove_checks.test_removal import before_and_after, checks

PLACES = (0.0, -0.0, 0.5, 1.0, 2.9, 3.0, 1e9, 1e300, -1e300, np.inf, -np.inf, np.nan)
INSIDE = {
    "clamped": "i64.f64 (f64.max 0 (f64.min (f64.i64 (n - 1)) p))",
    "clamped below first": "i64.f64 (f64.min (f64.i64 (n - 1)) (f64.max 0 p))",
    "rounded": "i64.f64 (f64.floor (f64.max 0 (f64.min (f64.i64 (n - 1)) p)))",
    "by a constant": "i64.f64 (f64.max 0 (f64.min 0 p))",
    "to be rounded": "i64.f64 (f64.round (f64.max 0 (f64.min (f64.i64 (n - 1)) p)))",
}
TESTED = {
    "less exact": "i64.f32 (f32.max 0 (f32.min (f32.i64 (n - 1)) (f32.f64 p)))",
    "narrow": "i64.i32 (i32.f64 (f64.max 0 (f64.min (f64.i64 (n - 1)) p)))",
    "another limit": "i64.f64 (f64.max 0 (f64.min (f64.i64 (k - 1)) p))",
    "a fraction": "i64.f64 (f64.max 0.5 (f64.min (f64.i64 (n - 1)) p))",
    "not clamped": "i64.f64 (f64.max 0 p)",
    "clamped to be less": "i64.f64 (f64.max (-1) (f64.min (f64.i64 (n - 1)) p))",
    "behind the last": "i64.f64 (f64.max 0 (f64.min (f64.i64 n) p))",
}


def source(place: str, guard: str = "n > 0") -> str:
    return f"""entry main [n] [m] (k: i64) (a: [n]i32) (ps: [m]f64): [m]i32 =
      if {guard} then map (\\p -> a[{place}]) ps else replicate m 7"""


@pytest.mark.parametrize("name", INSIDE)
def test_they_are_not_checked(name: str) -> None:
    _, after = before_and_after(source(INSIDE[name]))
    assert checks(after) == 0


@pytest.mark.parametrize("name", TESTED)
def test_others_are(name: str) -> None:
    _, after = before_and_after(source(TESTED[name]))
    assert checks(after) > 0


@pytest.mark.parametrize("name", INSIDE | TESTED)
@pytest.mark.parametrize("guard", ["n > 0", "true"])
def test_they_mean_the_same(name: str, guard: str) -> None:
    text = source((INSIDE | TESTED)[name], guard)
    before, after = before_and_after(text)
    for n in (0, 1, 4):
        for k in (0, 1, 4, 5, 2**40):
            for places in ([], [0.0], *([place] for place in PLACES), PLACES):
                given = [np.int64(k), np.arange(n, dtype=np.int32), np.array(places)]
                assert_same(outcome(before, given), outcome(after, given), text)


@pytest.mark.device
@pytest.mark.parametrize("name", ["less exact", "another limit"])
def test_a_chunk_is_tested_only_where_that_is_needed(name: str) -> None:
    """Of many points, by vectors: with what suffices, and where only tests tell."""
    prog = minifut.compile(source(TESTED[name], "true"))
    a = np.arange(100, dtype=np.int32)
    places = np.tile(np.array(PLACES), 500)
    known = np.array([0, 0, 0, 1, 2, 3, 99, 99, 0, 99, 0, 99], np.int32)
    assert (prog.main(100, a, places) == np.tile(known, 500)).all()
    limit = 100 if name == "less exact" else 200
    expected = np.fmin(np.tile(known, 500), 50)
    assert (prog.main(limit, a, np.fmin(places, 50.0)) == expected).all()
    if name == "another limit":
        with pytest.raises(minifut.ProgramError, match="out of bounds"):
            prog.main(200, a, places)
