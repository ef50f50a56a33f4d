"""Sums before products: shapes of the IR, and results against NumPy and as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.dialect import SOACS
from minifut.ir.interpret import run
from minifut.ir.parser import names_after
from minifut.ir.soacs import Screma
from minifut.ir.traverse import walk
from minifut.ir.verify import verify
from minifut.passes.pipelines import run_pass
from tests.passes.accumulations.test_accumulations import accumulated, core

SHIFTED = """
entry main [n] [k] [m] [d] (w: [k][m][d]f64) (means: [k][d]f64) (xs: [n][d]f64)
                           (c: [n][k][m]f64) =
  vjp (\\means -> map (\\x -> map2 (\\a mean ->
          let centred = map2 (-) x mean
          in map (\\row -> f64.sum (map2 (*) row centred)) a) w means) xs) means c
"""


@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (5, 2, 3, 0), (5, 2, 3, 4)])
def test_adjoints_are_summed_before_they_are_multiplied(shape: Any) -> None:
    n, k, m, d = shape
    program = stages.to_core(stages.check(Source("test.fut", SHIFTED)))
    for step in ("differentiate", "simplify", "fuse", "simplify", "accumulate"):
        program = run_pass(step, program, names_after(program))
    verify(program, SOACS)
    random = np.random.default_rng(1)
    w, c = random.random((k, m, d)), random.random((n, k, m))
    means, xs = random.random((k, d)), random.random((n, d))
    (found,) = run(program, "main", [w, means, xs, c])[-1:]
    np.testing.assert_allclose(found, -np.einsum("kmd,nkm->kd", w, c))
    sums = [s for s in walk(program) if isinstance(s, Screma) and s.is_redomap]
    widths = [name.base for s in sums for name in s.width.names()]
    assert sorted(widths) == ["m", "n"]


def test_what_is_needed_for_each_point_is_not_summed_before() -> None:
    text = """
entry main [n] [m] [h] [d] (w: [m][h]f64) (v: [h][d]f64) (b: [h]f64) (xs: [n][d]f64)
                           (c: [n][m]f64) =
  let times a x = map (\\row -> f64.sum (map2 (*) row x)) a
  in vjp (\\(v, b) -> map (\\x -> times w (map2 (+) (times v x) b)) xs) (v, b) c
"""
    program = stages.to_core(stages.check(Source("test.fut", text)))
    for step in ("differentiate", "simplify", "fuse", "simplify", "accumulate"):
        program = run_pass(step, program, names_after(program))
    random = np.random.default_rng(1)
    n, m, h, d = 5, 3, 4, 2
    shapes = (m, h), (h, d), (h,), (n, d), (n, m)
    w, v, b, xs, c = (random.random(shape) for shape in shapes)
    in_v, in_b = run(program, "main", [w, v, b, xs, c])[-2:]
    np.testing.assert_allclose(in_v, (c @ w).T @ xs)
    np.testing.assert_allclose(in_b, (c @ w).sum(0))
    stored = [s for s in walk(program) if isinstance(s, Screma) and s.is_redomap]
    widths = [name.base for s in stored for name in s.width.names()]
    assert sorted(widths) == ["m", "n", "n"]


@pytest.mark.parametrize("value", ["s * s", "s * f64.exp s", "s * w[j, 0]", "-s", "s"])
def test_sums_of_what_products_make(value: str) -> None:
    text = f"""
def main [n] [m] [d] (w: [m][d]f64) (xs: [n][d]f64) : [m]f64 =
  intrinsics.hist_stream (replicate m 0) (+) 0
    (\\(acc: *acc ([m]f64)) x ->
       loop acc for j < m do
         let s = f64.sum (map2 (*) w[j] x) in write acc j ({value})) xs
"""
    random = np.random.default_rng(1)
    w, xs = random.random((3, 2)), random.random((4, 2))
    s = xs @ w.T
    made = {"s * s": s * s, "s * f64.exp s": s * np.exp(s), "s * w[j, 0]": s * w[:, 0]}
    wanted = {**made, "-s": -s, "s": s}[value].sum(0)
    for program in (core(text), accumulated(text)):
        (found,) = run(program, "main", [w, xs])
        np.testing.assert_allclose(found, wanted)


OF_PRODUCTS = {
    "scaled": "let z = map3 (\\a b c -> (a - b) * c) x mu nu in times w z",
    "of what is computed": "times w (map2 (+) (times v x) mu)",
    "in a branch": "if x[0] > 0.5 then mu else times w (map2 (-) x mu)",
    "twice": "times w (map2 (-) (times v (map2 (-) x mu)) mu)",
    "with a factor": "map (* nu[0]) (times w (map2 (-) x mu))",
    "of two arrays": "map2 (*) (times w (map2 (-) x mu)) (times v (map2 (-) x nu))",
}


@pytest.mark.parametrize("name", OF_PRODUCTS)
def test_adjoints_of_products_are_as_before(name: str) -> None:
    text = f"""
entry main [n] (w: [3][3]f64) (v: [3][3]f64) (mu: [3]f64) (nu: [3]f64)
               (xs: [n][3]f64) (c: [n][3]f64) =
  let times a x = map (\\row -> f64.sum (map2 (*) row x)) a
  in vjp (\\(mu, nu, w) -> map (\\x -> {OF_PRODUCTS[name]}) xs) (mu, nu, w) c
"""
    program = stages.to_core(stages.check(Source("test.fut", text)))
    program = run_pass("differentiate", program, names_after(program))
    random = np.random.default_rng(1)
    shapes = (3, 3), (3, 3), (3,), (3,), (4, 3), (4, 3)
    arguments = [random.random(shape) for shape in shapes]
    wanted = run(program, "main", arguments)
    for step in ("simplify", "fuse", "simplify", "accumulate"):
        program = run_pass(step, program, names_after(program))
    verify(program, SOACS)
    for one, other in zip(run(program, "main", arguments), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
