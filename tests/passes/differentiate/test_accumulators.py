"""Derivatives of accumulators, in both modes."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.errors import CompileError
from tests.passes.differentiate.derivatives import check, runner

LIBRARY = """
type~ acc 't = intrinsics.acc t
def write [n] 't (acc: *acc ([n]t)) (i: i64) (v: t) : *acc ([n]t) =
  intrinsics.acc_write acc i v
"""
XS = np.array([0.7, 1.3, -0.4, 2.1])
YS = np.array([1.1, -0.6, 0.8])

STREAMS = {
    "sums": """
        intrinsics.hist_stream (copy ys) (+) 0
          (\\(acc: *acc ([3]f64)) i -> write acc (i % 5) (xs[i] * xs[i])) (iota 4)""",
    "two updates": """
        intrinsics.hist_stream (copy ys) (+) 0
          (\\(acc: *acc ([3]f64)) i ->
             write (write acc (i % 2) (xs[i] * ys[0])) (2 - i) (f64.sin xs[i])) (iota 4)""",
    "updates in a loop": """
        intrinsics.hist_stream (copy ys) (+) 0
          (\\(acc: *acc ([3]f64)) i ->
             loop acc for j < i do write acc j (xs[i] * f64.i64 j * ys[1])) (iota 4)""",
    "updates in branches": """
        intrinsics.hist_stream (copy ys) (+) 0
          (\\(acc: *acc ([3]f64)) x ->
             if x > 1 then write acc 1 (x * x) else if x < 0 then acc
             else write acc 2 (ys[0] * x)) xs""",
    "rows": """
        flatten (intrinsics.hist_stream [ys, map (* 2) ys] (map2 (+)) (replicate 3 0)
          (\\(acc: *acc ([2][3]f64)) i -> write acc (i % 3) (map (* xs[i]) ys)) (iota 4))""",
    "pairs": """
        map (\\(a, b) -> a * b) (intrinsics.hist_stream (zip ys (map (* 3) ys))
          (\\(a, b) (c, d) -> (a + c, b + d)) (0, 0)
          (\\(acc: *acc ([3](f64, f64))) i -> write acc (i % 3) (xs[i], xs[i] * ys[0]))
          (iota 4))""",
    "values that take places": """
        intrinsics.scatter_stream (map (* 2) ys)
          (\\(acc: *acc ([3]f64)) i -> write acc (2 * i) (xs[i] * xs[i])) (iota 4)""",
    "rows that take places": """
        flatten (intrinsics.scatter_stream [ys, map (* 2) ys]
          (\\(acc: *acc ([2][3]f64)) i -> write acc (2 * i + 1) (map (* xs[i]) ys))
          (iota 4))""",
    "streams in streams": """
        intrinsics.hist_stream (copy ys) (+) 0
          (\\(acc: *acc ([3]f64)) i ->
             let zs = intrinsics.hist_stream (replicate 2 0) (+) 0
               (\\(inner: *acc ([2]f64)) x -> write inner (i % 2) (x * ys[1])) xs
             in write acc (i % 3) (zs[0] * xs[i] + zs[1])) (iota 4)""",
    "in a map": """
        map (\\x -> f64.sum (intrinsics.hist_stream (replicate 3 0) (+) 0
          (\\(acc: *acc ([3]f64)) i -> write acc i (x * ys[i] * ys[i])) (iota 3))) xs""",
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_derivative_of_a_stream(name: str) -> None:
    text = f"{LIBRARY}\ndef f (xs: [4]f64, ys: [3]f64) = {STREAMS[name]}"
    check(text, ["[4]f64", "[3]f64"], (XS, YS))


def test_a_gradient_of_a_gradient() -> None:
    text = f"""{LIBRARY}
    def g (xs: [4]f64) (ys: [3]f64) = f64.sum ({STREAMS["two updates"]})
    def f (xs: [4]f64, ys: [3]f64) = vjp (\\xs -> g xs ys) xs 1
    """
    check(text, ["[4]f64", "[3]f64"], (XS, YS))


@pytest.mark.parametrize("mode", ["jvp f xs xs", "vjp f xs (replicate 3 1)"])
def test_other_operators_are_refused(mode: str) -> None:
    text = f"""{LIBRARY}
    def f [n] (xs: [n]f64) = intrinsics.hist_stream (replicate 3 0) f64.max 0
      (\\(acc: *acc ([3]f64)) x -> write acc 1 (x * x)) xs
    entry main [n] (xs: [n]f64) = {mode}
    """
    with pytest.raises(CompileError, match=r"other than \+ has no") as caught:
        runner(text)
    assert caught.value.location is not None
