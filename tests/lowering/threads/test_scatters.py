"""Scatters in threads: their points may be vectors if they do not read where they write."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source

MERGED = """
  entry main [m][n] (xss: [m][n]f64): [m][n]f64 =
    let below [k] (ys: [k]f64) (x: f64): i64 =
      (loop (low, high) = (0, k) while low < high do
         let at = (low + high) / 2
         in if ys[at] < x then (at + 1, high) else (low, at)).0
    let merge [k] (xs: [k]f64) (half: i64): [k]f64 =
      let (one, other) = (take half xs, drop half xs)
      let at i = if i < half then i + below other xs[i]
                 else i - half + below one (f64.nextafter xs[i] f64.inf)
      in scatter (replicate k 0) (tabulate k at) xs
    in map (\\xs -> loop ys = xs for _i < 2 do merge ys (n / 2)) xss"""
MOVED = """
  entry main [m][n] (xss: [m][n]i64): [m][n]i64 =
    let rounds x = (loop (c, x) = (0, x) while x > 1 do (c + 1, x / 2)).0
    in map (\\xs -> loop ys = copy xs for k < 3 do
              scatter ys (map (\\i -> i * 2 + k - rounds i) (iota n)) (map (+ k) xs)) xss"""


@pytest.mark.device
@pytest.mark.parametrize("lanes", [16, 8, 1])
@pytest.mark.parametrize("rows", [1, 5])
def test_results_are_those_of_the_interpreter(lanes: int, rows: int) -> None:
    random = np.random.default_rng(0)
    for text in (MERGED, MOVED):
        program = minifut.compile(text, schedule="cpu", params={"lanes": lanes})
        oracle = minifut.compile(text, backend="interpreter")
        for n in (0, 1, 2, 16, 17, 67):
            if text is MERGED:
                halves = random.normal(size=(2, rows, n))
                given = np.concatenate(np.sort(halves[:, :, : n // 2 + 1], 2), 1)
            else:
                given = random.integers(-9, 9, (rows, n))
            wanted = np.asarray(oracle.main(given))
            np.testing.assert_array_equal(np.asarray(program.main(given)), wanted)


@pytest.mark.parametrize("text", [MERGED, MOVED])
def test_lanes_search_for_their_places(text: str) -> None:
    core = stages.to_core(stages.check(Source("scatter.fut", text)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "scatter")
    threads = module.split("__kernel void main_mapped(")[1].split("__kernel void")[0]
    assert "while (any(live))" in threads
