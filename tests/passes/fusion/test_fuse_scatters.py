"""Scatters of several arrays to the same places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.analysis.in_place import in_place_updates
from minifut.errors import Source
from minifut.ir.core import Program, Stm
from minifut.ir.parser import names_after
from minifut.ir.search import nodes_of
from minifut.ir.soacs import Scatter, Screma
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


LOOKED_UP = """
  let zs = map2 (\\x i -> ys[i % n] + i32.f32 x) xs is
  in scatter ys is zs"""
KEPT = """
  let zs = map2 (\\x i -> ys[i % n] + i32.f32 x) xs is
  in (scatter (copy ys) is zs, ys)"""


def fused(body: str) -> Program:
    program = stages.to_core(stages.check(Source("program.fut", HEAD + body)))
    return run_pipeline(program, names_after(program), steps=FUSED)


def scatters(body: str) -> int:
    return sum(isinstance(node, Scatter) for node in walk(fused(body)))


@pytest.mark.parametrize("name", JOINED)
def test_they_are_one(name: str) -> None:
    assert scatters(JOINED[name]) == 1


@pytest.mark.parametrize("name", APART)
def test_others_stay_apart(name: str) -> None:
    assert scatters(APART[name]) == 2


def test_what_is_overwritten_is_looked_up_before() -> None:
    (main,) = fused(LOOKED_UP).functions
    made = [s for s in nodes_of(Stm, main) if isinstance(s.exp, Scatter)]
    assert [s.pattern[0].name for s in made] == list(in_place_updates(main).updates)


def test_what_is_copied_anyway_is_looked_up_by_the_scatter() -> None:
    assert not any(isinstance(node, Screma) for node in walk(fused(KEPT)))


@pytest.mark.device
@pytest.mark.parametrize("body", [*(JOINED | APART).values(), LOOKED_UP, KEPT])
def test_results_are_the_same(body: str) -> None:
    text = HEAD + body
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
