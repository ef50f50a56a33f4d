"""Which points take equally long."""

from __future__ import annotations

import pytest

from minifut.analysis.simple_points import cost_the_same
from minifut.ir.kernels import SegMap
from minifut.ir.parser import parse_program
from minifut.ir.search import nodes_of

MAP = """
fun main(n: i64, m: i64, xs: [n]i64) -> (r: [n]i64) {
  let r: [n]i64 = segmap grid (i < n) -> (i64) {
    BODY
    return returns y
  }
  return r
}"""

LOOP = """let y: i64 = loop (a: i64 = 0i64) for j: i64 < BOUND do {
      let b: i64 = add_i64(a, j) return b }"""
ALIKE = [
    "let y: i64 = xs[i]",
    LOOP.replace("BOUND", "m"),
    LOOP.replace("BOUND", "9i64"),
    """let x: i64 = xs[i] let c: bool = lt_i64(x, m)
    let z: i64 = if c then { return x } else { return m }"""
    + LOOP.replace("0i64", "z").replace("BOUND", "n"),
]
APART = [
    "let x: i64 = xs[i]" + LOOP.replace("BOUND", "x"),
    LOOP.replace("BOUND", "i"),
    """let x: i64 = xs[i] let c: bool = lt_i64(x, m)
    let y: i64 = if c then { LOOP return y } else { return m }""".replace(
        "LOOP", LOOP.replace("BOUND", "m")
    ),
    """let c: bool = lt_i64(i, m)
    let (y: i64, d: bool) = loop (a: i64 = m, d: bool = c) while d do {
      let b: i64 = xs[a] let e: bool = lt_i64(b, m) return b, e }""",
]


@pytest.mark.parametrize("body", [*ALIKE, *APART])
def test_points_that_run_equal_loops(body: str) -> None:
    program = parse_program(MAP.replace("BODY", body))
    (operation,) = nodes_of(SegMap, program)
    assert cost_the_same(operation) == (body in ALIKE)
