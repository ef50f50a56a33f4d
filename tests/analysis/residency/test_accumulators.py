"""Which register tiles have the place of a result."""

from __future__ import annotations

import pytest

from minifut.analysis.residency.accumulators import AccumulatorChain, accumulator_chains
from minifut.ir.kernels import KernelBody, SegMap
from minifut.ir.parser import parse_program
from minifut.ir.traverse import walk

GROUP = """
fun main (n: i64, m: i64) -> (r: [n]f32, q: [n]f32) {
  let (r: [n]f32, q: [n]f32) = segmap group (g < ceil_div(n, 4 * 2)) -> (f32, f32) {
    let zeros: [4][2]f32 = segmap thread (x < 4) -> ([2]f32) {
      let z: [2]f32 = segmap register (j < 2) -> (f32) {
        return returns 0f32
      }
      return returns z
    }
    let sums: [4][2]f32 = loop (sums_1: [4][2]f32 = zeros) for k: i64 < m do {
      let sums_2: [4][2]f32 = segmap thread (x_1 < 4) -> ([2]f32) {
        let own: [2]f32 = segmap register (j_1 < 2) -> (f32) {
          let s: f32 = sums_1[x_1, j_1]
          let t: f32 = add_f32(s, 1f32)
          return returns t
        }
        return returns own
      }
      return sums_2
    }
    let twice: [4][2]f32 = segmap thread (x_2 < 4) -> ([2]f32) {
      let d: [2]f32 = segmap register (j_2 < 2) -> (f32) {
        let s_1: f32 = sums[x_2, j_2]
        let t_1: f32 = add_f32(s_1, s_1)
        return returns t_1
      }
      return returns d
    }
    let again: [4][2]f32 = segmap thread (x_3 < 4) -> ([2]f32) {
      let e: [2]f32 = segmap register (j_3 < 2) -> (f32) {
        let s_2: f32 = OTHER[x_3, j_3]
        let t_2: f32 = mul_f32(s_2, 3f32)
        return returns t_2
      }
      return returns e
    }
    let other: [4][2]f32 = segmap thread (x_4 < 4) -> ([2]f32) {
      let o: [2]f32 = segmap register (j_4 < 2) -> (f32) {
        return returns 1f32
      }
      return returns o
    }
    return regtile FIRST of (n by 4 by 2), regtile SECOND of (n by 4 by 2)
  }
  return r, q
}
"""


def found(other: str, first: str, second: str) -> list[set[str]]:
    text = GROUP.replace("OTHER", other)
    text = text.replace("FIRST", first).replace("SECOND", second)
    program = parse_program(text)
    (body,) = (
        node.body
        for node in walk(program)
        if isinstance(node, SegMap) and node.level.kind == "group"
    )
    assert isinstance(body, KernelBody)
    return [names(chain) for chain in accumulator_chains(body)]


def names(chain: AccumulatorChain) -> set[str]:
    return {str(name) for name in chain.names}


SUMS = {"zeros", "sums", "sums_1", "sums_2"}


@pytest.mark.parametrize(
    ("other", "first", "second", "expected"),
    [
        ("zeros", "twice", "again", [{"twice"}, {"again"}]),
        ("twice", "again", "other", [SUMS | {"twice", "again"}, {"other"}]),
        ("sums", "again", "other", [SUMS | {"again"}, {"other"}]),
        ("sums", "twice", "again", [{"twice"}, SUMS | {"again"}]),
        ("sums", "again", "twice", [SUMS | {"again"}, {"twice"}]),
        ("twice", "again", "zeros", [{"again"}]),
        ("twice", "again", "sums", [{"again"}, SUMS]),
        ("zeros", "sums", "again", [{"again"}]),
        ("twice", "again", "again", []),
    ],
)
def test_tiles_have_the_place_of_a_result_until_something_else_needs_them(
    other: str, first: str, second: str, expected: list[set[str]]
) -> None:
    assert found(other, first, second) == expected
