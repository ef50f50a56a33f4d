"""Derivatives on the device, in both schedules, against differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minifut
from tests.passes.differentiate.derivatives import check, entries
from tests.passes.differentiate.random_functions import check_function

pytestmark = pytest.mark.device

FUNCTIONS = {
    "least squares": (
        "def f [n][d] (w: [d]f64, xs: [n][d]f64) ="
        " f64.sum (map (\\x -> (f64.sum (map2 (*) w x) - 1) ** 2) xs)",
        ("[d]f64", "[n][d]f64"),
        "[n] [d]",
        ((4,), (7, 4)),
    ),
    "gather": (
        "def f [n] (xs: [n]f64) = map (\\i -> xs[i * i % n] * xs[i]) (iota n)",
        ("[n]f64",),
        "[n]",
        ((9,),),
    ),
    "loop": (
        "def f [n] (xs: [n]f64, a: f64) = loop ys = xs for _i < 5 do"
        " map2 (\\x y -> f64.sin (x * a) + y) ys (rotate 1 ys)",
        ("[n]f64", "f64"),
        "[n]",
        ((6,), ()),
    ),
}


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_derivative_on_the_device(name: str, schedule: str, tmp_path: Path) -> None:
    text, types, sizes, shapes = FUNCTIONS[name]
    path = tmp_path / "test.fut"
    path.write_text(entries(text, types, sizes))
    program = minifut.compile(path, schedule=schedule)
    random = np.random.default_rng(0)
    arguments = [random.normal(size=shape) for shape in shapes]
    check(text, types, arguments, sizes, run=program)


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("seed", [3, 7])
def test_a_random_function_on_the_device(seed: int, schedule: str) -> None:
    check_function(seed, schedule)
