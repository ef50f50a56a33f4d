"""Histograms whose operator keeps a record or takes another: the same results."""

from __future__ import annotations

import numpy as np
import pytest

import minifut

OPERATORS = {
    "the least": r"\(a, p, i) (b, q, j) -> if b < a then (b, q, j) else (a, p, i)",
    "the first of the least": r"""\(a, p, i) (b, q, j) ->
        if a < b || (a == b && i < j) then (a, p, i) else (b, q, j)""",
    "new ones are computed": r"""\(a, p, i) (b, q, j) ->
        if a > b then (a, p, i) else (f32.max a b, p + q, i64.max i j)""",
    "parts are kept": r"\(a, p, i) (b, q, j) -> if b < a then (b, p, j) else (a, p, i)",
    "always changed": r"\(a, p, i) (b, q, j) -> if b < a then (b, q, j) else (a, q, i)",
}
HISTOGRAM = """
  reduce_by_index (replicate k (f32.inf, 0i32, -1i64)) (OPERATOR) (f32.inf, 0, -1)
                  is (zip3 xs (map i32.f32 xs) (iota n)) |> unzip3"""
ENTRY = "entry main [n] (k: i64) (is: [n]i64) (xs: [n]f32): ([k]f32, [k]i32, [k]i64) ="
ROWS = """
entry rows [m][n] (k: i64) (iss: [m][n]i64) (xss: [m][n]f32)
    : ([m][k]f32, [m][k]i32, [m][k]i64) =
  map2 (\\is xs -> HISTOGRAM) iss xss |> unzip3"""


CASES = [(name, "cpu") for name in OPERATORS]
CASES += [(name, "gpu") for name in OPERATORS if name.startswith("the")]
"""others do not commute, and so have no meaning in the order of a GPU's threads"""


@pytest.mark.device
@pytest.mark.parametrize(("name", "schedule"), CASES)
def test_records_of_bins_are_those_of_the_interpreter(name: str, schedule: str) -> None:
    histogram = HISTOGRAM.replace("OPERATOR", OPERATORS[name])
    text = ENTRY + histogram + ROWS.replace("HISTOGRAM", histogram)
    program = minifut.compile(text, schedule=schedule)
    oracle = minifut.compile(text, backend="interpreter")
    random = np.random.default_rng(3)
    for k, *shape in ((3, 0), (1, 1), (5, 700), (2000, 900), (7, 30, 50)):
        places = random.integers(-1, k + 1, shape)
        xs = random.permutation(places.size).astype(np.float32).reshape(shape)
        entry = "rows" if len(shape) == 2 else "main"
        found = getattr(program, entry)(k, places, xs)
        wanted = getattr(oracle, entry)(k, places, xs)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
