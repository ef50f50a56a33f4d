"""Positions of extremes in lanes: what they find, and where there are lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

pytestmark = pytest.mark.device

GREATEST = "\\(a, i) (b, j) -> if a > b || (a == b && i < j) then (a, i) else (b, j)"
OPERATORS = {
    "the first of the greatest": GREATEST,
    "by order": "\\(a, i) (b, j) -> if b > a then (b, j) else (a, i)",
    "the last of the greatest": "\\(a, i) (b, j) -> if b >= a then (b, j) else (a, i)",
    "extremes": "\\(a, i) (b, j) -> (T.max a b, if a > b then i else if b > a then j else i64.max i j)",
}
TYPES = ["f32", "f64", "i32", "u8", "i64"]
LENGTHS = [0, 1, 63, 64, 65, 131, 300]

PAYLOADS = """
entry main [n] (xs: [n]f32) (ys: [n]i16) =
  let least (a, x, i) (b, y, j) = if b < a then (b, y, j) else (a, x, i)
  let most (a, i) (b, j) = if b >= a then (b, j) else (a, i)
  let (a, y, i) = reduce least (f32.inf, 7i16, -1i32) (zip3 xs ys (map i32.i64 (iota n)))
  let (b, j) = reduce most (-f32.inf, -3) (zip xs (map (* 2) (iota n)))
  in (a, y, i, b, j)
"""


def rows(operator: str, type_: str) -> str:
    low = "-f32.inf" if type_ == "f32" else f"{type_}.lowest"
    return f"""
entry main [n][m] (xs: [n][m]{type_}) =
  unzip (map (\\r -> reduce ({operator}) ({low}, -1) (zip r (iota m))) xs)
""".replace("T.", f"{type_}.")


def numbers(type_: str, shape: tuple[int, ...], seed: int) -> Any:
    """Few different ones, so that many are equal."""
    name = type_.replace("f", "float").replace("u8", "uint8").replace("i", "int")
    name = "uint8" if type_ == "u8" else name
    return np.random.default_rng(seed).integers(0, 9, shape).astype(name)


def agree(text: str, schedule: str, *given: Any) -> None:
    source = Source("extremes.fut", text)
    oracle = interpreted_program(stages.to_core(stages.check(source)))
    found = minifut.compile(text, schedule=schedule).main(*given)
    wanted = oracle.main(*given)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.sweep
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_rows(name: str, type_: str) -> None:
    text = rows(OPERATORS[name], type_)
    program = minifut.compile(text, schedule="cpu")
    oracle = interpreted_program(stages.to_core(stages.check(Source("x", text))))
    for length in LENGTHS:
        xs = numbers(type_, (3, length), length)
        for one, other in zip(program.main(xs), oracle.main(xs), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["the first of the greatest", "by order"])
def test_a_nan_is_met_in_order(name: str) -> None:
    text = rows(OPERATORS[name], "f32")
    for place in (0, 1, 70, 129, 130):
        xs = numbers("f32", (3, 131), place)
        xs[1, place], xs[2, [place, 5]] = np.nan, np.nan
        agree(text, "cpu", xs)


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_what_is_no_key_comes_along(schedule: str) -> None:
    for length in (0, 1, 64, 200):
        xs = numbers("f32", (length,), length)
        agree(PAYLOADS, schedule, xs, np.arange(length).astype(np.int16))


def test_neutral_elements_are_before_all() -> None:
    for name in OPERATORS:
        agree(rows(OPERATORS[name], "f32"), "cpu", np.full((2, 100), -np.inf, "f4"))


@pytest.mark.parametrize("name", ["the first of the greatest", "by order"])
def test_chunks_of_one_row_are_combined_in_order(name: str) -> None:
    program = minifut.compile(rows(OPERATORS[name], "i32"), schedule="cpu")
    for length in (8192, 70_001, 300_000):
        xs = numbers("i32", (1, length), length)
        values, places = program.main(xs)
        assert (values == xs.max(1)).all()
        assert (places == xs.argmax(1)).all()


def explained(operator: str) -> str:
    text = rows(operator, "f32")
    core = stages.to_core(stages.check(Source("extremes.fut", text)))
    return stages.to_host_module(stages.to_kernels(core), "cpu", "extremes")


def test_lanes_have_keys_and_positions_only() -> None:
    assert "float8 lane" in explained(OPERATORS["by order"])
    assert "float8 lane" in explained(GREATEST)
    other = explained("\\(a, i) (b, j) -> if b > a then (b, i) else (a, j)")
    assert "lines > 0L" in other, "points of all operands, in blocks"
