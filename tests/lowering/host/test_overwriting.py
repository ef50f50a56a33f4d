"""Maps whose results are written over an input that nothing needs afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import minifut

PROGRAMS = {
    "a step in time": """
entry main [n] (k: i64) (x: [n]f64) (v: [n]f64) = loop (x, v) for _t < k do
  let c = x[n - 1]
  let v = map2 (\\a b -> a - 0.01 * b * c) v x in (map2 (\\a b -> a + 0.01 * b) x v, v)""",
    "fields of two dimensions": """
entry main [n][m] (k: i64) (e: [n][m]f64) (h: [n][m]f64) = loop (e, h) for _t < k do
  let e = tabulate_2d n m (\\i j -> if i > 0 && j > 1 then e[i, j] - h[i-1, j] + h[i, j-2]
                                    else e[i, j])
  in (e, tabulate_2d n m (\\i j -> if j < m-1 then h[i, j] + e[i, j+1] else h[i, j]))""",
    "arrays that change places": """
entry main [n] (k: i64) (x: [n]f64) (y: [n]f64) = loop (x, y) for i < k do
  (map (+ f64.i64 i) y, map2 (-) x y)""",
    "one start for two": """
entry main [n] (k: i64) (x: [n]f64) = loop (x, y) = (x, x) for i < k do
  (map (* f64.i64 i) x, map (+ 1) y)""",
    "a start that is needed": """
entry main [n] (k: i64) (x: [n]f64) =
  let y = map (+ 1) x
  let z = loop z = y for _t < k do let c = z[0] in map (* c) z
  in (map2 (+) y z, y)""",
    "results in branches": """
entry main [n] (k: i64) (x: [n]f64) = loop x for i < k do
  if i % 3 == 1 then map (+ 1) x else if i % 3 == 2 then x else map (* 0.5) (reverse x)""",
    "neighbours": """
entry main [n] (k: i64) (x: [n]f64) = loop x for _t < k do
  map (\\i -> x[i] + (if i > 0 then x[i-1] else 0)) (iota n)""",
    "values that are kept": """
entry main [n] (k: i64) (x: [n]f64) = loop (x, old) = (x, copy x) for _t < k do
  (map2 (\\a b -> 2 * a - b) x old, x)""",
    "views": """
entry main [n] (k: i64) (x: [n][n]f64) = loop x for _t < k do
  map2 (map2 (\\a b -> a - 0.5 * b)) x (transpose x)""",
    "sums between": """
entry main [n] (k: i64) (x: [n]f64) = loop x for _t < k do
  let s = f64.sum x in map (/ (1 + s)) x""",
    "functions": """
entry main [n] (k: i64) (x: [n]f64) = loop x for _t < k do map (\\a -> f64.sin a + a) x""",
}


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(name: str, schedule: str) -> None:
    compiled = minifut.compile(PROGRAMS[name], schedule=schedule)
    params = {name: 0 for name in compiled.tuning if name.endswith(".host")}
    program = minifut.compile(PROGRAMS[name], schedule=schedule, params=params)
    oracle = minifut.compile(PROGRAMS[name], backend="interpreter")
    rank = 2 if "[n][" in PROGRAMS[name] else 1
    count = PROGRAMS[name].count(": [n]")
    random = np.random.default_rng(0)
    for n in (1, 17, 70):
        arrays = [random.random((n,) * rank) for _ in range(count)]
        before = [array.copy() for array in arrays]
        for steps in (0, 1, 4):
            given = program.main(steps, *arrays)
            wanted = oracle.main(steps, *arrays)
            np.testing.assert_allclose(
                np.array(given), np.array(wanted), rtol=1e-12, atol=1e-12
            )
        for array, kept in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(array, kept)
