"""Maps that write where loaded flags say so: their results, at borders of blocks too."""

from __future__ import annotations

import numpy as np
import pytest

import minifut

PROGRAMS = {
    "flags": """
entry main [n] (xs: [n]i32) =
  scatter (replicate n 0) (map2 (\\i x -> if x > 0 then n - 1 - i else -1) (iota n) xs) xs""",
    "the other side": """
entry main [n] (xs: [n]i32) =
  scatter (replicate (n / 2) 9) (map2 (\\i x -> if x > 0 then -3 else i) (iota n) xs) xs""",
    "two flags": """
entry main [n] (xs: [n]i32) =
  let a = map2 (\\i x -> if x > 0 then i else -1) (iota n) xs
  let b = map2 (\\i x -> if x & 1 == 0 then n - 1 - i else -1) (iota n) xs
  in (scatter (replicate n 0) a xs, scatter (replicate n 0i64) b (map i64.i32 xs),
      scatter (replicate n false) a (map (> 3) xs))""",
    "places of 32 bits": """
entry main [n] (xs: [n]i32) =
  let place i x = if x > 0 then i32.i64 i else -1
  in scatter (replicate n 0) (map i64.i32 (map2 place (iota n) xs)) xs""",
    "neighbours": """
entry main [n] (xs: [n]i32) =
  let place i = if i == 0 || xs[i] != xs[i - 1] then i else -1
  in scatter (replicate n 0) (map place (iota n)) (rotate 1 xs)""",
    "rows": """
entry main [n] (xs: [n]i32) =
  map (\\k -> scatter (replicate n 0)
                     (map2 (\\i x -> if x > k then n - 1 - i else -1) (iota n) xs) xs)
      [0, 2, 5]""",
}  # fmt: skip
SIZES = (0, 1, 7, 8, 255, 256, 257, 3000, 40_000)


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(name: str, schedule: str) -> None:
    program = minifut.compile(PROGRAMS[name], schedule=schedule)
    oracle = minifut.compile(PROGRAMS[name], backend="interpreter")
    random = np.random.default_rng(0)
    for n in SIZES:
        xs = random.integers(-8, 8, n, dtype=np.int32)
        given, wanted = program.main(xs), oracle.main(xs)
        pairs = zip(_tuple(given), _tuple(wanted), strict=True)
        for a, b in pairs:
            np.testing.assert_array_equal(a, b)


def _tuple(result: object) -> tuple:
    return result if isinstance(result, tuple) else (result,)
