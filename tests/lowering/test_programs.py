"""Kernels IR on the device, under both schedules, against the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.opencl.device_programs import check, entry

pytestmark = [pytest.mark.device, pytest.mark.optimised]

RANDOM = np.random.default_rng(3)


def f32(*shape: int) -> np.ndarray:
    return RANDOM.integers(-9, 9, shape).astype(np.float32)


def i64(*shape: int, low: int = 0, high: int = 9) -> np.ndarray:
    return RANDOM.integers(low, high, shape).astype(np.int64)


SHAPES = [(0, 0), (0, 3), (1, 1), (3, 0), (5, 7), (700, 3), (3, 700), (65, 33)]

RANK_TWO = """
fun main (n: i64, m: i64, xs: [n][m]f32, a: f32) -> (r: [n][m]f32, q: [n][m]i64) {
  let (r: [n][m]f32, q: [n][m]i64) = segmap grid (i < n, j < m) -> (f32, i64) {
    let x: f32 = xs[i, j]
    let y: f32 = mul_f32(x, a)
    let big: bool = lt_f32(y, 1.5f32)
    let (z: f32, k: i64) = if big then {y, i} else {
      let w: f32 = sub_f32(y, 2.0f32)
      return w, j
    }
    return returns z, returns k
  }
  return r, q
}
"""


def test_maps_of_two_dimensions() -> None:
    text = entry(2, "[][]f32 f32", "[][]f32 [][]i64") + RANK_TWO
    check(text, [(f32(*shape), np.float32(0.5)) for shape in SHAPES])


RANK_THREE = """
fun main (n: i64, m: i64, k: i64, xs: [n][m][k]i32) -> (r: [k][n][m]i32) {
  let t: [k][n][m]i32 = rearrange((2, 0, 1), xs)
  let r: [k][n][m]i32 = segmap grid (h < k, i < n, j < m) -> (i32) {
    let x: i32 = t[h, i, j]
    let y: i32 = mul_i32(x, 2147483647i32)
    return returns y
  }
  return r
}
"""


def test_maps_of_three_dimensions_read_rearranged_arrays() -> None:
    text = entry(3, "[][][]i32", "[][][]i32") + RANK_THREE
    shapes = [(0, 1, 2), (1, 1, 1), (2, 3, 4), (31, 17, 5)]
    check(text, [(i64(*s).astype(np.int32),) for s in shapes])


ROWS = """
fun main (n: i64, m: i64, xs: [n][m]f32) -> (r: [n][m]f32, s: [n]f32, t: [n][4]f32) {
  let (r: [n][m]f32, s: [n]f32, t: [n][4]f32) = segmap grid (i < n) -> ([m]f32, f32, [4]f32) {
    let row: [m]f32 = xs[i]
    let out: [m]f32 = scratch(f32, [m])
    let (sum: f32, made: [m]f32) = loop (acc: f32 = 0.0f32, o: [m]f32 = out) for j: i64 < m do {
      let x: f32 = row[j]
      let a: f32 = add_f32(acc, x)
      let p: [m]f32 = o with [j] = a
      return a, p
    }
    let four: [4]f32 = replicate([4], sum)
    let changed: [4]f32 = four with [2i64] = 1.0f32
    return returns made, returns sum, returns changed
  }
  return r, s, t
}
"""


def test_threads_that_make_arrays() -> None:
    text = entry(2, "[][]f32", "[][]f32 []f32 [][]f32") + ROWS
    check(text, [(f32(*shape),) for shape in SHAPES])


TWO_BUFFERS = """
fun main (n: i64, m: i64, xs: [n][m]f32, k: i64) -> (r: [n]f32) {
  let r: [n]f32 = segmap grid (i < n) -> (f32) {
    let row: [m]f32 = xs[i]
    let (a: [m]f32, b: [m]f32) = loop (p: [m]f32 = row, q: [m]f32 = row) for s: i64 < k do {
      let w: [m]f32 = segmap thread (j < m) -> (f32) {
        let x: f32 = p[j]
        let y: f32 = q[j]
        let z: f32 = add_f32(x, y)
        let u: f32 = add_f32(z, 1.0f32)
        return returns u
      }
      return q, w
    }
    let t: f32 = loop (acc: f32 = 0.0f32) for j2: i64 < m do {
      let x2: f32 = a[j2]
      let y2: f32 = b[j2]
      let d: f32 = sub_f32(y2, x2)
      let e: f32 = add_f32(acc, d)
      return e
    }
    return returns t
  }
  return r
}
"""


def test_arrays_that_change_places_in_a_loop() -> None:
    text = entry(2, "[][]f32 i64", "[]f32") + TWO_BUFFERS
    check(text, [(f32(*s), np.int64(k)) for s in SHAPES[2:6] for k in (0, 1, 4)])


SCATTER = """
fun main (n: i64, m: i64, to: *[m]f32, is: [n]i64, xs: [n]f32) -> (r: [m]f32) {
  let r: [m]f32 = segmap grid (i < n) -> (f32) {
    let at: i64 = is[i]
    let x: f32 = xs[i]
    return writes to [m] with ((at) = x)
  }
  return r
}
"""


def test_writes_out_of_bounds_are_ignored() -> None:
    text = entry(2, "[]f32 []i64 []f32", "[]f32") + SCATTER
    cases = []
    for n, m in ((0, 0), (0, 3), (4, 0), (1, 1), (500, 700)):
        places = np.arange(n, dtype=np.int64) * 3 - 5
        cases.append((f32(m), places, f32(n)))
    check(text, cases)


LOOPS = """
fun main (n: i64, xs: [n]i64, k: i64) -> (r: [n]i64, c: i64) {
  let ys: [n]i64 = loop (p: [n]i64 = xs) for s: i64 < k do {
    let w: [n]i64 = segmap grid (i < n) -> (i64) {
      let x: i64 = p[i]
      let y: i64 = mul_i64(x, 3i64)
      let z: i64 = add_i64(y, s)
      return returns z
    }
    return w
  }
  let (more: bool, count: i64) = loop (go: bool = true, c0: i64 = 0i64) while go do {
    let c1: i64 = add_i64(c0, 1i64)
    let again: bool = lt_i64(c1, k)
    return again, c1
  }
  let odd: i64 = mod_i64(k, 2i64)
  let is_odd: bool = eq_i64(odd, 1i64)
  let r: [n]i64 = if is_odd then {xs} else {ys}
  return r, count
}
"""


def test_loops_and_branches_of_the_host() -> None:
    text = entry(1, "[]i64 i64", "[]i64 i64") + LOOPS
    check(text, [(i64(n), np.int64(k)) for n in (0, 1, 9) for k in (0, 1, 2, 5)])


TRIANGLE = """
fun main (n: i64, xs: [n]f32) -> (r: [n]f32) {
  let r: [n]f32 = segmap grid (i < n) -> (f32) {
    let k: i64 = add_i64(i, 1i64)
    let part: [k]f32 = xs[0i64 :+ k by 1i64]
    let made: [k]f32 = segmap thread (j < k) -> (f32) {
      let x: f32 = part[j]
      let y: f32 = add_f32(x, x)
      return returns y
    }
    let s: f32 = loop (acc: f32 = 0.0f32) for j2: i64 < k do {
      let z: f32 = made[j2]
      let t: f32 = add_f32(acc, z)
      return t
    }
    return returns s
  }
  return r
}
"""


def test_arrays_whose_size_varies_between_threads() -> None:
    text = entry(1, "[]f32", "[]f32") + TRIANGLE
    check(text, [(f32(n),) for n in (0, 1, 5, 40, 600)])


VIEWS = """
fun main (n: i64, m: i64, xs: [n][m]f32) -> (a: [m][n]f32, b: [n * m]f32, c: [2 * n][m]f32, d: [n]f32, e: [2][n][m]f32) {
  let a: [m][n]f32 = rearrange((1, 0), xs)
  let b: [n * m]f32 = reshape([n * m], a)
  let c: [2 * n][m]f32 = concat(0, 2 * n, xs, xs)
  let last: i64 = size(m - 1)
  let d: [n]f32 = xs[0i64 :+ n by 1i64, last]
  let ys: [n][m]f32 = manifest((1, 0), xs)
  let e: [2][n][m]f32 = [xs, ys]: [n][m]f32
  return a, b, c, d, e
}
"""


def test_views_become_arrays_as_results() -> None:
    text = entry(2, "[][]f32", "[][]f32 []f32 [][]f32 []f32 [][][]f32") + VIEWS
    check(text, [(f32(*shape),) for shape in ((1, 1), (5, 7), (700, 3), (3, 700))])


SCALARS = """
fun helper (x: f32, k: i32) -> (y: f32, l: i32) {
  let y: f32 = div_f32(x, 0.0f32)
  let l: i32 = mul_i32(k, 65537i32)
  return y, l
}

fun main (x: f32, k: i32, b: bool, h: f16, u: u8) -> (y: f32, l: i32, s: f32, c: bool, g: f16, v: u8) {
  let (y: f32, l0: i32) = apply helper(x, k)
  let l: i32 = quot_i32(l0, -7i32)
  let s: f32 = sin_f32(x)
  let c0: bool = not_bool(b)
  let c: bool = match (k, b) case (1i32, _) {true} case (_, true) {c0} default {b}
  let g: f16 = add_f16(h, h)
  let v: u8 = sub_u8(u, 200u8)
  return y, l, s, c, g, v
}
"""


def test_scalars_of_the_host() -> None:
    text = entry(0, "f32 i32 bool f16 u8", "f32 i32 f32 bool f16 u8") + SCALARS
    cases: list[tuple[Any, ...]] = [
        (np.float32(x), np.int32(k), np.bool_(b), np.float16(h), np.uint8(u))
        for x, k, b, h, u in ((1.5, 1, True, 0.1, 7), (-2, -99999, False, 6e4, 255))
    ]
    check(text, cases, tolerance=1e-6)


HALF = """
fun main (n: i64, xs: [n]f16, bs: [n]bool, k: f16) -> (ys: [n]f16, cs: [n]bool) {
  let (ys: [n]f16, cs: [n]bool) = segmap grid (i < n) -> (f16, bool) {
    let x: f16 = xs[i]
    let b: bool = bs[i]
    let two: [2]f16 = [x, k]: f16
    let at: i64 = convert_bool_i64(b)
    let y: f16 = two[at]
    let z: f16 = mul_f16(y, 0.3f16)
    let c: bool = not_bool(b)
    return returns z, returns c
  }
  return ys, cs
}
"""


def test_halves_and_bools_in_memory() -> None:
    text = entry(1, "[]f16 []bool f16", "[]f16 []bool") + HALF
    cases = []
    for n in (0, 1, 77):
        bools = RANDOM.integers(0, 2, n).astype(bool)
        cases.append((f32(n).astype(np.float16), bools, np.float16(1.25)))
    check(text, cases)


ROAMING = """
fun main (n: i64, m: i64, xs: [n][m]i64) -> (r: [n]i64) {
  let r: [n]i64 = segmap grid (i < n) -> (i64) {
    let row: [m]i64 = xs[i]
    let odd: i64 = mod_i64(i, 2i64)
    let is_odd: bool = eq_i64(odd, 1i64)
    let (k: i64, ys: [k]i64) = if is_odd then {m, row} else {
      let two: i64 = size(2 * m)
      let both: [2 * m]i64 = concat(0, 2 * m, row, row)
      return two, both
    }
    let (l: i64, zs: [l]i64) = loop (l0: i64 = k, z0: [l0]i64 = ys) for s: i64 < 3i64 do {
      let next: i64 = add_i64(l0, 2i64)
      let grown: [next]i64 = segmap thread (j < next) -> (i64) {
        let inside: bool = lt_i64(j, l0)
        let v: i64 = if inside then {
          let old: i64 = z0[j]
          return old
        } else {s}
        let w: i64 = add_i64(v, 1i64)
        return returns w
      }
      return next, grown
    }
    let t: i64 = loop (acc: i64 = l) for j2: i64 < l do {
      let z: i64 = zs[j2]
      let scaled: i64 = mul_i64(acc, 3i64)
      let sum: i64 = add_i64(scaled, z)
      return sum
    }
    return returns t
  }
  return r
}
"""


def test_arrays_whose_size_changes_in_branches_and_loops() -> None:
    text = entry(2, "[][]i64", "[]i64") + ROAMING
    check(
        text, [(i64(*shape),) for shape in ((0, 2), (1, 1), (5, 0), (40, 9), (3, 600))]
    )


REDUCED_TRIANGLE = """
fun main (n: i64, xs: [n]i64) -> (r: i64) {
  let r: i64 = segred grid (i < n) operator commutative(\\(a: i64, b: i64) -> (i64) {
    let c: i64 = add_i64(a, b) return c }, (0i64), []) -> (i64) {
    let k: i64 = add_i64(i, 1i64)
    let part: [k]i64 = xs[0i64 :+ k by 1i64]
    let made: [k]i64 = segmap thread (j < k) -> (i64) {
      let x: i64 = part[j]
      let y: i64 = mul_i64(x, x)
      return returns y
    }
    let last: i64 = made[i]
    return returns last
  }
  return r
}
"""


def test_reductions_over_arrays_of_varying_size() -> None:
    text = entry(1, "[]i64", "i64") + REDUCED_TRIANGLE
    check(text, [(i64(n),) for n in (0, 1, 50)])
