"""Folds inside of points, by several vectors of accumulators."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

SLICED = "entry main [n] (xs: [n]f32) = map (\\i -> {} xs[i / 3:i]) (iota (n + 1))"
BODIES = {
    "sums": SLICED.format("f32.sum"),
    "products": SLICED.format("f32.product <-< map (\\x -> 1 + x / 50) <|"),
    "maxima": SLICED.format("f32.maximum"),
    "minima of what is computed": SLICED.format(
        "f32.minimum <-< map (\\x -> x * x) <|"
    ),
    "calls": SLICED.format("f32.sum <-< map f32.exp <|"),
    "doubles": SLICED.format("f64.sum <-< map (\\x -> f64.f32 x) <|"),
    "two at once": """
      entry main [n] (xs: [n]f32) =
        map (\\i -> let ys = xs[i / 3:i]
                    in reduce (\\(a, b) (c, d) -> (a + c, f32.max b d)) (0, -f32.inf)
                              (zip ys (map (\\y -> y * y) ys))) (iota (n + 1)) |> unzip""",
    "two rows": """
      entry main [n] (xs: [n]f32) =
        map (\\i -> let m = i * i %% (n + 1)
                    in f32.sum (map2 (*) xs[:m] (xs[n - m:] :> [m]f32))) (iota (n + 1))""",
    "backwards": """
      entry main [n] (xs: [n]f32) =
        map (\\i -> let m = i * i %% (n + 1)
                    in f32.sum (map2 (*) xs[:m] (reverse xs[:m]))) (iota (n + 1))""",
    "of lags, of which the best is found": """
      entry main [n] (xs: [n]f32) =
        let best (a, i) (b, j) = if b > a || (b == a && j < i) then (b, j) else (a, i)
        let at i l = (f32.sum (tabulate (i - l) (\\j -> xs[j] * xs[j + l])), l)
        in map (\\i -> (reduce best (-f32.inf, -1) (map (at i) (i / 4...i / 2))).0)
               (iota (n + 1))""",
    "of what is stored twice": """
      entry main [n] (xs: [n]f32) =
        map (\\i -> let (s, ys) = loop (s, ys) = (0, replicate (n + 1) 0) for j < n do
                      let y = f32.exp (xs[j] / 9 + f32.i64 i / 99)
                      let ys = ys with [j] = y
                      in (s + y, ys with [j + 1] = y * 2)
                    in s + f32.sum (map2 (\\y k -> y * f32.i64 k) ys (iota (n + 1))))
            (iota (n + 1))""",
    "of what is returned": """
      entry main [n] (xs: [n]f32) =
        map (\\i -> let ys = map (\\x -> f32.exp (x / 9 + f32.i64 i / 99)) xs
                    let s = f32.sum ys
                    in map (\\y -> y / s) ys) (iota (n + 1))""",
    "one thread": """
      entry main [n] (xs: [n]f32) =
        loop ys = copy xs for i < n do
          ys with [i] = ys[i] + f32.sum ys[:i] / f32.i64 n""",
}


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("lanes", [16, 8, 1])
def test_folds_of_any_length_agree_with_the_interpreter(name: str, lanes: int) -> None:
    source = Source("folds.fut", BODIES[name])
    program = minifut.compile(BODIES[name], schedule="cpu", params={"lanes": lanes})
    oracle = interpreted_program(stages.to_core(stages.check(source)))
    for count in (0, 1, 17, 120):
        xs = np.random.default_rng(3).normal(size=count).astype(np.float32)
        for one, other in zip(
            np.atleast_2d(program.main(xs)), np.atleast_2d(oracle.main(xs)), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.device
def test_maxima_ignore_what_is_no_number() -> None:
    program = minifut.compile(BODIES["maxima"], schedule="cpu")
    xs = np.arange(100, dtype=np.float32)
    xs[::7] = np.nan
    expected = [np.fmax.reduce(xs[i // 3 : i], initial=-np.inf) for i in range(101)]
    np.testing.assert_array_equal(program.main(xs), expected)


@pytest.mark.parametrize("name", BODIES)
def test_two_vectors_collect(name: str) -> None:
    core = stages.to_core(stages.check(Source("folds.fut", BODIES[name])))
    text = stages.to_host_module(stages.to_kernels(core), "cpu", "folds")
    width = "double8" if name == "doubles" else "float16"
    assert f"{width} lane = " in text and f"{width} lane_1 = " in text


def test_folds_of_users_keep_their_order() -> None:
    text = """
      entry main [n] (xs: [n]f32) =
        map (\\i -> loop s = 0 for x in xs[:i] do s + x) (iota n)"""
    core = stages.to_core(stages.check(Source("folds.fut", text)))
    assert "lane_1" not in stages.to_host_module(stages.to_kernels(core), "cpu", "f")
