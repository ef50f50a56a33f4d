"""What the host must know of what a step of its loop computes."""

from __future__ import annotations

import pytest

from minifut.analysis.host_needs import host_needs
from minifut.ir.core import Loop
from minifut.ir.parser import parse_program

PROGRAM = """
fun main(n: i64, xs: [n]i64) -> (r: [n]i64) {
  let s: i64 = redomap(n, (xs), reduce(\\(x: i64, y: i64) -> (i64) {
    let z: i64 = add_i64(x, y) return z }, (0i64)), \\(x: i64) -> (i64) {x})
  let t: i64 = mul_i64(s, s)
  BODY
  return ys
}"""


@pytest.mark.parametrize(
    ("body", "needed"),
    [
        # an operand of the function of a map, also by what is computed from it
        ("""let ys: [n]i64 = map(n, (xs), \\(a: i64) -> (i64) {
              let b: i64 = add_i64(a, t) return b })""", False),
        # a condition, an index and the bound of a loop within it
        ("""let ys: [n]i64 = map(n, (xs), \\(a: i64) -> (i64) {
              let c: bool = lt_i64(a, t)
              let b: i64 = if c then {
                let e: i64 = xs[s] return e } else {t}
              return b })""", False),
        # the size of an array within it, which memory is allocated by
        ("""let ys: [n]i64 = map(n, (xs), \\(a: i64) -> (i64) {
              let is: [t]i64 = replicate([t], 0i64)
              let b: i64 = is[0i64] return b })""", True),
        # a size, an index and a condition of the host
        ("""let zs: [t]i64 = replicate([t], 0i64)
            let ys: [n]i64 = map(n, (xs), \\(a: i64) -> (i64) {
              let b: i64 = zs[a] return b })""", True),
        ("let ys: [n]i64 = xs with [t] = n", True),
        ("""let c: bool = lt_i64(t, n)
            let ys: [n]i64 = if c then {xs} else {
              let zs: [n]i64 = replicate([n], 0i64) return zs }""", True),
        # what a loop of the host begins with
        ("""let (ys: [n]i64, u: i64) = loop (as: [n]i64 = xs, v: i64 = t)
              for k: i64 < n do {return as, v}""", True),
    ],
)  # fmt: skip
def test_the_host_needs_a_sum(body: str, needed: bool) -> None:
    program = parse_program(PROGRAM.replace("BODY", body))
    found = {name.base for name in host_needs(program.functions[0].body)}
    assert ("s" in found, "t" in found) == (needed, needed)
    assert "n" in found


LOOP = """
fun main(n: i64, xs: [n]i64) -> (ys: [n]i64, u: i64) {
  let (ys: [n]i64, u: i64) = loop (as: [n]i64 = xs, v: i64 = n) for k: i64 < n do {
    let s: i64 = redomap(n, (as), reduce(\\(x: i64, y: i64) -> (i64) {
      let z: i64 = add_i64(x, y) return z }, (0i64)), \\(x: i64) -> (i64) {x})
    let t: i64 = mul_i64(s, s)
    BODY
    return bs, t
  }
  return ys, u
}"""


@pytest.mark.parametrize(
    ("body", "needed"),
    [
        # a kernel of the next iteration takes it
        ("""let bs: [n]i64 = map(n, (as), \\(a: i64) -> (i64) {
              let b: i64 = add_i64(a, v) return b })""", False),
        # the host decides by it in the next iteration
        ("""let c: bool = lt_i64(v, n)
            let bs: [n]i64 = if c then {as} else {xs}""", True),
    ],
)  # fmt: skip
def test_the_host_needs_what_a_loop_hands_on(body: str, needed: bool) -> None:
    program = parse_program(LOOP.replace("BODY", body))
    loop = program.functions[0].body.statements[0].exp
    assert isinstance(loop, Loop)
    found = {name.base for name in host_needs(loop)}
    assert ("s" in found, "t" in found) == (needed, needed)
