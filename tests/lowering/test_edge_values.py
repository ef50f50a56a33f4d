"""Fused, joined and blocked kernels at the edges of blocks, with the edges of types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.errors import ProgramError

pytestmark = pytest.mark.device

SIZES = (0, 1, 2, 3, 4095, 4096, 4097)

PROGRAMS = {
    "runs": """
entry main [n] (flags: [n]bool) (xs: [n]i32) =
  let (sums, _) = unzip (scan (\\(x, f) (y, g) -> (if g then y else x + y, f || g))
                              (0, false) (zip xs flags))
  let ends = map (\\i -> i == n - 1 || flags[i + 1]) (iota n)
  let places = scan (+) 0 (map i64.bool ends)
  let count = if n == 0 then 0 else places[n - 1]
  in scatter (replicate count 0) (map2 (\\e p -> if e then p - 1 else -1) ends places)
             sums""",
    "interleaved": """
entry main [n] (as: [n]i64) (bs: [n]i64) =
  let ds = scatter (replicate (2 * n) 7) (map (* 2) (iota n)) as
  let ds = scatter ds (map (\\i -> 2 * i + 1) (iota n)) bs
  in scatter ds (map (\\i -> if as[i] > 0 then 2 * i else -1) (iota n)) (map2 (+) as bs)
""",
    "points": """
entry main [n] (ps: [n][3]f32) (low: [3]f32) =
  let qs = map (\\p -> map2 (\\x y -> if x < y then x else y) p low) ps
  in (map (reduce f32.min f32.inf) ps, map (scan f32.max (-f32.inf)) ps,
      map2 (\\q i -> copy q with [i % 3] = low[0]) qs (iota n), transpose qs)""",
    "kept": "entry main (xs: []f32) = filter (\\x -> x > 0 || f32.isnan x) xs",
    "gathered": """
entry main [n] (xs: [n]i64) (is: [n]u64) =
  (i64.sum (map (\\i -> xs[i64.u64 i]) is), map (\\i -> xs[i64.u64 i]) is)""",
    "within": """
entry main [n] (xs: [n]i64) (m: i64) =
  map (\\x -> [0 <= x && x < m, x >= 0 && x <= m, 0 <= x && m > x, x < 0 || x >= m]) xs
""",
    "asserted": """
entry main [n] (xs: [n]i64) (bad: i64) =
  let ys = map (\\y -> assert (y != bad) (y * 2)) (scan (+) 0 xs)
  let zs = scan i64.max 0 ys in (zs, filter (> 4) zs)""",
}


def arguments(name: str, n: int, chance: np.random.Generator) -> list[Any]:
    """Small numbers among which are the edges of the type."""
    floats = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 3.5], np.float32)
    longs = np.array([-(2**63), 2**63 - 1, -1, 0, 1, 5, 20])
    small = chance.integers(-5, 6, n)
    match name:
        case "runs":
            return [chance.random(n) < 0.2, small.astype(np.int32)]
        case "interleaved":
            return [chance.choice(longs, n), chance.choice(longs, n)]
        case "points":
            return [chance.choice(floats, (n, 3)), chance.choice(floats, 3)]
        case "kept":
            return [chance.choice(floats, n)]
        case "gathered":
            places = chance.integers(0, max(n, 1), n).astype(np.uint64)
            if n % 2:
                places[n - 1] = chance.choice(
                    np.array([n, 2**63, 2**64 - 1], np.uint64)
                )
            return [chance.choice(longs, n), places]
        case "within":
            return [chance.choice(longs, n), int(chance.choice(longs))]
        case _:
            return [small, int(chance.integers(-9, 9))]


def outcome(entry: Any, given: list[Any]) -> Any:
    """The results, or the words of the error (which element fails first may differ)."""
    try:
        return entry.call([np.copy(x) if np.ndim(x) else x for x in given])
    except ProgramError as error:
        return str(error).splitlines()[0].split(": ")[:2]


@pytest.mark.sweep
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_edges_are_as_in_the_interpreter(name: str, schedule: str) -> None:
    expected = minifut.compile(PROGRAMS[name], backend="interpreter").main
    entry = minifut.compile(PROGRAMS[name], schedule=schedule).main
    chance = np.random.default_rng(7)
    for n in SIZES:
        given = arguments(name, n, chance)
        wanted = outcome(expected, given)
        for _ in range(2):  # built, and built before
            got = outcome(entry, given)
            for one, other in zip(wanted, got, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"{name}, {n}")
                if getattr(one, "dtype", None) == np.float32:
                    numbers = ~np.isnan(one)
                    signs = np.signbit(one) == np.signbit(other)
                    assert signs[numbers].all()


@pytest.mark.parametrize("backend", ["interpreter", "sequential", "opencl"])
def test_rows_that_no_point_makes_have_no_negative_size(backend: str) -> None:
    program = minifut.compile(
        "entry main (n: i64) (k: i64) : ([][]i64, [][]i64) = "
        "let rows = map (\\i -> map (+ i) (iota k)) (iota n) "
        "in (rows, copy (transpose rows))",
        backend=backend,
    )
    rows, columns = program.main(0, -9)
    assert rows.shape == columns.shape == (0, 0)
    if backend == "opencl":
        assert np.asarray(program.main(0, -9, device=True)[0]).shape == (0, 0)
