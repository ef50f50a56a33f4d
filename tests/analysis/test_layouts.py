"""Orders of arrays that cross branches and loops."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.analysis.in_place import in_place_updates
from minifut.analysis.layouts import find_layouts
from minifut.ir.parser import parse_program
from tests.opencl.device_programs import check, entry

TEXT = (
    entry(2, "[][]i32 i64 bool", "[][]i32")
    + """
fun main (n: i64, m: i64, xs: [n][m]i32, rounds: i64, c: bool) -> (r: [m][n]i32) {
  let doubled: [n][m]i32 = segmap grid (i < n, j < m) -> (i32) {
    let x: i32 = xs[i, j]
    let y: i32 = add_i32(x, x)
    return returns y
  }
  let start: [m][n]i32 = rearrange((1, 0), doubled)
  let r: [m][n]i32 = loop (acc: [m][n]i32 = start) for k: i64 < rounds do {
    let turned: [n][m]i32 = rearrange((1, 0), acc)
    let chosen: [n][m]i32 = if c then {
      let more: [n][m]i32 = segmap grid (i1 < n, j1 < m) -> (i32) {
        let x1: i32 = turned[i1, j1]
        let y1: i32 = add_i32(x1, 1i32)
        return returns y1
      }
      return more
    } else {
      let last: i64 = sub_i64(m, 1i64)
      let reversed: [n][m]i32 = turned[0i64 :+ n by 1i64, last :+ m by -1i64]
      return reversed
    }
    let next: [m][n]i32 = rearrange((1, 0), chosen)
    return next
  }
  return r
}
"""
)


def test_results_of_kernels_and_branches_lie_row_major() -> None:
    """So that a view of one is passed as it is, not copied in each round."""
    program = parse_program(TEXT)
    (main,) = program.functions
    found = find_layouts(main, in_place_updates(main))
    orders = {name.base: order for name, order in found.carried.items()}
    assert orders == {"acc": (1, 0), "r": (1, 0)}


@pytest.mark.device
def test_loops_over_views_give_what_the_interpreter_gives() -> None:
    xs = np.arange(15, dtype=np.int32).reshape(3, 5)
    check(TEXT, [(xs, np.int64(k), np.bool_(c)) for k in (0, 1, 3) for c in (0, 1)])
