"""Which arrays of tiles are accumulators, and which initialisations are deferred."""

from __future__ import annotations

import pytest

from minifut.analysis.residency.accumulators import AccumulatorChain, accumulator_chains
from minifut.analysis.residency.distributed import register_arrays
from minifut.ir.kernels import KernelBody, SegMap
from minifut.ir.parser import parse_program
from minifut.ir.sizes import Size
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
    return [names(chain) for chain in accumulator_chains(group_body(text))]


def group_body(text: str) -> KernelBody:
    program = parse_program(text)
    (body,) = (
        node.body
        for node in walk(program)
        if isinstance(node, SegMap) and node.level.kind == "group"
    )
    assert isinstance(body, KernelBody)
    return body


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
def test_accumulators_share_a_result_until_something_else_reads_it(
    other: str, first: str, second: str, expected: list[set[str]]
) -> None:
    assert found(other, first, second) == expected


SEEN = """
    let seen: [4][2]f32 = segmap thread (x_9 < 4) -> ([2]f32) {
      let c: [2]f32 = segmap register (j_9 < 2) -> (f32) {
        let s_9: f32 = zeros[x_9, j_9]
        return returns s_9
      }
      return returns c
    }
    let sums: [4][2]f32 = loop"""


@pytest.mark.parametrize("is_read", [False, True])
def test_an_initialisation_that_threads_read_is_not_deferred(is_read: bool) -> None:
    text = GROUP.replace("OTHER", "twice")
    text = text.replace("FIRST", "again").replace("SECOND", "other")
    if is_read:
        text = text.replace("\n    let sums: [4][2]f32 = loop", SEEN)
    chain = next(c for c in accumulator_chains(group_body(text)) if "sums" in names(c))
    constants = {str(name): c.value for name, c in chain.constants.items()}
    assert constants == ({} if is_read else {"zeros": 0.0})


def test_arrays_distributed_over_threads() -> None:
    body = group_body(
        GROUP.replace("OTHER", "sums")
        .replace("FIRST", "again")
        .replace("SECOND", "sums")
    )
    partly = register_arrays(body, lambda sizes: True)
    assert "sums" not in {str(name) for name in partly.distributed}, "read in parts"
    whole = group_body(WHOLE)
    found = register_arrays(whole, lambda sizes: True)
    assert {str(name) for name in found.distributed} == {"acc", "acc_1", "acc_2", "r"}
    assert found.group == Size.constant(4)
    assert not register_arrays(whole, lambda sizes: False).distributed


WHOLE = """
fun main (n: i64, m: i64) -> (out: [n]f32) {
  let out: [n]f32 = segmap group (g < ceil_div(n, 4)) -> (f32) {
    let acc: [4]f32 = segmap thread (x < 4) -> (f32) {
      return returns 0f32
    }
    let r: [4]f32 = loop (acc_1: [4]f32 = acc) for k: i64 < m do {
      let acc_2: [4]f32 = segmap thread (x_1 < 4) -> (f32) {
        let s: f32 = acc_1[x_1]
        let t: f32 = add_f32(s, 1f32)
        return returns t
      }
      return acc_2
    }
    return tile r of (n by 4)
  }
  return out
}
"""
