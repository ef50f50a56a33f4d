"""The cost of an iteration of a loop of the host."""

from __future__ import annotations

import pytest

from minifut.analysis.steps import step_of
from minifut.ir.core import Loop
from minifut.ir.parser import parse_program
from minifut.ir.traverse import walk

PROGRAM = """
fun main(n: i64, m: i64, f: [n]i64, xs: [n]i64) -> (r: [n]i64) {
  let r: [n]i64 = loop (a: [n]i64 = xs) for k: i64 < n do {
    BODY
    return b
  }
  return r
}"""

SQUARE = "{ let y: i64 = mul_i64(x, x) return y }"
BRANCH = (
    "{ let c: bool = lt_i64(x, 0i64) let y: i64 = if c then {x} else {x} return y }"
)
SUM = """redomap(n, (a), reduce(\\\\(x: i64, y: i64) -> (i64) {
      let z: i64 = add_i64(x, y) return z }, (0i64)), \\\\(x: i64) -> (i64) {x})"""

CASES = {
    # an operator on 64 bits and its result, in vectors
    f"let b: [n]i64 = map(n, (a), \\\\(x: i64) -> (i64) {SQUARE})": ("4 * n", "1"),
    # a comparison and a branch, one element after the other
    f"let b: [n]i64 = map(n, (a), \\\\(x: i64) -> (i64) {BRANCH})": (
        "12 * n",
        "1",
    ),
    # a branch by a bound that the device has divides the points: the heavier side
    f"""let b: [n]i64 = map(n, (xs), \\\\(x: i64) -> (i64) {{
      let v: i64 = f[0i64]
      let c: bool = lt_i64(x, v)
      let y: i64 = if c then {{x}} else {SQUARE}
      return y }})""": ("8 * n", "1"),
    # a rotated position, without a division
    """let b: [n]i64 = map(n, (xs), \\(x: i64) -> (i64) {
      let j: i64 = add_i64(x, k)
      let r: i64 = mod_i64(j, n)
      let y: i64 = a[r]
      return y })""": ("8 * n", "1"),
    # folds that branch, in lanes
    """let b: [n]i64 = map(n, (a), \\(y: i64) -> (i64) {
      let s: i64 = redomap(n, (xs), reduce(\\(x: i64, y: i64) -> (i64) {
        let c: bool = lt_i64(x, y) let z: i64 = if c then {y} else {x} return z
      }, (0i64)), \\(x: i64) -> (i64) {x}) return s })""": (
        "8 * n * n + 2 * n",
        "1",
    ),
    # n - k on average, and the one element that is read and written
    f"""let d: i64 = size(n - k)
    let part: [d]i64 = a[0i64 :+ d by 1i64]
    let ys: [d]i64 = map(d, (part), \\\\(x: i64) -> (i64) {SQUARE})
    let y: i64 = ys[0i64]
    let b: [n]i64 = a with [k] = y""": ("2 * n + 4", "14"),
    # what is no polynomial in k is bounded: n - k by n
    """let d: i64 = size(n - k)
    let b: [n]i64 = map(n, (a), \\\\(x: i64) -> (i64) {
      let c: bool = lt_i64(x, 0i64)
      let y: i64 = if c then {x} else {
        let s: i64 = loop (t: i64 = x) for j: i64 < d do {
          let u: i64 = add_i64(t, j) return u }
        return s }
      return y })""": ("4 * n * max(1, 3 * n + 1) + 8 * n + 1", "1"),
    # the commands of a loop inside count as often as it goes round
    f"""let b: [n]i64 = loop (c: [n]i64 = a) for j: i64 < k do {{
      let e: [n]i64 = map(n, (c), \\\\(x: i64) -> (i64) {SQUARE})
      return e
    }}""": ("2 * n * n", "floor_div(n, 2)"),
    # how often it goes round is loaded: one element is written at least
    """let d: i64 = f[k]
    let b: [n]i64 = loop (c: [n]i64 = a) for j: i64 < d do {
      let e: [n]i64 = c with [j] = k return e }""": ("2", "13"),
    # the same of a search
    """let y: i64 = loop (i: i64 = k) while going do {
      let x: i64 = a[i] return x }
    let b: [n]i64 = a with [k] = y""": ("2", "13"),
    # two elements that one wait is for
    """let y: i64 = a[0i64]
    let z: i64 = a[1i64]
    let b: [n]i64 = replicate([n], y)""": ("n + 2", "13"),
    # the sum is waited for, and read with it what was there before
    """let s: i64 = redomap(n, (a), reduce(\\\\(x: i64, y: i64) -> (i64) {
      let z: i64 = add_i64(x, y) return z }, (0i64)), \\\\(x: i64) -> (i64) {x})
    let t: i64 = a[0i64]
    let b: [n]i64 = replicate([n], s)""": ("5 * n + 1", "14"),
    # the kernel of the map loads the sum, and computes with it
    f"""let s: i64 = {SUM}
    let t: i64 = mul_i64(s, k)
    let b: [n]i64 = map(n, (a), \\\\(x: i64) -> (i64) {{
      let y: i64 = add_i64(x, t) return y }})""": ("8 * n + 1", "3"),
    # the host decides by what it computes from the sum
    f"""let s: i64 = {SUM}
    let t: i64 = mul_i64(s, k)
    let c: bool = lt_i64(t, 0i64)
    let b: [n]i64 = if c then {{
      let d: [n]i64 = map(n, (a), \\\\(x: i64) -> (i64) {{
        let y: i64 = add_i64(x, s) return y }})
      return d }} else {{a}}""": (
        "floor_div(16 * n + max(0, 16 * n) + 8, 4)",
        "14",
    ),
    # elements of 8 bits are a quarter
    """let c: [n]i8 = map(n, (a), \\(x: i64) -> (i8) {
        let y: i8 = convert_i64_i8(x) return y })
    let d: [n]i8 = map(n, (c), \\(x: i8) -> (i8) {
        let y: i8 = mul_i8(x, x)
        let z: i8 = mul_i8(y, x)
        let u: i8 = mul_i8(z, x) return u })
    let b: [n]i64 = a""": ("floor_div(27 * n + 4, 4)", "3"),
    # a stable partition: one command, of what a thread does slowly
    """let (ends: [n]i64, flags: [n]i64) = scanomap(n, (a),
      scan(\\(x: i64, y: i64) -> (i64) {
        let z: i64 = add_i64(x, y) return z }, (0i64)),
      \\(x: i64) -> (i64, i64) { let y: i64 = and_i64(x, 1i64) return y, y })
    let total: i64 = redomap(n, (flags), reduce(\\(x: i64, y: i64) -> (i64) {
      let z: i64 = add_i64(x, y) return z }, (0i64)), \\(x: i64) -> (i64) {x})
    let b: [n]i64 = scatter(n, (flags, ends, a), (xs rank 1 count 1),
      \\(flag: i64, end: i64, x: i64) -> (i64, i64) {
        let c: bool = eq_i64(flag, 0i64)
        let at: i64 = if c then {total} else { let j: i64 = sub_i64(end, 1i64) return j }
        return at, x })""": ("264 * n", "1"),
    # places by a maximum are none
    """let ends: [n]i64 = scanomap(n, (a), scan(\\(x: i64, y: i64) -> (i64) {
        let z: i64 = max_i64(x, y) return z }, (0i64)), \\(x: i64) -> (i64) {x})
    let b: [n]i64 = scatter(n, (ends, a), (xs rank 1 count 1),
      \\(at: i64, x: i64) -> (i64, i64) {at, x})""": ("24 * n", "2"),
    # the branch of an interior, of which the position tells
    """let b: [n]i64 = map(n, (f, a), \\(i: i64, x: i64) -> (i64) {
      let c: bool = lt_i64(i, n)
      let y: i64 = if c then { let v: i64 = mul_i64(x, x) return v } else {
        let u: i64 = mod_i64(x, n) return u }
      return y })""": ("6 * n", "1"),
}


WHILE = """
fun main(n: i64, least: i64, xs: [n]i64) -> (r: [n]i64) {
  let (r: [n]i64, s: i64, k: i64, more: bool) =
    loop (a: [n]i64 = xs, t: i64 = least, k: i64 = 0i64, c: bool = true)
    while c do {
    BODY
    let u: i64 = SUM
    let next: i64 = add_i64(k, 1i64)
    let early: bool = lt_i64(next, 100i64)
    let late: bool = lt_i64(u, least)
    let d: bool = and_bool(early, late)
    return b, u, next, d
  }
  return r
}"""
"""a loop that goes on as long as a sum of `a` is small, and some iterations at most"""
WHILE_CASES = {
    # two kernels and the combination of the sum, in a batch, and the flag
    f"let b: [n]i64 = map(n, (a), \\\\(x: i64) -> (i64) {SQUARE})": (
        "48 * n + 24",
        "11",
    ),
    # the host decides by an element, for which it waits as for the sum
    f"""let m: i64 = a[0i64]
    let h: bool = lt_i64(m, 0i64)
    let b: [n]i64 = if h then {{
      let e: [n]i64 = map(n, (a), \\\\(x: i64) -> (i64) {SQUARE}) return e
      }} else {{a}}""": (
        "floor_div(16 * n + max(0, 16 * n) + 24, 4)",
        "26",
    ),
    # an element that the host writes
    "let b: [n]i64 = a with [0i64] = k": ("4 * n + 5", "14"),
}


def step(body: str, around: str = PROGRAM) -> tuple[str, str] | None:
    text = around.replace("BODY", body).replace("SUM", SUM)
    program = parse_program(text.replace("\\\\", "\\"))
    found = step_of(next(node for node in walk(program) if isinstance(node, Loop)))
    return None if found is None else (str(found.work), str(found.commands))


@pytest.mark.parametrize("body", CASES)
def test_cost_of_a_step(body: str) -> None:
    assert step(body) == CASES[body]


@pytest.mark.parametrize("body", WHILE_CASES)
def test_cost_of_a_step_of_a_loop_that_the_device_ends(body: str) -> None:
    assert step(body, WHILE) == WHILE_CASES[body]


@pytest.mark.parametrize(
    "body",
    [
        # how many kernels there are is loaded
        """let d: i64 = f[k]
        let b: [n]i64 = loop (c: [n]i64 = a) for j: i64 < d do {
          let e: [n]i64 = map(n, (c), \\(x: i64) -> (i64) {x}) return e }""",
        # how large an array is that is made each time
        """let d: i64 = f[k]
        let b: [n]i64 = loop (c: [n]i64 = a) for j: i64 < d do {
          let e: [n]i64 = replicate([n], j) return e }""",
        # nothing is for the device
        "let b: [n]i64 = loop (c: [n]i64 = a) for j: i64 < k do { return c }",
    ],
)
def test_an_unknown_cost(body: str) -> None:
    assert step(body) is None
