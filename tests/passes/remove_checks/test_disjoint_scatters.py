"""Scatters one after the other: those that never write to one place become one, and
every program means what it did."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.ir.soacs import Scatter
from minifut.ir.traverse import walk
from tests.passes.meaning import assert_same, outcome
from tests.passes.remove_checks.test_removal import before_and_after

HEAD = "entry main [n] (k: i64) (xs: [n]i32) ="


def chain(first: str, second: str, size: str = "2 * n", width: str = "n") -> str:
    """Two scatters of `width` elements into the same array."""
    return f"""{HEAD}
      let w = {width}
      let points = tabulate w (\\j -> ({first}, {second}, i32.i64 j, -1 - i32.i64 j))
      let (is, js, ys, zs) = unzip4 points
      in scatter (scatter (replicate ({size}) 0i32) is ys) js zs"""


def wide_step(count: str) -> str:
    """Blocks of 2^3 elements, each written by two halves."""
    low = f"(j / {count}) * {count} * 2 + j % {count}"
    return chain(low, f"{low} + {count}")


JOINED = {
    "interleaved": chain("2 * j", "2 * j + 1"),
    "every third": chain("3 * j + 2", "3 * j", "3 * n"),
    "halves": chain("j", "j + n"),
    "lower half second": chain("j + n", "j"),
    "backwards": chain("j", "2 * n - 1 - j"),
    "blocks of eight": wide_step("8"),
    "blocks by shifts": f"""{HEAD}
      loop ys = map i64.i32 xs for i < 3 do
        let s = 1 << i
        let m = n / 2
        let (is, js, a, b) = unzip4 (tabulate m (\\j ->
          let d = (j / s) * s * 2 + j % s in (d, d + s, ys[j], ys[j + m])))
        in scatter (scatter (replicate n 0) is a) js b""",
    "values of two maps": f"""{HEAD}
      let at = map (\\j -> 2 * j) (iota n)
      let one = scatter (replicate (2 * n) 0) at (map (+ 1) xs)
      in scatter one (map (\\j -> 2 * j + 1) (iota n)) (map (* 3) xs)""",
    "three": f"""{HEAD}
      let one = scatter (replicate (3 * n) 0) (map (* 3) (iota n)) xs
      let two = scatter one (map (\\j -> 3 * j + 1) (iota n)) xs
      in scatter two (map (\\j -> 3 * j + 2) (iota n)) (map (+ 1) xs)""",
}

APART = {
    "the same places": chain("j", "j"),
    "neighbours": chain("j", "j + 1"),
    "other strides": chain("2 * j", "3 * j", "3 * n"),
    "backwards into the middle": chain("j", "2 * n - 2 - j"),
    "unknown distance": chain("2 * j", "2 * j + k"),
    "blocks of unknown size": wide_step("(k | 1)"),
    "may wrap": chain("k * (2 * j)", "k * (2 * j) + 1"),
    "too far apart": chain("2 * j", "2 * j + 3", "2 * n + 3"),
    "other width": f"""{HEAD}
      let m = i64.max 0 (n - 1)
      let one = scatter (replicate (2 * n) 0) (map (* 2) (iota n)) xs
      in scatter one (map (\\j -> 2 * j + 1) (iota m)) (replicate m 7i32)""",
}


def scatters(program: object) -> int:
    return sum(isinstance(node, Scatter) for node in walk(program))


@pytest.mark.parametrize("name", [*JOINED, *APART])
def test_scatters_are_joined_only_if_their_order_does_not_matter(name: str) -> None:
    text = (JOINED | APART)[name]
    before, after = before_and_after(text)
    assert scatters(before) > 1
    assert scatters(after) == (1 if name in JOINED else scatters(before))
    for n in (0, 1, 2, 5, 8, 16):
        for k in (0, 1, 3, -1, 2**62):
            given = [np.int64(k), np.arange(1, n + 1, dtype=np.int32)]
            assert_same(outcome(before, given), outcome(after, given), text)


def test_a_scatter_whose_result_is_read_stays() -> None:
    text = f"""{HEAD}
      let one = scatter (replicate (2 * n) 0) (map (* 2) (iota n)) xs
      let sum = i32.sum one
      in (sum, scatter one (map (\\j -> 2 * j + 1) (iota n)) xs)"""
    before, after = before_and_after(text)
    given = [np.int64(0), np.arange(5, dtype=np.int32)]
    assert_same(outcome(before, given), outcome(after, given), text)
