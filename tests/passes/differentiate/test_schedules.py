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
    "nearest points": (
        "def f [n][k][d] (cs: [k][d]f64, ps: [n][d]f64) = map (\\p -> f64.minimum"
        " (map (\\c -> f64.sum (map2 (\\x y -> (x - y) ** 2) c p)) cs)) ps",
        ("[k][d]f64", "[n][d]f64"),
        "[n] [k] [d]",
        ((5, 3), (40, 3)),
    ),
    "mixture": (
        "def f [n][k][d] (ms: [k][d]f64, fs: [k][d][d]f64, xs: [n][d]f64) ="
        " let term x m f = f64.sum (map (\\r -> (f64.sum (map2 (*) r"
        " (map2 (-) x m))) ** 2) f)"
        " let lse t = let m = f64.maximum t"
        " in m + f64.log (f64.sum (map (\\v -> f64.exp (v - m)) t))"
        " in f64.sum (map (\\x -> lse (map2 (term x) ms fs)) xs)",
        ("[k][d]f64", "[k][d][d]f64", "[n][d]f64"),
        "[n] [k] [d]",
        ((3, 4), (3, 4, 4), (10, 4)),
    ),
    "histogram in chunks": (
        "def f [n] (xs: [n]f64, ys: [3]f64) = reduce_by_index (copy ys)"
        " (\\x y -> f64.max x y + f64.log (1 + f64.exp (- f64.abs (x - y)))) (-1000)"
        " (map (\\i -> (i * 7) % 5 - 1) (iota n)) xs",
        ("[n]f64", "[3]f64"),
        "[n]",
        ((20_000,), (3,)),
    ),
    "histogram of arrays in chunks": (
        "def f [n] (xs: [n]f64, ys: [3]f64) = let op (a: [2]f64) (b: [2]f64) ="
        " [a[0] * b[0], a[1] * b[0] + a[0] * b[1]]"
        " let places = map (\\i -> ((i * 7) % 5 - 1, (i * 3) % 4)) (iota n)"
        " in flatten_3d (reduce_by_index_2d (replicate 3 (map (\\y -> [y, y]) ys)) op"
        " [1, 0] places (map (\\x -> [1 + 1e-3 * x, x]) xs))",
        ("[n]f64", "[3]f64"),
        "[n]",
        ((20_000,), (3,)),
    ),
    "updates": (
        "def f [n][k] (xs: [n]f64, ys: [k]f64) = intrinsics.hist_stream (copy ys) (+) 0"
        " (\\(acc: *intrinsics.acc ([k]f64)) i -> loop acc for j < 3 do"
        " intrinsics.acc_write acc ((i + j) % k) (xs[i] * ys[0])) (iota n)",
        ("[n]f64", "[k]f64"),
        "[n] [k]",
        ((20,), (4,)),
    ),
    "sums of updates in loops": (
        "def f [b][n] (ys: [n]f64, xss: [b][n]f64) ="
        " f64.sum (map (\\xs -> f64.sum (loop c = copy ys for i < n do"
        " if i == 0 then c with [i] = c[i] * xs[i]"
        " else c with [i] = c[i] * xs[i] + c[i - 1] * ys[i])) xss)",
        ("[n]f64", "[b][n]f64"),
        "[b] [n]",
        ((5,), (7, 5)),
    ),
    "loop that grows": (
        "def f [n] (xs: [n]f64, ys: [n]f64) = f64.sum (loop a = xs for i < n do"
        " map f64.sin a ++ map (* a[i]) ys)",
        ("[n]f64", "[n]f64"),
        "[n]",
        ((6,), (6,)),
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


@pytest.mark.sweep
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


NEAREST = """
entry main [n][k][d] (cs: [k][d]f64) (ps: [n][d]f64) =
  vjp (\\cs -> f64.sum (map (\\p -> f64.minimum (map (\\c ->
    f64.sum (map2 (\\x y -> (x - y) ** 2) c p)) cs)) ps)) cs 1
"""


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_where_nothing_is_least_nothing_is_added(schedule: str, tmp_path: Path) -> None:
    path = tmp_path / "test.fut"
    path.write_text(NEAREST)
    gradient = minifut.compile(path, schedule=schedule).main
    points = np.array([[1.0, 2.0], [np.nan, 0.0], [3.0, 2.0]])
    centres = np.array([[1.0, 1.0], [3.0, 3.0]])
    np.testing.assert_array_equal(gradient(centres, points), [[0, -2], [0, 2]])
    assert gradient(np.zeros((0, 2)), points).shape == (0, 2)


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("seed", [3, 7])
def test_a_random_function_on_the_device(seed: int, schedule: str) -> None:
    check_function(seed, schedule)
