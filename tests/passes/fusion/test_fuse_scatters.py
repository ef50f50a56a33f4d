"""Scatters of several arrays to the same places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.parser import names_after
from minifut.ir.soacs import Scatter
from minifut.ir.traverse import walk
from minifut.passes.pipelines import FUSED, run_pipeline

HEAD = "entry main [n] (is: [n]i64) (xs: [n]f32) (ys: *[n]i32) ="
JOINED = {
    "two arrays": "(scatter (replicate n 0) is xs, scatter (replicate n 0) is ys)",
    "of other sizes": "(scatter (replicate 9 1) is xs, scatter (replicate n 2) is ys)",
    "three arrays": """
      (scatter (replicate n 0) is xs, scatter (replicate n 0) is ys,
       scatter (replicate n 7) is (iota n))""",
    "into what a function gets": """
      (scatter (replicate n 0) is xs, scatter ys is (map i32.i64 (iota n)))""",
    "places that are computed": """
      let js = map (\\i -> (i * 3) % 7) is
      in (scatter (replicate n 0) js xs, scatter (replicate n 0) js ys, js)""",
}
APART = {
    "one after the other": """
      let a = scatter (replicate n 0) is xs
      in (a, scatter (replicate n 0) is (map i32.f32 a))""",
    "twice into one": "scatter (scatter ys is (map i32.f32 xs)) is (map i32.i64 is)",
    "other places": """
      (scatter (replicate n 0) is xs, scatter (replicate n 0) (map (+ 1) is) ys)""",
    "read before it is written": """
      let zs = scatter (replicate n 0) is (copy ys)
      in (zs, scatter ys is (map i32.f32 xs))""",
}


def arguments(n: int) -> list[Any]:
    draw = np.random.default_rng(n)
    places = draw.permutation(n + 4)[:n] - 2
    return [places, draw.random(n, np.float32), draw.integers(0, 99, n).astype("i4")]


def scatters(body: str) -> int:
    program = stages.to_core(stages.check(Source("program.fut", HEAD + body)))
    fused = run_pipeline(program, names_after(program), steps=FUSED)
    return sum(isinstance(node, Scatter) for node in walk(fused))


@pytest.mark.parametrize("name", JOINED)
def test_they_are_one(name: str) -> None:
    assert scatters(JOINED[name]) == 1


@pytest.mark.parametrize("name", APART)
def test_others_stay_apart(name: str) -> None:
    assert scatters(APART[name]) == 2


@pytest.mark.device
@pytest.mark.parametrize("name", JOINED | APART)
def test_results_are_the_same(name: str) -> None:
    text = HEAD + (JOINED | APART)[name]
    program, oracle = (
        minifut.compile(text),
        minifut.compile(text, backend="interpreter"),
    )
    for n in (0, 1, 3, 50):
        found, expected = (p.main(*arguments(n)) for p in (program, oracle))
        if not isinstance(found, tuple):
            found, expected = (found,), (expected,)
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(one, other)
