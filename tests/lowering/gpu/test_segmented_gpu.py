"""Segmented operations under both schedules against the interpreter.

Sizes sit around the lanes of a piece, a tile (15 x 256), a group's share (8 x 256) and,
with 2 cores, segments that are cut into chunks. Scans run in two passes and in one.
"""

from __future__ import annotations

from string import Template

import numpy as np
import pytest

from tests.opencl.device_programs import DEFAULTS, check, entry, load_ir

pytestmark = pytest.mark.device

RANDOM = np.random.default_rng(7)
SHAPES = ((0, 3), (3, 0), (1, 1), (2, 5), (300, 3), (3, 300), (1, 4500))
IN_ONE_PASS = {"gpu.scan.look_back": 1}
SMALL_TILES = {
    **IN_ONE_PASS,
    "gpu.fold.group_size": 4,
    "gpu.fold.staged_elements": 3,
}
SETTINGS = (*DEFAULTS, ("gpu", IN_ONE_PASS), ("gpu", SMALL_TILES))
"""with small tiles, segments of 4500 elements have 375 of them in 94 blocks"""
TYPES = [
    ("f16", "0.0f16", "bool", "and", "true"),
    ("bool", "false", "i16", "max", "-32768i16"),
]


def numbers(type_: str, *shape: int) -> np.ndarray:
    """Small numbers, so that sums of floats are exact in any order."""
    if type_ == "bool":
        return RANDOM.random(shape) < 0.7
    name = {"i": "int", "u": "uint", "f": "float"}[type_[0]] + type_[1:]
    return RANDOM.integers(0, 4, shape).astype(name)


TWO_OPERATORS = Template("""
fun main (n: i64, m: i64, xs: [n][m]$a, ys: [n][m]$b)
    -> (r: $ra, s: $rs, t: $rb, u: [n][m]$b) {
  let (r: $ra, s: $rs, t: $rb, u: [n][m]$b) = $operation grid (i < n, j < m)
      operator(\\(a: $a, k: i32, b: $a, l: i32) -> ($a, i32) {
        let right: bool = le_i32(0i32, l)
        let (c: $a, e: i32) = if right then {b, l} else {a, k}
        return c, e
      }, ($zero, -1i32), [])
      operator(\\(f: $b, g: $b) -> ($b) {
        let h: $b = ${op}_$b(f, g)
        return h
      }, ($neutral), [])
      -> ($a, i32, $b, $b) {
    let x: $a = xs[i, j]
    let y: $b = ys[i, j]
    let k1: i32 = convert_i64_i32(j)
    let k2: i32 = rem_i32(k1, 5i32)
    let k3: i32 = sub_i32(k2, 2i32)
    return returns x, returns k3, returns y, returns y
  }
  return r, s, t, u
}
""")


@pytest.mark.parametrize("operation", ["segred", "segscan"])
@pytest.mark.parametrize(("a", "zero", "b", "op", "neutral"), TYPES)
def test_several_operators_and_a_mapped_result(
    operation: str, a: str, zero: str, b: str, op: str, neutral: str
) -> None:
    """One operator that keeps the order (the last with k >= 0), one that commutes, and
    what the body returns besides."""
    shape = "[n]" if operation == "segred" else "[n][m]"
    text = TWO_OPERATORS.substitute(
        operation=operation, a=a, zero=zero, b=b, op=op, neutral=neutral,
        ra=f"{shape}{a}", rs=f"{shape}i32", rb=f"{shape}{b}",
    )  # fmt: skip
    outer = "[]" if operation == "segred" else "[][]"
    line = entry(2, f"[][]{a} [][]{b}", f"{outer}{a} {outer}i32 {outer}{b} [][]{b}")
    inputs = [(numbers(a, *s), numbers(b, *s)) for s in SHAPES]
    check(line + text, inputs, settings=SETTINGS if "scan" in operation else DEFAULTS)


FAILING_OPERATOR = """
fun main (n: i64, m: i64, xs: [n][m]i64, most: i64) -> (r: [n]i64, s: [n][m]i64) {
  let (r: [n]i64) = segred grid (i < n, j < m)
      operator(\\(a: i64, b: i64) -> (i64) {
        let c: i64 = add_i64(a, b)
        let fits: bool = le_i64(c, most)
        let () = assert(fits, ["too much"], ["a.fut:1:1"])
        return c
      }, (0i64), []) -> (i64) {
    let x: i64 = xs[i, j]
    return returns x
  }
  let (s: [n][m]i64) = segscan grid (i1 < n, j1 < m)
      operator(\\(a1: i64, b1: i64) -> (i64) {
        let c1: i64 = add_i64(a1, b1)
        let fits1: bool = le_i64(c1, most)
        let () = assert(fits1, ["too much"], ["a.fut:1:1"])
        return c1
      }, (0i64), []) -> (i64) {
    let x1: i64 = xs[i1, j1]
    return returns x1
  }
  return r, s
}
"""


def test_operators_that_fail() -> None:
    """A failing work-item must meet the others at the barriers that follow."""
    text = entry(2, "[][]i64 i64", "[]i64 [][]i64") + FAILING_OPERATOR
    cases = []
    for shape in ((2, 5), (1, 4500)):
        ones = np.ones(shape, np.int64)
        cases += [(ones, np.int64(most)) for most in (shape[1], shape[1] - 1)]
    check(text, cases, settings=SETTINGS)


def test_prefixes_of_floats_are_the_same_in_each_run() -> None:
    """What looks back waits for values at fixed places, whatever is there earlier."""
    text = """
    fun main (n: i64, xs: [n]f64) -> (s: [n]f64) {
      let (s: [n]f64) = segscan grid (i < n)
          operator(\\(a: f64, b: f64) -> (f64) {
            let c: f64 = add_f64(a, b)
            return c
          }, (0f64), []) -> (f64) {
        let x: f64 = xs[i]
        return returns x
      }
      return s
    }
    """
    program = load_ir(entry(1, "[]f64", "[]f64") + text, "gpu", SMALL_TILES)
    xs = RANDOM.random(20000) * 10.0 ** RANDOM.integers(-9, 9, 20000)
    first = program.main(xs)
    np.testing.assert_allclose(first, np.cumsum(xs), rtol=1e-12)
    for _ in range(20):
        np.testing.assert_array_equal(program.main(xs), first)
