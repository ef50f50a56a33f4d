"""Loops and branches in which lanes go different ways: the same results, in vectors."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

BODIES = {
    "rounds counted for all lanes": """
      loop (s, t) = (0, y) for i < x % 17 do
        (s * 3 + i, if i == x then t + 100 else t * 0.5 + f64.i64 i)""",
    "counters that begin apart": """
      loop (s, t) = (0, y) for i in x % 5..<x % 5 + x % 13 do
        (s * 3 + i, t * 0.5 + f64.i64 i)""",
    "elements that all lanes read": """
      loop (s, t) = (0, y) for i < i64.min n (x % 19) do
        (s + i64.f64 (8 * ys[i]), t * 0.5 + ys[n - 1 - i])""",
    "elements that some lanes read": """
      loop (s, t) = (0, y) for i < x % 19 do
        if i < n && ys[i] > y then (s + 1, t * 0.5 + ys[i]) else (s, t)""",
    "loops in loops": """
      loop (s, t) = (0, y) for i < x % 11 do
        loop (s, t) for j < i do (s + i * j, if j > x % 3 then t + 1 / f64.i64 j else t)""",
    "arrays of lanes": """
      let zs = loop zs = replicate 6 x for i < x % 7 do zs with [i % 6] = zs[i * 5 % 6] + i
      in (i64.sum zs, y)""",
    "quotients of active lanes": """
      loop (s, t) = (1, y) for i < x % 13 do
        let q = if i > 3 then x / (i - 3) else i
        in (s + q, if q > 9 then t / f64.i64 q else t)""",
    "loops behind branches": """
      if y < 0.3 then (x, 7) else
      let (s, t) = loop (s, t) = (0, y) for i < x % 9 do
        let u = if i % 2 == 0 then t else t * 2
        let v = loop v = u for j < i % 4 do if v > 1 then v - f64.i64 j else v * 3
        in (s + i, u + v)
      in (s + 1, t)""",
    "rounds that others decide": """
      loop (s, t) = (x, y) while s > 3 do
        loop (s, t) = (s / 2, t) for i < s % 6 do if i > 2 then (s - 1, t) else (s, t + 1)""",
}
PROGRAM = """
entry main [n] (xs: [n]i64) (ys: [n]f64): ([n]i64, [n]f64) =
  unzip (map2 (\\x y ->{}) xs ys)"""


@pytest.mark.device
@pytest.mark.parametrize("name", BODIES)
def test_lanes_go_their_own_ways(name: str) -> None:
    text = PROGRAM.format(BODIES[name])
    oracle = interpreted_program(stages.to_core(stages.check(Source("ways.fut", text))))
    program = minifut.compile(text, schedule="cpu")
    random = np.random.default_rng(7)
    for n in (0, 1, 5, 16, 67):
        given = random.integers(-40, 200, n), random.random(n)
        wanted = oracle.main(*given)
        for lanes in (16, 8, 1):
            program.tuning["lanes"] = lanes
            for one, other in zip(program.main(*given), wanted, strict=True):
                np.testing.assert_allclose(one, other, 1e-9, err_msg=f"{lanes} {n}")


@pytest.mark.parametrize("name", ["rounds counted for all lanes", "loops in loops"])
def test_what_counts_rounds_is_one_number(name: str) -> None:
    core = stages.to_core(
        stages.check(Source("ways.fut", PROGRAM.format(BODIES[name])))
    )
    text = stages.to_host_module(stages.to_kernels(core), "cpu", "ways")
    assert re.search(r"long i\w* = 0L;\s*int8 live", text)
