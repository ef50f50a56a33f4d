"""Histograms over the same keys become one, and mean what they did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.ir.soacs import Hist
from minifut.ir.traverse import walk
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
