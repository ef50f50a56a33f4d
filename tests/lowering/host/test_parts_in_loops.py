"""Loops of the host whose arrays start as parts of others, which are not copied."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from tests.lowering.host.copies import copies

PROGRAMS = {
    "halves of a partition": """
entry main [n] (k: i64) (x: [n]f64) =
  let (small, large) = partition (< 0.5) x
  let (_, m) = loop (xs, m) = (small, 0) while length xs > k + 1 do
    let c = f64.sum xs / f64.i64 (length xs)
    in (filter (> c) xs, m + 1)
  let (_, l) = loop (xs, l) = (large, 0) while length xs > k + 1 do
    let c = f64.sum xs / f64.i64 (length xs)
    in (filter (< c) xs, l + 1)
  in (m, l)""",
}
COPYING = {
    "steps": """
entry main [n] (k: i64) (x: [n]f64) =
  f64.sum (loop ys = x[n / 2:] for i < k do
    map2 (\\a b -> 0.5 * a + b + f64.i64 i) ys (rotate 1 ys))""",
    "until converged": """
entry main [n] (k: i64) (x: [n]f64) =
  let (ys, _) = loop (ys, c) = (x[n / 3:], true) while c do
    let zs = map (\\a -> f64.min 8 (a * 1.5 + f64.i64 k)) ys
    in (zs, or (map2 (!=) ys zs))
  in f64.sum ys""",
    "results": """
entry main [n] (k: i64) (x: [n]f64) =
  loop ys = x[n / 2:] for i < k do map2 (\\a b -> a + b * f64.i64 i) ys (rotate 1 ys)""",
    "parts that overlap, of which one is written": """
entry main [n] (k: i64) (x: [n]f64) =
  let z = map (* 2) x
  let (a, b) = loop (a, b) = (copy z[n / 3:], z[n / 4:]) for i < i64.min k (n - n / 3) do
    let s = f64.sum b
    let c = a[i]
    in (a with [i] = s, map (\\q -> q + c) b)
  in (f64.sum a, f64.sum b)""",
    "a part that is needed": """
entry main [n] (k: i64) (x: [n]f64) =
  let z = map (* 2) x
  let h = z[n / 2:]
  let y = loop y = copy h for i < i64.min k (n - n / 2) do
    let s = f64.sum y in y with [i] = s
  in (f64.sum (map2 (*) y h), f64.sum z)""",
    "parts of rows": """
entry main [n] (k: i64) (x: [n]f64) =
  let r = tabulate_2d 5 n (\\i j -> x[j] + f64.i64 i)
  let s = loop s = r[2:4] for i < k do map (\\q -> map2 (+) q (rotate i q)) s
  let t = loop t = r[:, n / 2:] for i < k do map (\\q -> map2 (-) q (reverse q)) t
  in (map f64.sum s, map f64.sum t)""",
    "a part in every iteration": """
entry main [n] (k: i64) (x: [n]f64) =
  loop x = x[n / 4:] for _i < k do
    (loop y = x[length x / 3:] for j < 3 do map (\\a -> a * 0.5 + f64.i64 j) y)""",
    "loops in branches": """
entry main [n] (k: i64) (x: [n]f64) =
  if k % 2 == 0 then loop y = x[n / 3:] for _i < k do map (* 2) y
  else loop y = x[n / 4:] for _i < k do map (/ 2) y""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_copied_where_the_result_is_not_needed_whole(name: str) -> None:
    assert copies(PROGRAMS[name]) == 0


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS | COPYING)
def test_results_are_those_of_the_interpreter(name: str, schedule: str) -> None:
    text = (PROGRAMS | COPYING)[name]
    compiled = minifut.compile(text, schedule=schedule)
    params = {name: 0 for name in compiled.tuning if name.endswith(".host")}
    program = minifut.compile(text, schedule=schedule, params=params)
    oracle = minifut.compile(text, backend="interpreter")
    random = np.random.default_rng(0)
    for n in (1, 17, 70):
        array = random.random(n)
        before = array.copy()
        for steps in (1, 0, 5):
            given = program.main(steps, array)
            wanted = oracle.main(steps, array)
            assert type(given) is type(wanted)
            for one, other in zip(
                given if isinstance(given, tuple) else (given,),
                wanted if isinstance(wanted, tuple) else (wanted,),
                strict=True,
            ):
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(array, before)
