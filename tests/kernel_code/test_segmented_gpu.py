"""Segmented operations under both schedules against the interpreter.

Sizes sit around the lanes of a piece, a tile (7 x 256), a group's share (8 x 256, 16 x
256) and the bins that fit into local memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.opencl.device_programs import check, entry

pytestmark = pytest.mark.device

RANDOM = np.random.default_rng(7)
SHAPES = ((0, 3), (3, 0), (1, 1), (2, 5), (300, 3), (3, 300), (1, 4500), (2, 2300))


def numbers(type_: str, *shape: int) -> np.ndarray:
    """Small numbers, so that sums and products of floats are exact in any order."""
    if type_ == "bool":
        return RANDOM.random(shape) < 0.7
    name = {"i": "int", "u": "uint", "f": "float"}[type_[0]] + type_[1:]
    return RANDOM.integers(0, 4, shape).astype(name)


# --- reductions and scans -----------------------------------------------------------

TWO_OPERATORS = """
fun main (n: i64, m: i64, xs: [n][m]A, ys: [n][m]B)
    -> (r: [n]A, s: [n]i32, t: [n]B, u: [n][m]B) {
  let (r: [n]A, s: [n]i32, t: [n]B, u: [n][m]B) = segred grid (i < n, j < m)
      operator(\\(a: A, k: i32, b: A, l: i32) -> (A, i32) {
        let first: bool = lt_i32(k, 2i32)
        let (c: A, e: i32) = if first then {b, l} else {a, k}
        return c, e
      }, (ZERO, -5i32), [])
      operator(\\(c1: B, d1: B) -> (B) { let e1: B = OP_B(c1, d1) return e1 }, (NEUTRAL), [])
      -> (A, i32, B, B) {
    let x: A = xs[i, j]
    let y: B = ys[i, j]
    let k2: i32 = convert_i64_i32(j)
    let k3: i32 = rem_i32(k2, 5i32)
    return returns x, returns k3, returns y, returns y
  }
  return r, s, t, u
}
"""


@pytest.mark.parametrize(
    ("a", "zero", "b", "op", "neutral"),
    [
        ("f16", "0.0f16", "bool", "and", "true"),
        ("u8", "0u8", "f64", "add", "0.0f64"),
        ("bool", "false", "i16", "max", "-32768i16"),
        ("f64", "0.0f64", "f16", "add", "0.0f16"),
    ],
)
def test_several_operators_and_a_mapped_result(
    a: str, zero: str, b: str, op: str, neutral: str
) -> None:
    """One operator that keeps the order (last of those with k > 1), one that does not,
    and what the body returns besides."""
    text = TWO_OPERATORS.replace("OP_B", f"{op}_{b}").replace("ZERO", zero)
    text = text.replace("NEUTRAL", neutral)
    for letter, type_ in (("A", a), ("B", b)):
        for before, after in ((": ", ""), ("]", ""), ("(", ""), (" ", ""), ("(", ",")):
            del after
            text = text.replace(f"{before}{letter}", f"{before}{type_}")
    line = entry(2, f"[][]{a} [][]{b}", f"[]{a} []i32 []{b} [][]{b}")
    check(line + text, [(numbers(a, *s), numbers(b, *s)) for s in SHAPES])
