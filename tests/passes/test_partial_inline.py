"""Callers run the last maps of functions where they fuse, and mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.ir.core import Apply, Program
from minifut.ir.dialect import SOACS
from minifut.ir.interpret import run
from minifut.ir.parser import names_after, parse_program
from minifut.ir.search import count_of, nodes_of
from minifut.ir.soacs import Screma
from minifut.ir.verify import verify
from minifut.passes.partial_inline import GROWTH, partial_inline

SMOOTHED = r"""
entry "main" = main sizes 1 ("as" "[]f64" "array" 1) -> ("" "f64" "array" 1)

fun smooth (n: i64, xs: [n]f64) -> (result: [n]f64) {
  let least: i64 = sub_i64(n, 1i64)
  let sums: [n]f64 = scanomap(n, (xs), scan(add_f64, (0f64)), \(v: f64) -> (f64) {v})
  let is: [n]i64 = iota i64 (n, 0i64, 1i64)
  let ys: [n]f64 = map(n, (is, xs), \(i: i64, x: f64) -> (f64) {
    let at: i64 = sub_i64(least, i)
    let other: f64 = sums[at]
    let y: f64 = add_f64(other, x)
    return y
  })
  return ys
}

fun main (m: i64, as: [m]f64) -> (folded: f64) {
  let bs: [m]f64 = apply smooth(m, as)
  let cs: [m]f64 = apply smooth(m, bs)
  let s: f64 = redomap(m, (cs, as), reduce commutative(add_f64, (0f64)), mul_f64)
  return s
}
"""
XS = np.array([1.0, 2.0, 5.0, 7.0])


def after(text: str) -> Program:
    """The program after the pass, which means the same."""
    program = parse_program(text)
    made = partial_inline(program, names_after(program))
    verify(made, SOACS)
    want, got = (run(each, "main", [XS])[0] for each in (program, made))
    np.testing.assert_array_equal(got, want)
    return made


def maps_of(program: Program) -> list[int]:
    """How many SOACs there are in each function."""
    return [count_of(Screma, function) for function in program.functions]


def test_the_last_map_is_fused_with_what_reads_the_result() -> None:
    made = after(SMOOTHED)
    smooth, main = made.functions
    assert maps_of(made) == [1, 2]
    assert [result.type.shape for result in smooth.results] == [
        smooth.results[0].type.shape
    ]
    assert count_of(Apply, main) == 2
    (fold,) = (each for each in nodes_of(Screma, main) if each.reduces)
    assert count_of(Screma, fold.function) == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # nothing reads the result in a SOAC alone
        ("reduce commutative(add_f64, (0f64)), mul_f64)\n  return s",
         "reduce commutative(add_f64, (0f64)), mul_f64)\n"
         "  let first: f64 = cs[0i64]\n  let t: f64 = add_f64(s, first)\n  return t"),
        # its function reads the result itself
        ("  return ys\n", "  let us: [n]f64 = map(n, (ys, sums), add_f64)\n"
         "  let vs: [n]f64 = ys with [0i64 :+ n by 1i64] = us\n  return vs\n"),
        # a number that the host would have to read
        ("sub_i64(n, 1i64)\n  let sums",
         "redomap(n, (xs), reduce commutative(add_i64, (-1i64)), "
         "\\(w: f64) -> (i64) {1i64})\n  let sums"),
        # the map checks
        ("    let other", "    let () = assert(true, [\"no\"], [])\n    let other"),
    ],
)  # fmt: skip
def test_functions_stay_whole(old: str, new: str) -> None:
    assert old in SMOOTHED
    text = SMOOTHED.replace(old, new)
    assert count_of(Screma, after(text)) == count_of(Screma, parse_program(text))


def test_copies_do_not_grow_without_bound() -> None:
    long = "".join(
        f"    let y{i}: f64 = add_f64({'other' if i == 0 else f'y{i - 1}'}, x)\n"
        for i in range(GROWTH)
    )
    text = SMOOTHED.replace(
        "    let y: f64 = add_f64(other, x)\n    return y",
        f"{long}    return y{GROWTH - 1}",
    )
    assert maps_of(after(text)) == maps_of(parse_program(text)) == [2, 1]


TWO = SMOOTHED.replace("(result: [n]f64)", "(result: [n]f64, others: [n]f64)").replace(
    "return ys", "return ys, sums"
).replace("let bs: [m]f64 = apply", "let (bs: [m]f64, ds: [m]f64) = apply").replace(
    "let cs: [m]f64 = apply", "let (cs: [m]f64, es: [m]f64) = apply"
).replace("(cs, as)", "(cs, es)")  # fmt: skip


def test_a_result_that_the_map_reads_is_returned_once() -> None:
    made = after(TWO)
    assert maps_of(made) == [1, 2]
    assert len(made.functions[0].results) == 1
