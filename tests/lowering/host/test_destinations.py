"""Results of kernels that are written where updates would put them, while other rows of
the same array are read."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from tests.lowering.host.copies import copies

PRODUCT = """
def product [n] (a: [n][n]f64) (b: [n][n]f64): [n][n]f64 =
  map (\\x -> map (\\y -> f64.sum (map2 (*) x y)) (transpose b)) a
"""
TAPE = "let t = replicate (k + 2) (replicate n (replicate n 1))"
PROGRAMS = {
    "the next row": f"""
entry main [n] (k: i64) (x: [n][n]f64) = {TAPE} with [0] = copy x
  in loop t for i < k do
    let r = product t[i] x in t with [i + 1] = copy r""",
    "other uses": f"""
entry main [n] (k: i64) (x: [n][n]f64) = {TAPE}
  in loop (t, x) for i < k do
    let r = product x x
    let y = map (map f64.sin) r
    in (t with [i + 1] = copy r, y)""",
    "two arrays": f"""
entry main [n] (k: i64) (x: [n][n]f64) = {TAPE} let s = copy t
  in loop (t, s) for i < k do
    let r = map (map (f64.sin)) t[i]
    let q = map2 (map2 (+)) r s[i]
    in (t with [i + 1] = copy r, s with [i + 1] = copy q)""",
}
COPYING = {
    "the same row": f"""
entry main [n] (k: i64) (x: [n][n]f64) = {TAPE}
  in loop t for i < k do
    let r = product (copy t[i + 1]) x in t with [i + 1] = copy r""",
    "a row that depends on data": f"""
entry main [n] (k: i64) (x: [n][n]f64) (j: [n]i64) = {TAPE}
  in loop t for i < i64.min k n do
    let r = product (copy t[j[i] % 2]) x in t with [i + 1] = copy r""",
    "all rows": f"""
entry main [n] (k: i64) (x: [n][n]f64) = {TAPE}
  in loop t for i < k do
    let r = tabulate_2d n n (\\a b -> f64.sum (map (\\p -> p[b, a]) t) + x[a, b])
    in t with [i + 1] = copy r""",
    "rows that are views": f"""
entry main [n] (k: i64) (x: [n][n]f64) = {TAPE}
  in loop t for i < k do
    let v = t[1:]
    let r = product (copy v[i]) x in t with [i + 1] = copy r""",
    "the array as it was": f"""
entry main [n] (k: i64) (x: [n][n]f64) = {TAPE}
  in loop (t, s) = (t, 0) for i < k do
    let r = product (copy t[i]) x
    let u = copy t with [i + 1] = r
    in (u, s + t[i + 1, 0, 0])""",
    "another row afterwards": f"""
entry main [n] (k: i64) (x: [n][n]f64) = {TAPE}
  in loop (t, x) for i < k do
    let r = product x x
    let y = map2 (map2 (-)) r t[i + 1]
    in (t with [i + 1] = copy r, y)""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_do_not_copy(name: str) -> None:
    before_the_loop = PROGRAMS[name].count("copy x") + PROGRAMS[name].count("copy t")
    assert copies(PRODUCT + PROGRAMS[name]) == before_the_loop


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", [*PROGRAMS, *COPYING])
def test_results_are_those_of_the_interpreter(name: str, schedule: str) -> None:
    text = PRODUCT + {**PROGRAMS, **COPYING}[name]
    compiled = minifut.compile(text, schedule=schedule)
    params = {name: 0 for name in compiled.tuning if name.endswith(".host")}
    program = minifut.compile(text, schedule=schedule, params=params)
    oracle = minifut.compile(text, backend="interpreter")
    random = np.random.default_rng(1)
    for n, k in ((1, 2), (3, 2), (20, 3)):
        x = random.random((n, n)) / n
        given = [k, x, random.integers(0, 2, n)] if "[n]i64" in text else [k, x]
        made, wanted = program.main(*given), oracle.main(*given)
        pairs = (
            zip(made, wanted, strict=True)
            if isinstance(made, tuple)
            else [(made, wanted)]
        )
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-12)
