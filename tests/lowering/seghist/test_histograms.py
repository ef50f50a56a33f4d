"""Histograms under both schedules against the interpreter.

Native atomics, words that are swapped, cells under a lock; in local memory, in global
memory, in private copies.
"""

from __future__ import annotations

from string import Template

import numpy as np
import pytest

import minifut
from tests.opencl.device_programs import check, entry

pytestmark = pytest.mark.device

RANDOM = np.random.default_rng(11)
SIZES = ((0, 3), (1, 1), (5, 0), (3000, 1), (3000, 40), (70, 9000), (9000, 500))
"""elements and bins: few bins, bins beyond local memory, elements for several chunks"""


def numbers(type_: str, *shape: int) -> np.ndarray:
    """Small numbers, so that sums of floats are exact in any order."""
    if type_ == "bool":
        return RANDOM.random(shape) < 0.5
    name = {"i": "int", "u": "uint", "f": "float"}[type_[0]] + type_[1:]
    return RANDOM.integers(0, 4, shape).astype(name)


def bins(count: int, *shape: int) -> np.ndarray:
    """Indices of bins, some out of bounds."""
    return RANDOM.integers(-2, count + 2, shape).astype(np.int64)


ONE_VALUE = Template("""
fun main (n: i64, k: i64, to: [k]$t, is: [n]i64, xs: [n]$t) -> (r: [k]$t) {
  let (r: [k]$t) = seghist grid (i < n)
      bins([k], (to), ($neutral), \\(a: $t, b: $t) -> ($t) {
        let c: $t = ${op}_$t(a, b)
        return c
      }, []) -> (i64, $t) {
    let at: i64 = is[i]
    let x: $t = xs[i]
    return returns at, returns x
  }
  return r
}
""")


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("type_", "op", "neutral"),
    [
        ("i32", "add", "0i32"),
        ("i64", "max", "-9i64"),
        ("f32", "add", "0.0f32"),
        ("f64", "add", "0.0f64"),
        ("i8", "add", "0i8"),
        ("f16", "add", "0.0f16"),
    ],
)
def test_one_value(type_: str, op: str, neutral: str) -> None:
    text = ONE_VALUE.substitute(t=type_, op=op, neutral=neutral)
    line = entry(2, f"[]{type_} []i64 []{type_}", f"[]{type_}")
    cases = [(numbers(type_, k), bins(k, n), numbers(type_, n)) for n, k in SIZES]
    check(line + text, cases)


@pytest.mark.sweep
@pytest.mark.parametrize("cells", [40, 600, 2500])  # four replicas, two, one
@pytest.mark.parametrize("outside", [(), (0,), (19_999,), (7_321, 7_322)])
def test_blocks_of_elements_that_almost_all_hit_a_bin(
    outside: tuple[int, ...], cells: int
) -> None:
    text = ONE_VALUE.substitute(t="i32", op="add", neutral="0i32")
    line = entry(2, "[]i32 []i64 []i32", "[]i32")
    at = RANDOM.integers(0, cells, 20_000).astype(np.int64)
    at[list(outside)] = cells
    check(line + text, [(numbers("i32", cells), at, numbers("i32", 20_000))])


TWO_OPERATORS = Template("""
fun main (n: i64, k: i64, a: [k]f64, p: [k]i64, c: [3][k]u16, is: [n]i64, xs: [n]f64)
    -> (r: [k]f64, s: [k]i64, t: [3][k]u16) {
  let (r: [k]f64, s: [k]i64, t: [3][k]u16) = seghist grid (i < n)
      bins([k], (a, p), (-1.0f64, 99999i64),
        \\(x1: f64, p1: i64, x2: f64, p2: i64) -> (f64, i64) {
          let more: bool = lt_f64(x2, x1)
          let same: bool = eq_f64(x1, x2)
          let before: bool = le_i64(p1, p2)
          let both: bool = and_bool(same, before)
          let first: bool = or_bool(more, both)
          let (x: f64, q: i64) = if first then {x1, p1} else {x2, p2}
          return x, q
        }, [])
      bins([3][k], (c), (0u16), \\(e: u16, f: u16) -> (u16) {
        let g: u16 = add_u16(e, f)
        return g
      }, []) -> (i64, i64, i64, f64, i64, u16) {
    let at: i64 = is[i]
    let x3: f64 = xs[i]
    let row: i64 = rem_i64(i, 4i64)
    let place: i64 = sub_i64(k, at)
    return returns at, returns row, returns place, returns x3, returns i, returns 1u16
  }
  return r, s, t
}
""")


def test_pairs_and_two_operators() -> None:
    """The greatest element of each bin and where it first stands; and counts in bins of
    two dimensions."""
    types = "[]f64 []i64 [][]u16"
    text = entry(2, f"{types} []i64 []f64", types) + TWO_OPERATORS.substitute()
    cases = []
    for n, k in SIZES[:-1]:
        places = RANDOM.integers(-1, max(1, n), k).astype(np.int64)
        given = (numbers("f64", k), places, numbers("u16", 3, k))
        cases.append((*given, bins(k, n), numbers("f64", n)))
    check(text, cases)


SEGMENTS = """
fun main (s: i64, n: i64, k: i64, to: [s][k]i32, is: [s][n]i64, fail: i64)
    -> (r: [s][k]i32) {
  let (r: [s][k]i32) = seghist grid (h < s, i < n)
      bins([k], (to), (0i32), \\(a: i32, b: i32) -> (i32) {
        let c: i32 = add_i32(a, b)
        return c
      }, []) -> (i64, i32) {
    let at: i64 = is[h, i]
    let good: bool = ne_i64(at, fail)
    let () = assert(good, ["bin ", at], ["a.fut:1:1"])
    return returns at, returns 1i32
  }
  return r
}
"""


def test_segments() -> None:
    text = entry(3, "[][]i32 [][]i64 i64", "[][]i32") + SEGMENTS
    cases = []
    shapes = ((0, 1, 2), (2, 0, 3), (3, 4, 0), (300, 7, 5), (3, 5000, 20), (40, 9, 900))
    for s, n, k in shapes:
        places = bins(k, s, n)
        cases += [(numbers("i32", s, k), places, np.int64(f)) for f in (99999, k)]
    check(text, cases)


VECTORS = """
fun main (n: i64, k: i64, v: i64, to: [k][v]f32, is: [n]i64, xs: [n][v]f32)
    -> (r: [k][v]f32) {
  let (r: [k][v]f32) = seghist grid (i < n)
      bins([k], (to), (0.0f32), \\(a: f32, b: f32) -> (f32) {
        let c: f32 = add_f32(a, b)
        return c
      }, [v]) -> (i64, [v]f32) {
    let at: i64 = is[i]
    let x: [v]f32 = xs[i]
    return returns at, returns x
  }
  return r
}
"""

PAIRS = """
fun main (n: i64, k: i64, to: [k][2]i64, is: [n]i64, xs: [n][2]i64)
    -> (r: [k][2]i64) {
  let one: [2]i64 = replicate([2], 1i64)
  let (r: [k][2]i64) = seghist grid (i < n)
      bins([k], (to), (one), \\(a: [2]i64, b: [2]i64) -> ([2]i64) {
        let a0: i64 = a[0i64]
        let a1: i64 = a[1i64]
        let b0: i64 = b[0i64]
        let b1: i64 = b[1i64]
        let c0: i64 = mul_i64(a0, b0)
        let c1: i64 = mul_i64(a1, b1)
        let c: [2]i64 = [c0, c1] : i64
        return c
      }, []) -> (i64, [2]i64) {
    let at: i64 = is[i]
    let x: [2]i64 = xs[i]
    return returns at, returns x
  }
  return r
}
"""


def test_vectors_and_rows() -> None:
    """Values of several elements: combined one by one, or by an operator on arrays."""
    for program, type_ in ((VECTORS, "f32"), (PAIRS, "i64")):
        vector = program is VECTORS
        parameters = f"[][]{type_} []i64 [][]{type_}"
        text = entry(2 + vector, parameters, f"[][]{type_}") + program
        cases = []
        for n, k, v in ((0, 2, 3), (5, 0, 2), (900, 3, 7), (9000, 30, 2)):
            width = v if vector else 2
            given = (numbers(type_, k, width), bins(k, n), numbers(type_, n, width))
            cases.append(given)
        check(text, cases)


SEGMENTS_OF_ROWS = """
fun main (m: i64, n: i64, k: i64, v: i64, to: [m][k][v]f32, us: [m][k][v]i32,
          is: [m][n]i64, xs: [m][n][v]f32, ys: [m][n][v]i32)
    -> (r: [m][k][v]f32, s: [m][k][v]i32) {
  let (r: [m][k][v]f32, s: [m][k][v]i32) = seghist grid (h < m, i < n)
      bins([k], (to), (0.0f32), add_f32, [v])
      bins([k], (us), (-9i32), max_i32, [v]) -> (i64, i64, [v]f32, [v]i32) {
    let at: i64 = is[h, i]
    let other: i64 = sub_i64(at, 1i64)
    let x: [v]f32 = xs[h, i]
    let y: [v]i32 = ys[h, i]
    return returns at, returns other, returns x, returns y
  }
  return r, s
}
"""


def test_cells_of_rows_over_work_items() -> None:
    """Rows shorter and longer than a group, that divide it or not, or empty; bins in
    local and in global memory; with the default sizes, and in small groups."""
    small = {"gpu.hist.group_size": 6, "gpu.hist.copies": 3}
    lists = "[][][]f32 [][][]i32 [][]i64 [][][]f32 [][][]i32"
    text = entry(4, lists, "[][][]f32 [][][]i32") + SEGMENTS_OF_ROWS
    cases = []
    for m, n, k, v in (
        (2, 300, 3, 300),
        (1, 3000, 16, 8),
        (3, 50, 4, 0),
        (2, 300, 3, 1),
        (1, 40, 3000, 5),
        (2, 0, 3, 4),
        (1, 700, 5, 33),
    ):
        cells = [numbers(t, m, k, v) for t in ("f32", "i32")]
        values = [numbers(t, m, n, v) for t in ("f32", "i32")]
        cases.append((*cells, bins(k, m, n), *values))
    check(text, cases, settings=[("gpu", {}), ("gpu", small)])


def test_bins_in_several_passes() -> None:
    program = minifut.compile(
        """
        entry count (k: i64) (is: []i64) = hist (+) 0i32 k is (map (const 1i32) is)
        entry most (k: i64) (is: []i64) (xs: []f32) = hist f32.max f32.lowest k is xs
        """,
        schedule="cpu",
    )
    rng = np.random.default_rng(4)
    places = rng.integers(-3, 1010, 300_000)
    values = rng.random(300_000, dtype=np.float32)
    inside = (places >= 0) & (places < 1000)
    counts = np.bincount(places[inside], minlength=1000)
    greatest = np.full(1000, np.finfo(np.float32).min, np.float32)
    np.maximum.at(greatest, places[inside], values[inside])
    for passes in (1, 2, 7, 1024):
        program.tuning["histogram_passes"] = passes
        np.testing.assert_array_equal(program.count(1000, places), counts)
        np.testing.assert_array_equal(program.most(1000, places, values), greatest)


UNCHANGED = """
entry most [n] (to: *[]f64) (is: [n]i64) (xs: [n]f64) =
  reduce_by_index to f64.max f64.lowest is xs
entry pairs [n] (to: []f64) (is: [n]i64) (xs: [n]f64) =
  reduce_by_index (map (\\y -> (y, 3i8)) to)
    (\\(a, b) (c, d) -> (f64.min a c, b i8.+ d)) (f64.highest, 0) is
    (map (\\x -> (x, 1i8)) xs) |> unzip
entry rows [n] (to: []f64) (is: [n]i64) (xs: [n]f64) =
  reduce_by_index (map (\\y -> [f16.f64 y, 1]) to) (map2 f16.min) [f16.highest, 2] is
    (map (\\x -> [f16.f64 x, f16.nan]) xs)
"""


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_bins_without_updates_keep_their_bits(schedule: str) -> None:
    device = minifut.compile(UNCHANGED, schedule=schedule)
    oracle = minifut.compile(UNCHANGED, backend="sequential")
    for count, elements in ((4, 1), (4, 7), (16, 5000), (3, 70_000), (5000, 9000)):
        to = np.full(count, np.nan)
        to[2:] = -0.0
        given = np.full(elements, 1), np.arange(elements) % 50 + 1.0
        for name in ("most", "pairs", "rows"):
            found = getattr(device, name)(to.copy(), *given)
            wanted = getattr(oracle, name)(to.copy(), *given)
            if not isinstance(found, tuple):
                found, wanted = (found,), (wanted,)
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
                np.testing.assert_array_equal(np.signbit(a[2:]), np.signbit(b[2:]))
