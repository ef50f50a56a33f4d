"""Calls of functions at the points of maps: on whole vectors, wherever the map stands."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

BODIES = {
    "a map": "entry main [n][m] (xss: [n][m]f32) = map (map f32.exp) xss",
    "a map inside a point that folds": """
      entry main [n][m] (xss: [n][m]f32) =
        #[sequential_inner]
        map (\\xs -> let ys = map (\\x -> f32.exp x * f32.sin x) xs
                     in loop s = 0 for y in ys do s * 0.5 + y) xss""",
    "a map with branches and reads elsewhere": """
      entry main [n][m] (xss: [n][m]f32) =
        #[sequential_inner]
        map (\\xs -> let ys = map (\\x -> if x < 0.5 then f32.log (1 + x) else x) xs
                     in map (\\i -> f32.cos ys[i * 3 % m] + ys[i]) (iota m)) xss""",
    "a fold": "entry main [n][m] (xss: [n][m]f32) = map (\\r -> f32.sum (map f32.sin r)) xss",
    "doubles": """
      entry main [n][m] (xss: [n][m]f32) =
        map (map (\\x -> f64.f32 x |> f64.exp |> f64.sqrt |> f64.log)) xss""",
}


@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("lanes", [16, 8, 1])
def test_calls_in_lanes_agree_with_the_interpreter(name: str, lanes: int) -> None:
    source = Source("calls.fut", BODIES[name])
    program = minifut.compile(BODIES[name], schedule="cpu", params={"lanes": lanes})
    oracle = interpreted_program(stages.to_core(stages.check(source)))
    for rows, columns in ((1, 3), (2, 16), (5, 7), (3, 20), (40, 33), (0, 5), (3, 0)):
        xss = np.random.default_rng(3).random((rows, columns), np.float32)
        np.testing.assert_allclose(
            program.main(xss), oracle.main(xss), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("name", BODIES)
def test_calls_are_on_whole_vectors(name: str) -> None:
    core = stages.to_core(stages.check(Source("calls.fut", BODIES[name])))
    text = stages.to_host_module(stages.to_kernels(core), "cpu", "calls")
    type_ = "double" if name == "doubles" else "float"
    lines = [line.strip() for line in text.splitlines()]
    called = [
        li for li in lines if any(f" = {f}(" in li for f in ("exp", "sin", "log"))
    ]
    assert any(line.startswith(f"{type_}16 ") for line in called), called


def test_points_without_calls_are_left_to_the_compiler_of_the_device() -> None:
    text = "entry main [n] (xs: [n]f32) = map (\\x -> f32.sqrt x + 1) xs"
    core = stages.to_core(stages.check(Source("plain.fut", text)))
    module = stages.to_host_module(stages.to_kernels(core), "cpu", "plain")
    assert "LANES" not in module


QUOTIENTS = """
entry of_points (xs: []TYPE) (ys: []TYPE) =
  unzip4 (map2 (\\x y -> if y == 0 then (0, 0, 0, 0)
                         else (x / y, x % y, x // y, x %% y)) xs ys)
entry folded (xs: []TYPE) (y: TYPE) =
  i64.sum (map (\\x -> i64.TYPE (x % y) * 3 + i64.TYPE (x // y)) xs)
"""


@pytest.mark.parametrize("element", ["i8", "u16", "i32", "u32", "i64"])
def test_quotients_are_of_whole_vectors(element: str) -> None:
    source = Source("quotients.fut", QUOTIENTS.replace("TYPE", element))
    core = stages.to_core(stages.check(source))
    text = stages.to_host_module(stages.to_kernels(core), "cpu", "quotients")
    for name in ("div", "mod", "quot", "rem"):
        assert re.search(rf"= {name}_{element}_(8|16)\(", text)


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize("lanes", [16, 8, 1])
@pytest.mark.parametrize("element", ["i8", "u16", "i32", "u32", "i64", "u64"])
def test_quotients_in_lanes_agree_with_the_interpreter(
    element: str, lanes: int
) -> None:
    text = QUOTIENTS.replace("TYPE", element)
    program = minifut.compile(text, schedule="cpu", params={"lanes": lanes})
    oracle = interpreted_program(stages.to_core(stages.check(Source("", text))))
    dtype = np.dtype(element[0] + str(int(element[1:]) // 8))
    ends = np.iinfo(dtype)
    near = [v for e in (ends.min, ends.max) for v in range(e, e + 3) if v <= ends.max]
    own = np.array([*near, ends.max - 1, 0, 1, 2, 3, 7, 10, ends.max // 3], dtype)
    if ends.min < 0:
        own = np.concatenate([own, -own])
    xs, ys = (x.ravel() for x in np.meshgrid(own, own))
    for found, wanted in zip(
        program.of_points(xs, ys), oracle.of_points(xs, ys), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
    for y in own[own != 0]:
        assert program.folded(xs, y) == oracle.folded(xs, y)


@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize("lanes", [16, 8])
def test_circular_functions_in_lanes_are_exact_to_three_units(lanes: int) -> None:
    """Near and far arguments in one vector, multiples of pi / 2, and what is no number."""
    text = """entry main (xs: []f32): ([]f32, []f32, []f32) =
      unzip3 (map (\\x -> (f32.sin x, f32.cos x, f32.tan x)) xs)"""
    program = minifut.compile(text, schedule="cpu", params={"lanes": lanes})
    rng = np.random.default_rng(5)
    near = np.concatenate([rng.uniform(-60000, 60000, 40000), rng.normal(size=40000)])
    odd = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 48038.9, 48039, 2**23, 1e30]
    bits = rng.integers(0, 1 << 31, 40000, np.uint32).view(np.float32)
    turns = np.arange(1, 30000) * np.pi / 2
    parts = (near, odd, turns, bits[np.abs(bits) < 1e15], near[:50] * 1e-8)
    xs = rng.permutation(np.concatenate([np.float32(part) for part in parts]))
    exact, finite = xs.astype(np.float64), np.isfinite(xs)
    for found, function in zip(program.main(xs), (np.sin, np.cos, np.tan), strict=True):
        wanted = function(exact[finite])
        unit = np.spacing(np.abs(wanted).astype(np.float32))
        assert np.all(
            np.abs(found[finite] - wanted) <= (4 if function is np.tan else 3) * unit
        )
        assert np.all(np.isnan(found[~finite]))
    zeros = xs == 0
    np.testing.assert_array_equal(
        np.signbit(program.main(xs)[0][zeros]), np.signbit(xs[zeros])
    )


IN_PLACE = {
    "one array": """entry main [n] (xss: [3][n]f32): [3][n]f32 =
      map (\\xs -> loop xs for k < 4 do map (\\x -> f32.log (1.5 + f32.abs x)) xs)
          xss""",
    "by branches": """entry main [n] (xss: [3][n]f32): [3][n]f32 =
      map (\\xs -> loop xs for k < 4 do
             map (\\x -> if x > 1 then f32.exp (-x) else x + 0.5) xs) xss""",
    "neighbours": """entry main [n] (xss: [3][n]f32): [3][n]f32 =
      map (\\xs -> loop xs for k < 4 do
             map (\\i -> f32.sin xs[i64.max 0 (i - 1)] + xs[i]) (iota n)) xss""",
}


@pytest.mark.device
@pytest.mark.optimised
@pytest.mark.parametrize("name", IN_PLACE)
def test_maps_in_place_visit_each_point_once(name: str) -> None:
    program = minifut.compile(IN_PLACE[name])
    oracle = interpreted_program(
        stages.to_core(stages.check(Source("", IN_PLACE[name])))
    )
    for version in program.versions("main"):
        program.tuning.update(version.settings)
        for n in (1, 7, 8, 15, 16, 17, 40):
            xss = np.linspace(-3, 3, 3 * n, dtype=np.float32).reshape(3, n)
            wanted = oracle.main(xss)
            np.testing.assert_allclose(program.main(xss), wanted, 2e-5, 2e-6)
