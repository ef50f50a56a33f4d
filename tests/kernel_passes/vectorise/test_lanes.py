"""Bodies in lanes: the same results as one point at a time, to the last bit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minifut
from minifut.errors import ProgramError, Source
from minifut.stages import check, to_core, to_host_module, to_kernels

pytestmark = pytest.mark.device

BODIES = {
    "divergent loop": """
      def main (xs: []i32) =
        map (\\x -> loop (y, k) = (x, 0) while y > 1 && k < 50
                    do (if y % 2 == 0 then y / 2 else 3 * y + 1, k + 1)) xs |> unzip""",
    "bounds that differ": """
      def main (xs: []i32) =
        map (\\x -> loop s = 0 for i < (x & 31) do s + i * x) xs""",
    "loops in loops": """
      def main (xs: []i32) =
        map (\\x -> loop s = 0 for i < (x & 7) do
                      loop t = s for j < i do if t > 100 then t - 77 else t + j + x) xs""",
    "masks of masks": """
      def main (xs: []i32) =
        map (\\x -> loop (s, go) = (x, true) while go do
                      if s > 1000 then (s - 1000, s % 4 != 0)
                      else if s < -5 then (-s * 2, true) else (s + 1, s % 8 != 0)) xs
        |> map (\\(s, go) -> if go then s else -s)""",
    "small integers": """
      def main (xs: []i32) =
        map (\\x -> loop (a, b) = (i8.i32 x, u16.i32 x) for i < 5 do
                     (a * 3i8 + i8.i32 i, b / 4u16 ^ u16.i8 a)) xs |> unzip""",
    "doubles": """
      def main (xs: []i32) =
        map (\\x -> loop y = f64.i32 x for i < 6 do
                     f64.max (f64.sqrt (f64.abs y) - 1) (y / 3) + f64.i32 i) xs""",
    "halves": """
      def main (xs: []i32) =
        map (\\x -> loop (y, k) = (f16.i32 x / 9, 0) while y * y < 600 && k < 9 do
                     (f16.sqrt (y * y + 3) - y / 7 + f16.bool (y > 2),
                      k + i32.f16 (f16.min 2 (f16.abs y)))) xs |> unzip""",
    "truth values": """
      def main (xs: []i32) =
        map (\\x -> loop (p, q) = (x > 0, false) for i < 5 do (!q || x > i, p != q)) xs
        |> unzip""",
    "reads at data": """
      def main [n] (xs: [n]i32) =
        map (\\x -> loop at = x & 7 for _i < 4
                    do if i64.i32 at < n then xs[i64.i32 at] & 31 else 0) xs""",
    "reads of wide elements at data": """
      def main [n] (xs: [n]i32) =
        let ys = map (\\x -> f64.i32 x * 0.7) xs
        let at x i = (i64.i32 (x & 1023) * 7 + i) % n
        in map (\\x -> loop s = 0 for i < 3 do s * 0.3 + f64.sqrt (f64.abs ys[at x i])) xs""",
    "binary search": """
      def main [n] (xs: [n]i32) =
        let ys = map i32.i64 (iota n)
        in map (\\x -> (loop (l, h) = (0, i32.i64 n) while l < h do
                       let m = (l + h) / 2
                       in if ys[i64.i32 m] < x then (m + 1, h) else (l, m)).0) xs""",
    "binary search of 64 bits": """
      def main [n] (xs: [n]i32) =
        let ys = iota n
        in map (\\x -> (loop (l, h) = (0, n) while l < h do
                       let m = (l + h) / 2
                       in if ys[m] < i64.i32 x then (m + 1, h) else (l, m)).0) xs""",
    "conversions": """
      def main (xs: []i32) =
        map (\\x -> loop y = f32.i32 x for i < 3 do
              f32.i64 (i64.f32 (y * 1e6)) + f32.bool (y > 3) + f32.u8 (u8.f32 y)) xs""",
    "quotients": """
      def main (xs: []i32) =
        map (\\x -> loop (a, b, c, d) = (x, i16.i32 x, u8.i32 x, u32.i32 x) for i < 7 do
                     let y = i - 3 + (x & 1) * 1000
                     in if y == 0 then (a ^ i32.lowest, b, c, d)
                        else (a / y ^ x // y, b % i16.i32 y - b / i16.i32 y,
                              if c == 0 then 9 else 200 / c ^ (77 % c),
                              d / u32.i32 y + d % u32.i32 y)) xs |> unzip4""",
    "arrays of points": """
      def main (xs: []i32) =
        map (\\x -> let a = loop a = [x, x * 7 % 101, x * 5 % 103, x ^ 21, -x] for i < 4 do
                           loop a for j < 4 - i do
                             if a[j] > a[j + 1]
                             then let t = copy a[j]
                                  in (a with [j] = a[j + 1]) with [j + 1] = t
                             else a
                   in (a[0], a[2], a[4])) xs |> unzip3""",
    "arrays in divergent loops": """
      def main (xs: []i32) =
        map (\\x -> let (_, a, b) =
                     loop (k, a, b) = (0, replicate 3 x, replicate 3 (x > 4))
                     while k < (x & 15) do
                       (k + 1, a with [1] = a[0] + k, b with [2] = b[1] != (k == 3))
                   in a[1] * 2 + a[2] + i32.bool b[2]) xs""",
    "quotients of 64 bits": """
      def main (xs: []i32) =
        let far x k = (i64.i32 x << (k * 20)) + (i64.i32 x * k)
        in map (\\x -> loop (a, b) = (far x 1, u64.i64 (far x 2)) for i < 4 do
                     let y = far (x & 7) i
                     in if y == 0 then (a ^ i64.lowest, b + 1)
                        else (a * 31 + far x 2 / y ^ far x 3 // y + a % y + far x i %% y,
                              b / u64.i64 y ^ u64.i32 x % u64.i64 y)) xs |> unzip""",
    "shifts and counts of bits": """
      def main (xs: []i32) =
        map (\\x -> loop (a, b, c) = (x, u32.i32 x, u8.i32 x) for i < 5 do
              (a << (x & 63) ^ a >> i ^ i32.popc a + i32.ctz a + i32.clz a,
               b * 1664525 ^ b >> 8 ^ b >> u32.i32 x, c << u8.i32 i ^ c >> 2)) xs |> unzip3""",
    "quotients of positions": """
      def main [n] (xs: [n]i32) =
        let divide x i d = loop s = x for k < 3 do
          s * 7 + i32.i64 ((i - 20) / d * 3 + i % d + (i + k) // d - (i - 9) %% d)
        in map2 (\\x i -> (divide x i 1, divide x i 3, divide x i (n / 2 + 1),
                          divide x i (20 - n), divide x i 17))
             xs (iota n) |> map (\\(a, b, c, d, e) -> [a, b, c, d, e])""",
    "quotients of strided positions by constants": """
      def main [n] (xs: [n]i32) =
        let divide x i = loop s = x for k < 3 do
          s * 7 + i32.i64 ((i * 2 - 21) / 3 + (i * 5 + k) % 12 + (i * 32) // 500
                           - (40 - i * 3) %% 7 + (i * 7 - 9) // 9 + i * 3 % 65000)
        in map2 divide xs (iota n)""",
    "writes of runs": """
      def main [n] (xs: [n]i32) =
        let at (f: i64 -> i64) =
          let work i = loop y = xs[i] for k < 3 do y * 3 + k
          in scatter (replicate (2 * n) 7) (map f (iota n)) (map work (iota n))
        in (at (\\i -> i / 32 * 64 + i % 32), at (\\i -> i / 3 * 6 + i % 3), at (\\i -> i ^ 5),
            at (\\i -> if i < 90 then i - 5 else i + 2), at (\\i -> n - i))""",
    "signs and powers": """
      def main (xs: []i32) =
        map (\\x -> loop (a, y) = (x, f32.sqrt (f32.i32 x)) for i < 4 do
              (a + i32.sgn (a - 3) + a ** (x & 7),
               y + f32.sgn y + (if f32.isnan y then 1 else 0)
                 + f32.bool (f32.isinf (y / f32.i32 (i - 1))))) xs |> unzip""",
    "minima of nan": """
      def main (xs: []i32) =
        map (\\x -> loop y = f32.sqrt (f32.i32 x) for i < 3 do
              f32.min (f32.max y 2) (f32.i32 i + 3) - f32.sqrt (f32.i32 (i - 1))) xs""",
    "recurrences along rows": """
      def main [n] (xs: [n]i32) =
        let rows k = tabulate_2d n k (\\i j -> xs[i] ^ (xs[j % n] << i32.i64 (j % 5)))
        let filter [k] (r: [k]i32) =
          loop (s, t, out) = (1, 2, replicate k 0) for j < k do
            let s' = s * 3 + (r[j] >> (t & 3))
            in (s', t ^ s, out with [j] = s' - t)
        in map filter (rows (n % 7 + 5)) |> unzip3""",
    "rows that points read and write": """
      def main [n] (xs: [n]i32) =
        let k = n % 7 + 3
        let sums (x: i32) =
          let ys = loop ys = replicate k x for j < k - 1 do
                     ys with [j + 1] = ys[j] * 3 + (x ^ i32.i64 j)
          in loop ys for j < k - 1 do ys with [k - 2 - j] = ys[k - 2 - j] - ys[k - 1 - j]
        in map sums xs""",
    "scratch memory of points": """
      def main [n] (xs: [n]i32) =
        let k = n % 7 + 3
        in map (\\x -> (loop before = replicate (k + 1) x for i < 4 do
                        loop now = replicate (k + 1) i for j < k do
                          now with [j + 1] =
                            i32.min now[j] before[j + 1] + (before[j] ^ x)
                       )[k]) xs""",
    "private arrays at data": """
      def main (xs: []i32) =
        map (\\x -> (loop (a, s) = ([x, x * 7, x ^ 21, -x], x) for i < 4 do
               let at = (loop p = i for j in i + 1..<4 do
                           if a[i64.i32 j] % 19 > a[i64.i32 p] % 19 then j else p)
               let y = a[i64.i32 at]
               let a[i64.i32 at] = a[i64.i32 i]
               let a[i64.i32 i] = y
               in (a, (s * 3 ^ y) + (s - y) * (x - s) + (s >> 3) * (y ^ x))).1) xs""",
    "scratch memory at data": """
      def main [n] (xs: [n]i32) =
        map (\\x -> let counts = loop c = replicate (n % 50 + 40) 0 for i < 9 do
                     let k = (x * 5 ^ i32.i64 i * 3) + (x >> 2) * 9
                     in c with [i64.i32 (x & 7) + i] = c[i64.i32 (k & 15)] + k * x
                   in counts[20] + counts[i64.i32 (x & 15)]) xs""",
    "clamped indices": """
      def main [n] (xs: [n]i32) =
        let clamp i = i64.max 0 (i64.min i (n - 1))
        in map (\\i -> loop y = 0 for k < 5 do
                      y * 3 + xs[clamp (i + k - 2)] - xs[clamp (2 * i - k)]
                      + i32.i64 (i64.max 3 (i + k))) (iota n)""",
    "rows after rows": """
      def main [n] (xs: [n]i32) =
        let first = replicate 6 (replicate n 0) with [0] = copy xs
        in loop out = first for i in 1...5 do
             let before = copy out[i - 1]
             in out with [i] = map (\\x -> loop y = x for j < 3 do
                                          i32.max (y * 3) before[j % n] + before[n - 1]) xs""",
    "short rows of results": """
      def main [n] (xs: [n]i32) =
        map (\\x -> (loop (least, at) = (replicate 3 1000, replicate 3 (-1i32))
                     for i < n do
                     let y = xs[i] ^ x
                     let (_, _, least, at) =
                       loop (y, i, least, at) = (y, i32.i64 i, least, at) for k < 3 do
                         if y < least[k]
                         then let z = least[k]
                              let j = at[k]
                              in (z, j, least with [k] = y, at with [k] = i)
                         else (y, i, least, at)
                     in (least, at)).1) xs""",
    "a map's results outside of its points": """
      def main [n] (xs: [n]i32) =
        tabulate_2d n 2 (\\x y ->
          let element i j = loop s = xs[x] + i32.i64 y for _k < 3 do s * 3 + i32.i64 (i ^ j)
          let ws = flatten (tabulate_2d 8 8 element)
          let h = hist (+) 0 4 (map (\\w -> i64.i32 (w & 3)) ws) ws
          in map (/ i32.max 1 (i32.sum h)) h)""",
    "two dimensions": """
      def main [n] (xs: [n]i32) =
        map (\\x -> map (\\y -> loop s = x for i < (y & 3) do s * y + i) xs) xs[0:i64.min 40 n]""",
}


def results(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


SLOW = {"quotients of positions"}
"""to optimise: 25 s"""


@pytest.mark.sweep
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in SLOW else pytest.mark.optimised) for n in BODIES],
)
def test_lanes_agree_with_single_points(name: str) -> None:
    program = minifut.compile(BODIES[name], schedule="cpu")
    assert "lanes" in program.tuning
    rng = np.random.default_rng(3)
    for count in (1, 15, 16, 100, 1000):
        xs = rng.integers(-100, 100, count).astype(np.int32)
        found = {}
        for lanes in (1, 8, 16):
            program.tuning["lanes"] = lanes
            found[lanes] = results(program.main(xs))
        for lanes in (8, 16):
            for one, many in zip(found[1], found[lanes], strict=True):
                np.testing.assert_array_equal(one, many)


def test_lanes_round_to_halves_as_numpy_does() -> None:
    program = minifut.compile(
        """def main (k: i32) (xs: []f32) =
             map (\\x -> loop y = 0f16 for i < 3 do
                            if i < k then f16.f32 x else y) xs""",
        schedule="cpu",
    )
    assert "lanes" in program.tuning
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        between = (halves[1:] / 2 + halves[:-1] / 2).astype(np.float32)
        random = np.random.default_rng(7).integers(0, 1 << 32, 1 << 16, np.uint32)
        xs = np.concatenate([halves, between, random.view(np.float32)])
        wanted = xs.astype(np.float16)
    for lanes in (1, 8, 16):
        program.tuning["lanes"] = lanes
        np.testing.assert_array_equal(program.main(9, xs), wanted)


def test_what_is_done_lane_by_lane_is_left_alone() -> None:
    body = "map (\\x -> loop s = x for i < 3 do f16.to_bits (f16.from_bits s + 1)) xs"
    source = Source("main.fut", f"def main (xs: []u16) = {body}")
    text = to_host_module(to_kernels(to_core(check(source))), "cpu")
    assert "no vectorise_map: from_bits_f16 is done lane by lane" in text


def test_arrays_of_points_are_vectors_for_each_element() -> None:
    source = Source("main.fut", BODIES["arrays of points"])
    text = to_host_module(to_kernels(to_core(check(source))), "cpu")
    assert "[80]" in text, "five elements of sixteen lanes"
    differently = """def main (xs: []i32) =
      map (\\x -> let a = loop a = replicate 4 x for i < 6 do
                         a with [(x + i) & 3] = i + a[(x >> 2) & 3]
                 in i32.sum a) xs"""
    source = Source("main.fut", differently)
    text = to_host_module(to_kernels(to_core(check(source))), "cpu")
    assert "no vectorise_map: points index arrays of their own differently" in text


def test_the_first_point_that_fails_is_reported() -> None:
    program = minifut.compile(
        """def main (xs: []i32) =
             map (\\x -> loop s = 0 for i < 3 do
                          assert (x < 90) (s + x + i)) xs""",
        schedule="cpu",
    )
    xs = np.arange(80, dtype=np.int32)
    for lanes in (1, 16):
        program.tuning["lanes"] = lanes
        np.testing.assert_array_equal(program.main(xs), 3 * xs + 3)
        with pytest.raises(ProgramError, match="Assertion is false: x < 90"):
            program.main(xs + 20)
        np.testing.assert_array_equal(program.main(xs), 3 * xs + 3)


REDUCTIONS = {
    "sum of steps": """
      def main (xs: []i32) =
        reduce (+) 0 (map (\\x -> (loop (y, k) = (x, 0) while y > 1 && k < 50
          do (if y % 2 == 0 then y / 2 else 3 * y + 1, k + 1)).1) xs)""",
    "order kept": """
      def compose (a: i32, b: i32) (c: i32, d: i32) = (a * c, b * c + d)
      def main (xs: []i32) =
        reduce compose (1, 0) (map (\\x -> (1 + (x & 1),
          loop s = 0 for i < (x & 3) do s * 3 + x + i)) xs)""",
    "scan of steps": """
      def main (xs: []i32) =
        scan (\\a b -> a * 3 + b * 0 + (b - a * 2)) 0
          (map (\\x -> loop s = x for i < (x & 3) do s * 2 + i) xs)""",
    "rows": """
      def main [n] (xs: [n]i32) =
        map (\\y -> reduce i32.max i32.lowest (map (\\x -> loop s = x for i < (y & 3)
          do s * y + i) xs)) xs[0:i64.min 40 n]""",
    "neighbours": """
      def main [n] (xs: [n]i32) =
        let step i = if i == 0 || i == n - 1 then 0 else xs[i + 1] - xs[i - 1]
        in reduce (\\(a, b) (c, d) -> (i32.min a c, i32.max b d)) (0, 0)
             (tabulate n (\\i -> let d = step i in (d, d * 2)))""",
}


@pytest.mark.optimised
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_in_lanes_agree_with_single_elements(name: str) -> None:
    program = minifut.compile(REDUCTIONS[name], schedule="cpu")
    assert "lanes" in program.tuning
    rng = np.random.default_rng(5)
    for count in (0, 1, 7, 100, 10_000):
        xs = rng.integers(-100, 100, count).astype(np.int32)
        found = []
        for lanes in (1, 8, 16):
            program.tuning["lanes"] = lanes
            found.append(results(program.main(xs)))
        for other in found[1:]:
            for one, many in zip(found[0], other, strict=True):
                np.testing.assert_array_equal(one, many)


def test_a_branch_on_the_position_is_tested_once_for_a_vector() -> None:
    source = Source("main.fut", REDUCTIONS["neighbours"])
    text = to_host_module(to_kernels(to_core(check(source))), "cpu")
    tested = re.findall(r"if \(.*1L <= at.*\+ 16L\) <= .*\{\n(?:.*;\n)*", text)
    assert tested
    for inside in tested:
        assert "loose_int16 *)(xs + " in inside and ".s0" not in inside


def test_rows_at_loaded_places_are_added_point_by_point() -> None:
    """An element of each row after the other is loaded for all lanes, a row at once."""
    text = """entry main [n][b] (is: [n][4]i32) (ws: [n][4]f32) (xs: [b][3][4]f32) =
      let add = map2 (map2 (+))
      in map2 (\\is ws -> map2 (\\i w -> map (map (* w)) xs[i]) is ws
                         |> reduce add (replicate 3 (replicate 4 0))) is ws"""
    source = Source("main.fut", text)
    assert "float16" not in to_host_module(to_kernels(to_core(check(source))), "cpu")
    rng = np.random.default_rng(5)
    given = rng.integers(0, 9, (40, 4), np.int32), rng.random((40, 4), np.float32)
    xs = rng.random((9, 3, 4), np.float32)
    found = minifut.compile(text, schedule="cpu").main(*given, xs)
    wanted = (xs[given[0]] * given[1][..., None, None]).sum(1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
