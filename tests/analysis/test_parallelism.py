"""Counting parallelism."""

from __future__ import annotations

from minifut.analysis.work import parallelism, whole_parallelism
from minifut.ir.parser import parse_program

TEXT = """
fun main(n: i64, m: i64, xss: [n][m]i64, k: i64) -> (r: [n][m]i64, s: i64) {
  let ys: [n][m]i64 = map(n, (xss), \\(xs: [m]i64) -> ([m]i64) {
    let l: i64 = max_i64(k, k)
    let z: [l]i64 = iota i64 (l, 0i64, 1i64)
    let w: [l]i64 = map(l, (z), \\(a: i64) -> (i64) {
      let b: i64 = add_i64(a, 1i64) return b })
    let y: [m]i64 = map(m, (xs), \\(x: i64) -> (i64) {
      let c: i64 = add_i64(x, k) return c })
    return y })
  let t: i64 = add_i64(k, 2i64)
  return ys, t
}"""


def test_parallelism_counts_only_what_is_regular() -> None:
    function = parse_program(TEXT).functions[0]
    soac, other = (statement.exp for statement in function.body.statements)
    assert str(parallelism(soac)) == "n"
    assert str(whole_parallelism(soac)) == "m * n"
    assert str(parallelism(other)) == "1"
