"""Loops whose bounds differ between lanes: the same results, in vectors."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

BODIES = {
    "products of polynomials": """
      def main [n][m] (a: [n]f64) (b: [m]f64) (_: i64) : []f64 =
        tabulate (i64.max 0 (n + m - 1)) (\\k ->
          let lo = i64.max 0 (k - m + 1)
          let hi = i64.min (n - 1) k
          in loop s = 0 for i in lo..<hi + 1 do s * 0.5 + a[i] * b[k - i])""",
    "ranges of products": """
      def main [n][m] (a: [n]f64) (b: [m]f64) (_: i64) : []f64 =
        tabulate (i64.max 0 (n + m - 1)) (\\k ->
          let lo = i64.max 0 (k - m + 1)
          in f64.sum (map (\\i -> a[i] * b[k - i]) (lo...i64.min (n - 1) k)))""",
    "autocorrelation": """
      def main [n][m] (a: [n]f64) (_: [m]f64) (_: i64) : [n]f64 =
        tabulate n (\\k -> loop s = 0 for i < n - k do s * 0.5 + a[i] * a[i + k])""",
    "triangles": """
      def main [n][m] (a: [n]f64) (_: [m]f64) (w: i64) : ([n]f64, [n]i64) =
        unzip (tabulate n (\\k ->
          loop (s, t) = (a[k], w) for j in i64.max 0 (k - 20)..<k + 1 do
            (s / 3 + a[j], t * 3 + i64.bool (a[j] > a[k]) * j)))""",
    "windows": """
      def main [n][m] (a: [n]f64) (_: [m]f64) (w: i64) : [n]f64 =
        tabulate n (\\k ->
          let lo = i64.max 0 (k - w)
          in loop s = 0 for t < i64.min n (k + w + 1) - lo do s * 0.5 + a[lo + t])""",
    "windows of two": """
      def main [n][m] (a: [n]f64) (b: [m]f64) (w: i64) : [n]f64 =
        tabulate n (\\k ->
          let lo = i64.max (w - k) (i64.min (2 * k) 7)
          let hi = i64.min (i64.min n m) (i64.max (k - w) 9 + 3)
          in loop s = 0 for j in i64.max 0 lo..<i64.max 0 (i64.max lo hi) do
            s * 0.5 + a[j] * b[j] + f64.i64 (j * k))""",
    "products of big numbers": """
      def main [n][m] (a: [n]f64) (b: [m]f64) (_: i64) : []f64 =
        let digits xs = map (\\x -> i64.f64 (x * 1000)) xs
        let (a, b) = (digits a, digits b)
        in tabulate (i64.max 0 (n + m - 1)) (\\k -> f64.i64 (
             loop s = 0 for i in i64.max 0 (k - m + 1)..<i64.min n (k + 1) do
               s + a[i] * b[k - i]))""",
    "branches around and inside": """
      def main [n][m] (a: [n]f64) (_: [m]f64) (w: i64) : [n]f64 =
        tabulate n (\\k ->
          if a[k] < 0.3 then 7 else
          loop s = 0 for j < i64.min k 40 do
            if a[j] > s then s + a[j] * f64.i64 (k - j) else s - a[k - j])""",
    "loops in loops": """
      def main [n][m] (a: [n]f64) (b: [m]f64) (w: i64) : [n]f64 =
        tabulate n (\\k ->
          loop s = 0 for i < m do
            loop s = s for j < n - k do s * 0.5 + a[j + k] * b[i])""",
    "positions that cancel out": """
      def main [n][m] (a: [n]f64) (_: [m]f64) (w: i64) : [n]f64 =
        tabulate n (\\k ->
          let lo = i64.max w k + 2
          let hi = i64.max lo (i64.min (lo + 17) (k - 1 + i64.max w n))
          in loop s = 0 for j in lo..<hi do
            let p = j + w in s * 0.5 + (if 0 <= p && p < n then a[p] else 8))""",
    "conditions of products": """
      def main [n][m] (a: [n]f64) (b: [m]f64) (_: i64) : []f64 =
        tabulate (i64.max 0 (n + m - 1)) (\\k ->
          f64.sum (map2 (\\i x -> if 0 <= k - i && k - i < m then x * b[k - i] else 0)
                        (iota n) a))""",
    "conditions of windows": """
      def main [n][m] (a: [n]f64) (_: [m]f64) (w: i64) : [n]f64 =
        tabulate n (\\k -> loop s = 0 for j < n do
          if j < k + w && j - w > 5 then s * 0.5 + a[j] else s)""",
}
SIZES = [(0, 0), (1, 1), (3, 50), (40, 1), (64, 33), (67, 5), (101, 70)]


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", BODIES)
def test_lanes_do_their_own_rounds(name: str) -> None:
    source = Source("rounds.fut", BODIES[name])
    program = minifut.compile(BODIES[name], schedule="cpu")
    oracle = interpreted_program(stages.to_core(stages.check(source)))
    random = np.random.default_rng(5)
    windows = [0, 2, 13, -3, 2**62, 2**63 - 1, -(2**63)] if "window" in name else [4]
    for n, m in SIZES:
        for w in windows:
            given = random.random(n), random.random(m), w
            wanted = oracle.main(*given)
            for lanes in (16, 8, 1):
                program.tuning["lanes"] = lanes
                found = program.main(*given)
                pairs = (
                    [(found, wanted)]
                    if n + m == 0
                    else zip(np.atleast_2d(found), np.atleast_2d(wanted), strict=True)
                )
                for one, other in pairs:
                    np.testing.assert_allclose(
                        one, other, rtol=1e-9, err_msg=f"{lanes} {n} {m} {w}"
                    )


@pytest.mark.device
@pytest.mark.parametrize("name", BODIES)
def test_several_vectors_do_their_own_rounds(name: str) -> None:
    """Chunks have as many points from some thousand points on."""
    many = minifut.compile(BODIES[name], schedule="cpu", params={"lanes": 16})
    one = minifut.compile(BODIES[name], schedule="cpu", params={"lanes": 1})
    random = np.random.default_rng(5)
    for n, m in [(1300, 40), (2600, 70), (3000, 3), (900, 600)]:
        given = random.random(n), random.random(m), 4
        pairs = zip(
            np.atleast_2d(many.main(*given)),
            np.atleast_2d(one.main(*given)),
            strict=True,
        )
        for found, wanted in pairs:
            np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("name", BODIES)
def test_rounds_are_shared(name: str) -> None:
    core = stages.to_core(stages.check(Source("rounds.fut", BODIES[name])))
    text = stages.to_host_module(stages.to_kernels(core), "cpu", "rounds")
    assert "double8 " in text and "no vectorise_map" not in text
