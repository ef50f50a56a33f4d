"""Groups under the CPU schedule, compared with the interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minifut.errors import UsageError
from minifut.ir.dialect import KERNELS
from minifut.ir.interpret import run
from minifut.ir.parser import parse_program
from minifut.ir.verify import verify
from tests.opencl.device_programs import entry, load, load_ir, outcome

pytestmark = pytest.mark.device

PRINTED = Path(__file__).parents[2] / "ir" / "printed"
TILED = (PRINTED / "tiled_matmul.ir").read_text()
STEM = "main.map_map_redomap."
NAMES = [
    STEM + name
    for name in (
        "block_rows",
        "block_columns",
        "block_depth",
        "register_rows",
        "register_columns",
    )
]


def check(text: str, *inputs: list[Any]) -> None:
    """The device gives what the interpreter gives, failures included."""
    program = parse_program(text)
    verify(program, KERNELS)
    instance = load(program, "cpu")
    for given in inputs:
        copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in given]
        expected = outcome(lambda args=copies: run(program, "main", args))
        result = outcome(lambda args=given: instance.main(*args))
        if isinstance(expected, str):
            assert result == expected
            continue
        for got, wanted in zip(result, expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


def integers(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.int32)


# --- sums, scans and histograms of threads --------------------------------------------

ROWS = (
    entry(2, "[][]i32", "[]i32 [][]i32 [][]i32")
    + """
fun main (n: i64, m: i64, xs: [n][m]i32)
    -> (sums: [n]i32, scans: [n][m]i32, hists: [n][5]i32) {
  let (a: [n]i32, b: [n][m]i32, c: [n][5]i32) = segmap group (g < n)
      -> (i32, [m]i32, [5]i32) {
    let s: i32 = segred thread (i < m)
        operator (\\(p: i32, q: i32) -> (i32) {
          let r: i32 = add_i32(p, q)
          return r }, (0i32), []) -> (i32) {
      let x: i32 = xs[g, i]
      return returns x
    }
    let (scanned: [m]i32, negated: [m]i32) = segscan thread (i_1 < m)
        operator (\\(p_1: i32, q_1: i32) -> (i32) {
          let r_1: i32 = max_i32(p_1, q_1)
          return r_1 }, (-100i32), []) -> (i32, i32) {
      let x_1: i32 = xs[g, i_1]
      let y: i32 = sub_i32(s, x_1)
      return returns y, returns x_1
    }
    let zeros: [5]i32 = replicate([5], 0i32)
    let hist: [5]i32 = seghist thread (i_2 < m)
        bins ([5], (zeros), (0i32), \\(p_2: i32, q_2: i32) -> (i32) {
          let r_2: i32 = add_i32(p_2, q_2)
          return r_2 }, []) -> (i64, i32) {
      let x_2: i32 = negated[i_2]
      let at: i64 = convert_i32_i64(x_2)
      return returns at, returns 1i32
    }
    return returns s, returns scanned, returns hist
  }
  return a, b, c
}
"""
)


def test_threads_reduce_scan_and_count() -> None:
    check(ROWS, [integers((3, 7))], [integers((70, 1))], [integers((0, 4))],
          [integers((4, 0))])  # fmt: skip


SEGMENTS = (
    entry(2, "[][]f64", "[]f64")
    + """
fun main (n: i64, m: i64, xs: [n][m]f64) -> (result: [n]f64) {
  let a: [1][n]f64 = segmap group (g < 1) -> ([n]f64) {
    let s: [n]f64 = segred thread (j < n, i < m)
        operator (\\(p: f64, q: f64) -> (f64) {
          let r: f64 = max_f64(p, q)
          return r }, (-100f64), []) -> (f64) {
      let x: f64 = xs[j, i]
      return returns x
    }
    return returns s
  }
  let b: [n]f64 = reshape([n], a)
  return b
}
"""
)


def test_threads_reduce_segments() -> None:
    check(SEGMENTS, [integers((3, 7)).astype(np.float64)],
          [integers((2, 0)).astype(np.float64)])  # fmt: skip


# --- results of groups ----------------------------------------------------------------

TRANSPOSE = (
    entry(2, "[][]i32", "[][]i32")
    + """
fun main (n: i64, m: i64, xs: [n][m]i32) -> (result: [m][n]i32) {
  let t: i64 = get_parameter("main.transpose.block" "tile_size" ("cpu" = 4, "gpu" = 4) bounds 1 64)
  let c: [m][n]i32 = segmap group (gi < ceil_div(m, t), gj < ceil_div(n, t)) -> (i32) {
    let row: i64 = size(gj * t)
    let column: i64 = size(gi * t)
    let part: [t][t]i32 = collective_copy xs[row :+ t by 1i64, column :+ t by 1i64]
    let turned: [t][t]i32 = segmap thread (i < t, j < t) -> (i32) {
      let x: i32 = part[j, i]
      return returns x
    }
    return tile turned of (m by t, n by t)
  }
  return c
}
"""
)


def test_tiles_are_put_where_they_belong() -> None:
    check(TRANSPOSE, [integers((4, 8))], [integers((5, 3))], [integers((0, 3))],
          [integers((9, 13))])  # fmt: skip


WRITES = (
    entry(1, "[]i64 []i32", "[]i32")
    + """
fun main (n: i64, at: [n]i64, to: *[n]i32) -> (result: [n]i32) {
  let c: [n]i32 = segmap group (g < n) -> (i32) {
    let i: i64 = collective_copy at[g]
    let v: i32 = convert_i64_i32(g)
    return writes to [n] with ((i) = v)
  }
  return c
}
"""
)


def test_groups_write_at_indices() -> None:
    check(WRITES, [np.array([2, -1, 0, 9]), np.full(4, 7, np.int32)])


REVERSED = (
    entry(2, "[][]i32 i64", "[][]i32")
    + """
fun main (n: i64, m: i64, xs: [n][m]i32, far: i64) -> (result: [n][9]i32) {
  let c: [n][9]i32 = segmap group (g < n) -> ([9]i32) {
    let part: [9]i32 = collective_copy xs[g, far :+ 9 by -2i64]
    return returns part
  }
  return c
}
"""
)


def test_copies_repeat_the_edge_in_any_direction() -> None:
    check(REVERSED, [integers((2, 30)), 20], [integers((2, 5)), 20],
          [integers((2, 5)), -3], [integers((3, 0)), 0])  # fmt: skip


FAILING = (
    entry(1, "[]i32", "[]i32")
    + """
fun main (n: i64, xs: [n]i32) -> (result: [n]i32) {
  let c: [n]i32 = segmap group (g < n) -> (i32) {
    let part: [1]i32 = collective_copy xs[g :+ 1 by 1i64]
    let y: [1]i32 = segmap thread (i < 1) -> (i32) {
      let x: i32 = part[i]
      let good: bool = ne_i32(x, 0i32)
      let () = assert(good, ["zero at ", g], ["here"])
      let q: i32 = div_i32(12i32, x)
      return returns q
    }
    let z: i32 = y[0i64]
    return returns z
  }
  return c
}
"""
)


def test_threads_may_fail() -> None:
    check(FAILING, [np.array([1, -2, 3], np.int32)], [np.array([1, 0, 3], np.int32)])


# --- tile sizes -----------------------------------------------------------------------

SIZES = [
    (1, 1, 1, 1, 1),
    (2, 2, 3, 2, 3),
    (3, 1, 8, 1, 4),
    (2, 3, 5, 3, 16),
    (1, 2, 7, 4, 24),
    (42, 8, 256, 6, 64),
]


@pytest.mark.sweep
@pytest.mark.parametrize("sizes", SIZES)
def test_any_tile_size_will_do(sizes: tuple[int, ...]) -> None:
    instance = load_ir(TILED, "cpu", dict(zip(NAMES, sizes, strict=True)))
    for n, m, p in [
        (5, 7, 9),
        (8, 8, 8),
        (13, 1, 3),
        (0, 3, 4),
        (3, 0, 4),
        (70, 9, 99),
    ]:
        a = integers((n, m)).astype(np.float32)
        b = integers((m, p), 2).astype(np.float32)
        np.testing.assert_array_equal(instance.main(a, b), a @ b)


def test_tiles_may_be_as_large_as_the_local_memory_of_the_device() -> None:
    """A row of 64 columns is copied for each step; what is larger is refused."""
    instance = load_ir(TILED, "cpu")
    most = instance.session.device.local_memory // 4
    depth = min(most // 64, 4096)
    instance.set_parameters({STEM + "block_depth": depth})
    a, b = integers((20, 30)).astype(np.float32), integers((30, 40)).astype(np.float32)
    np.testing.assert_array_equal(instance.main(a, b), a @ b)
    with pytest.raises(UsageError, match=f"local memory .*block_depth={depth}"):
        instance.main(a, np.zeros((30, most // depth + 66), np.float32))


def test_a_tile_size_builds_only_its_kernels_again() -> None:
    instance = load_ir(TRANSPOSE, "cpu")
    xs = integers((9, 13))
    np.testing.assert_array_equal(instance.main(xs), xs.T)
    before = instance.run.kernels
    instance.set_parameters({"main.transpose.block": 3})
    np.testing.assert_array_equal(instance.main(xs), xs.T)
    assert all(
        old is not new for old, new in zip(before, instance.run.kernels, strict=True)
    )
    before = instance.run.kernels
    instance.set_parameters({"main.transpose.block": 3})
    assert instance.run.kernels == before
