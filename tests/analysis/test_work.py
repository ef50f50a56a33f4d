"""Bounds of the work of operations."""

from __future__ import annotations

import pytest

from minifut.analysis.work import work_of
from minifut.ir.parser import parse_program

MAP = """
fun main(n: i64, m: i64, k: i64, xs: [n]i64, yss: [n][m]i64) -> (r: [n]i64) {
  let r: [n]i64 = segmap grid (i < n) -> (i64) {
    BODY
    return returns y
  }
  return r
}"""

CASES = {
    "let x: i64 = xs[i] let y: i64 = mul_i64(x, x)": "3 * n",
    "let x: i64 = xs[i] let y: i64 = div_i64(k, x)": "18 * n",
    # an index variable counts as the size of its dimension
    """let y: i64 = loop (a: i64 = 0i64) for j: i64 < i do {
      let b: i64 = add_i64(a, j) return b }""": "3 * n * n + n",
    # a size that falls with an index variable is at most what it falls from
    """let d: i64 = size(n - i)
    let y: i64 = loop (a: i64 = 0i64) for j: i64 < d do {
      let b: i64 = add_i64(a, j) return b }""": "3 * n * n + 2 * n",
    # the more expensive branch
    """let c: bool = lt_i64(i, k)
    let y: i64 = if c then { let z: i64 = add_i64(k, i) return z } else { return k }""": (
        "4 * n"
    ),
    """let ys: [m]i64 = yss[i]
    let y: i64 = redomap(m, (ys), reduce(\\(a: i64, b: i64) -> (i64) {
        let c: i64 = add_i64(a, b) return c }, (0i64)),
      \\(e: i64) -> (i64) { return e })""": "4 * m * n + 2 * n",
    # an update writes one element, whatever array it is of
    """let z: [m]i64 = scratch(i64, [m])
    let zs: [m]i64 = loop (a: [m]i64 = z) for j: i64 < m do {
      let b: [m]i64 = a with [j] = k return b }
    let y: i64 = zs[i]""": "3 * m * n + 3 * n",
}
"""statements of a body, and the work of a map over n points with it"""

UNBOUNDED = [
    # a bound that is loaded
    """let x: i64 = xs[i]
    let y: i64 = loop (a: i64 = 0i64) for j: i64 < x do {
      let b: i64 = add_i64(a, j) return b }""",
    # one that data subtract from
    """let x: i64 = xs[i]
    let d: i64 = size(n - x)
    let y: i64 = loop (a: i64 = 0i64) for j: i64 < d do {
      let b: i64 = add_i64(a, j) return b }""",
    # one that an index is subtracted from, of two that are compared twice
    """let d: i64 = size(max(0, max(k - i, 1) + k))
    let y: i64 = loop (a: i64 = 0i64) for j: i64 < d do {
      let b: i64 = add_i64(a, j) return b }""",
    """let c: bool = lt_i64(i, k)
    let (y: i64, z: bool) = loop (a: i64 = 0i64, b: bool = c) while b do {
      let d: i64 = add_i64(a, 1i64)
      let e: bool = lt_i64(d, k)
      return d, e }""",
]


@pytest.mark.parametrize(("body", "expected"), CASES.items())
def test_work_is_a_polynomial_of_sizes(body: str, expected: str) -> None:
    function = parse_program(MAP.replace("BODY", body)).functions[0]
    assert str(work_of(function.body.statements[0].exp)) == expected


@pytest.mark.parametrize("body", UNBOUNDED)
def test_loops_that_depend_on_data_have_no_bound(body: str) -> None:
    function = parse_program(MAP.replace("BODY", body)).functions[0]
    assert work_of(function.body.statements[0].exp) is None
