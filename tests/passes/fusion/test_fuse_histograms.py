"""Histograms over the same keys become one, and mean what they did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.ir.soacs import Hist, Screma
from minifut.ir.traverse import walk
from minifut.ir.types import shape_of
from minifut.passes.pipelines import DEFAULT, find_pass
from tests.passes.test_versions import compiled

FUSED = DEFAULT[: DEFAULT.index(find_pass("fuse")) + 1]
HEAD = "entry main [n] (ks: [n]i64) (xs: [n]f32): ([]f32, []f32) = "
ONE = {
    "means": """let s = hist (+) 0 50 ks xs
        let c = hist (+) 0 50 ks (replicate n 1) in (s, map2 (/) s c)""",
    "sums and extremes of three": """let s = hist (+) 0 50 ks xs
        let m = hist f32.max 0 60 ks xs let q = hist (+) 0 50 ks (map (\\x -> x * x) xs)
        in (map2 (+) s q, m)""",
    "other shapes": """let s = hist (+) 0 50 ks xs
        let t = reduce_by_index_2d (replicate 5 (replicate 7 0)) (+) 0
                                   (map (\\k -> (k % 5, k - 20)) ks) xs
        in (s, flatten t)""",
}
TWO = {
    "the second needs the first": """let s = hist (+) 0 50 ks xs
        let m = hist f32.max 0 50 ks (map (\\k -> if k < 50 then s[k] else 0) ks)
        in (s, m)""",
    "of one destination": """let s = hist (+) 0 50 ks xs
        in (reduce_by_index s (+) 0 ks xs, xs)""",
    "of nothing in common": """let s = hist (+) 0 50 ks (replicate n 1)
        in (s, hist (+) 0 50 (iota n) xs)""",
}


def test_what_only_joined_histograms_use_is_computed_in_them() -> None:
    source = """let is = map (% 50) ks let s = hist (+) 0 50 is xs
        let c = hist f32.max 0 50 is xs in (s, c)"""
    _, program = compiled(HEAD + source, FUSED)
    assert not any(isinstance(node, Screma) for node in walk(program))


@pytest.mark.parametrize("name", ONE | TWO)
def test_histograms_join(name: str) -> None:
    _, program = compiled(HEAD + (ONE | TWO)[name], FUSED)
    found = {id(node) for node in walk(program) if isinstance(node, Hist)}
    assert len(found) == (1 if name in ONE else 2)


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", ONE | TWO)
def test_results_are_those_of_the_interpreter(name: str, schedule: Any) -> None:
    source = HEAD + (ONE | TWO)[name]
    oracle = minifut.compile(source, backend="interpreter")
    program = minifut.compile(source, schedule=schedule)
    random = np.random.default_rng(1)
    for n in (1, 300):
        xs = random.integers(0, 9, n).astype(np.float32)
        ks = random.integers(0, 55, n)
        for found, wanted in zip(
            program.main(ks, xs), oracle.main(ks, xs), strict=True
        ):
            np.testing.assert_allclose(found, wanted)


NEAREST = """
def nearest [d][k] (cs: [k][d]f32) (x: [d]f32): i64 =
  let distance c = f32.sum (map2 (\\a b -> (a - b) ** 2) x c)
  let closer (i, a) (j, b) = if b < a || (a == b && j < i) then (j, b) else (i, a)
  in (reduce closer (k, f32.inf) (zip (iota k) (map distance cs))).0
"""
OF_NESTS = {
    "of a nest": "[n][d][k] (xs: [n][d]f32) (cs: [k][d]f32): [k]i32 = "
    "hist (+) 0 k (map (nearest cs) xs) (replicate n 1)",
    "values of a nest": "[n][d][k] (xs: [n][d]f32) (cs: [k][d]f32): [k]f32 = "
    "hist (+) 0 k (map (% k) (iota n)) (map f32.sum xs)",
    "of points in space": "[n] (xs: [n][3]f32) (cs: [4][3]f32): [4]i32 = "
    "hist (+) 0 4 (map (nearest cs) xs) (replicate n 1)",
}


@pytest.mark.parametrize("name", OF_NESTS)
def test_nests_stay_outside_of_histograms(name: str) -> None:
    """But for those of as few elements as the program says."""
    _, program = compiled(NEAREST + f"entry main {OF_NESTS[name]}", FUSED)
    (hist,) = {id(n): n for n in walk(program) if isinstance(n, Hist)}.values()
    takes_rows = any(shape_of(p.type) for p in hist.function.parameters)
    assert takes_rows == (name == "of points in space")


@pytest.mark.device
@pytest.mark.parametrize("name", OF_NESTS)
def test_histograms_of_nests_are_those_of_the_interpreter(name: str) -> None:
    source = NEAREST + f"entry main {OF_NESTS[name]}"
    oracle = minifut.compile(source, backend="interpreter")
    program = minifut.compile(source)
    random = np.random.default_rng(1)
    for n, k in ((1, 4), (300, 4)):
        xs, cs = (random.random((m, 3), np.float32) for m in (n, k))
        np.testing.assert_allclose(program.main(xs, cs), oracle.main(xs, cs), rtol=1e-5)
