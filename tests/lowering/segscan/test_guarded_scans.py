"""Scans and sums whose elements depend on their position: guards of the first and the
last elements, neighbours by rotation, ranges; and branches on what is scanned."""

from __future__ import annotations

import numpy as np
import pytest

import minifut

PROGRAMS = {
    "first element": """
entry main [n] (xs: [n]i32): [n]i32 =
  scan i32.max i32.lowest (tabulate n (\\i -> if i == 0 then 3 else xs[i] - xs[i - 1]))""",
    "last element": """
entry main [n] (xs: [n]i32): [n]i32 =
  scan (+) 0 (tabulate n (\\i -> if i + 1 < n then xs[i + 1] - xs[i] else -7))""",
    "an element in the middle": """
entry main [n] (xs: [n]i32): ([n]i32, i32) =
  let ys = tabulate n (\\i -> if i != n / 2 then xs[i] else 1000)
  in (scan (+) 0 ys, i32.sum ys)""",
    "neighbours by rotation": """
entry main [n] (xs: [n]i32): ([n]i32, i32) =
  let ys = map3 (\\a b c -> a * b - c) (rotate 1 xs) xs (rotate (-3) xs)
  in (scan (+) 0 ys, i32.sum ys)""",
    "starts of runs": """
entry main [n] (xs: [n]i32): [n]i64 =
  scan i64.max 0 (tabulate n (\\i -> if i == 0 || xs[i] != xs[i - 1] then i else 0))""",
    "clamped neighbours": """
entry main [n] (xs: [n]i32): ([n]i32, i32, []i32, []i64) =
  let at i = #[unsafe] xs[i64.max 0 (i64.min (n - 1) i)]
  let ys = tabulate n (\\i -> at (i - 1) - 2 * xs[i] + at (2 + i))
  in (scan (+) 0 ys, i32.sum ys, filter (> 1) ys,
      filter (\\i -> at (2 * i - 5) > at (i + 9)) (iota n))""",
    "clamped to other places": """
entry main [n] (xs: [n]i32): ([n]i64, []i64) =
  let ys = tabulate n (\\i -> i64.max 7 (i - 3) * i64.min (i - 4) (n / 2) + i64.max (-5) (2 * i))
  in (scan (+) 0 ys, filter (> 5) ys)""",
    "two ranges": """
entry main [n] (xs: [n]i32): ([n]i32, i32) =
  let ys = tabulate n (\\i -> (if i < n / 3 then xs[i] * 2 else xs[n - 1 - i])
                            + (if i >= n / 2 then xs[i - n / 2] else 0))
  in (scan (+) 0 ys, i32.sum ys)""",
    "positions as floats": """
entry main [n] (xs: [n]i32): ([n]f32, [n]f64, f32) =
  let at c i x = f32.i64 (c + 3 * i) * f32.i32 x
  let far = map2 (at 1073741700) (iota n) xs
  let farther i x = f64.i64 (1073741900 - i) + f64.i32 x
  in (scan f32.max (-f32.inf) far,
      scan f64.min f64.inf (map2 farther (iota n) xs),
      f32.maximum (map2 (at (-5000000000)) (iota n) xs))""",
    "branches on what is scanned": """
entry main [n] (xs: [n]i32): ([n]i32, [n]i64) =
  let sums = scan (+) 0 xs
  let ones = map (\\x -> i64.i32 x & 1) xs
  let zeros = scan (+) 0 (map (1 -) ones)
  let before = scan (+) 0 ones
  let place o z b = if o == 1 then zeros[n - 1] + b - 1 else z - 1
  in (map2 (\\x s -> if s == 1 then x else s + 2) xs sums,
      map3 place ones zeros before)""",
    "products that do not commute": """
entry main [n] (xs: [n]i32): [n](i32, i32) =
  scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0)
       (tabulate n (\\i -> if i == 0 then (1, 5) else (xs[i], xs[i - 1])))""",
    "segments of floats": """
entry main [n] (xs: [n]i32): ([n]f32, [n]f64, f64) =
  let first = tabulate n (\\i -> i == 0 || xs[i] != xs[i - 1])
  let op (f, a) (g, b) = (f || g, if g then b else a + b)
  let sums = map (.1) (scan op (false, 0) (zip first (map f64.i32 xs)))
  let op32 (f, a) (g, b) = (f || g, if g then b else f32.max a b)
  in (map (.1) (scan op32 (false, f32.lowest) (zip first (map f32.i32 xs))),
      sums, (reduce op (false, 0) (zip first (map f64.i32 xs))).1)""",
    "the last that counts": """
entry main [n] (xs: [n]i32): ([n]i32, i32) =
  let op a b = if b == 0 then a else b
  let ys = map (\\x -> if x > 1 then x else 0) xs
  in (scan op 0 ys, reduce op 0 ys)""",
}
SIZES = (0, 1, 2, 15, 16, 17, 64, 65, 1000, 5003)


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(name: str, schedule: str) -> None:
    program = minifut.compile(PROGRAMS[name], schedule=schedule)
    oracle = minifut.compile(PROGRAMS[name], backend="interpreter")
    random = np.random.default_rng(0)
    for n in SIZES:
        xs = random.integers(-3, 4, n, dtype=np.int32)
        given, wanted = program.main(xs), oracle.main(xs)
        for a, b in zip(_arrays(given), _arrays(wanted), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.device
@pytest.mark.parametrize("backend", ["opencl", "sequential"])
def test_several_chunks_of_segments(backend: str) -> None:
    program = minifut.compile(PROGRAMS["segments of floats"], backend=backend)
    xs = np.random.default_rng(0).integers(-3, 4, 200_001, dtype=np.int32)
    starts = np.flatnonzero(np.concatenate([[True], xs[1:] != xs[:-1]]))
    lengths = np.diff(np.concatenate([starts, [len(xs)]]))
    before = np.repeat(starts, lengths)
    sums = xs * (np.arange(len(xs)) - before + 1.0)
    for given, wanted in zip(program.main(xs), (xs, sums, sums[-1]), strict=True):
        np.testing.assert_array_equal(given, wanted)


@pytest.mark.device
@pytest.mark.parametrize("name", ["first element", "starts of runs"])
def test_several_chunks(name: str) -> None:
    program = minifut.compile(PROGRAMS[name], schedule="cpu")
    xs = np.random.default_rng(0).integers(-3, 4, 200_001, dtype=np.int32)
    if name == "first element":
        wanted = np.maximum.accumulate(np.concatenate([[3], np.diff(xs)]))
    else:
        starts = np.concatenate([[True], xs[1:] != xs[:-1]])
        wanted = np.maximum.accumulate(np.where(starts, np.arange(len(xs)), 0))
    np.testing.assert_array_equal(program.main(xs), wanted)


def _arrays(result: object) -> list:
    if isinstance(result, tuple):
        return [array for part in result for array in _arrays(part)]
    return [np.asarray(result)]
