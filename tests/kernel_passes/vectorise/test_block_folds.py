"""Folds that keep the order, over chunks of which each lane has a block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from tests.lowering.segred.test_selections import explained

TEXT = """
entry least [n] (xs: [n]f32) (ys: [n]i32) =
  reduce (\\(a, b) (c, d) -> if a < c || (a == c && b < d) then (a, b) else (c, d))
         (f32.inf, i32.highest) (zip xs ys)
entry last [n] (xs: [n]f32) = reduce (\\a b -> if b != 0 then b else a) 0 xs
entry product [n] (xs: [n]u32) =
  reduce (\\(a, b, c, d) (e, f, g, h) ->
            (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h))
         (1, 0, 0, 1) (map (\\x -> (x, 1, 1, 0)) xs)
entry ascending [n] (xs: [n]f64) =
  let join (f1, l1, ok1, e1) (f2, l2, ok2, e2) =
    if e1 then (f2, l2, ok2, e2)
    else if e2 then (f1, l1, ok1, e1)
    else (f1, l2, ok1 && ok2 && l1 <= f2, false)
  in (reduce join (0, 0, true, true) (map (\\x -> (x, x, true, false)) xs)).2
"""
SIZES = (0, 1, 63, 64, 300, 5000, 1 << 17, (1 << 17) + 77)


def _product(xs: Any) -> tuple[int, ...]:
    a, b, c, d = 1, 0, 0, 1
    for x in map(int, xs):
        a, b, c, d = (a * x + b) % 2**32, a, (c * x + d) % 2**32, c
    return a, b, c, d


@pytest.mark.device
@pytest.mark.parametrize("n", SIZES)
def test_the_order_is_kept(n: int) -> None:
    program = minifut.compile(TEXT, schedule="cpu")
    random = np.random.default_rng(n)
    xs = random.integers(-40, 40, n).astype(np.float32)
    ys = random.permutation(n).astype(np.int32)
    first = np.lexsort((ys, xs))[:1]
    least = (*xs[first], *ys[first]) if n else (np.inf, 2**31 - 1)
    assert program.least(xs, ys) == least
    xs[n - n // 3 :] = 0
    kept = xs[xs != 0]
    assert program.last(xs) == (kept[-1] if len(kept) else 0)
    words = random.integers(0, 9, n).astype(np.uint32)
    assert program.product(words) == _product(words)
    rising = np.cumsum(random.random(n))
    assert program.ascending(rising)
    if n > 1:
        at = int(random.integers(1, n))
        rising[at] = rising[at - 1] - 1
        assert not program.ascending(rising)


def test_points_that_are_loaded_longer_are_no_blocks() -> None:
    assert "lines > 0L" in explained(
        "\\(a, i) (b, j) -> if b > a then (b, i) else (a, j)"
    )
    assert "lines > 0L" not in explained("\\(a, i) (b, j) -> (b, i + j)")
