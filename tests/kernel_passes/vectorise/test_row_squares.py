"""Rows that lanes traverse in squares, at all lengths around that of a square."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

POINTS = {
    "backwards in place": """
      map (\\xs -> (loop (out, s) = (copy xs, 0) for j < m do
        let t = m - 1 - j
        let s = s / 2 + out[t] in (out with [t] = s, s)).0) xss""",
    "rows in place": """
      map (\\xs -> (loop (out, s) = (copy xs, 0) for t < m do
        let s = s / 2 + out[t] in (out with [t] = s, s)).0) xss""",
    "a result for each round": """
      map (\\xs -> (loop (out, s) = (replicate m 0, 0) for t < m do
        let s = s / 2 + xs[t] in (out with [t] = s, s)).0) xss""",
    "two elements a round": """
      map (\\xs -> let (_, s) = loop (x, s) = (0, 0) for t in 1..<m do
        (xs[t] - x, s / 2 + xs[t - 1] * x) in [s]) xss""",
    "rounds that wait for a condition": """
      map (\\xs -> [loop s = 0 for t < m do
        if s > 9 then s / 2 else s + xs[t] * (if t > 2 then xs[t - 2] else 1)]) xss""",
    "loops in rounds": """
      map (\\xs -> [loop s = 0 for t < m do
        loop s = s / 2 for _k < t % 3 do s + xs[t]]) xss""",
    "a sum of all": """
      reduce (+) 0 (map (\\xs -> loop s = 1 for x in xs do s / 2 + x) xss)""",
    "the greatest of all and its place": """
      reduce_comm
        (\\(x, i) (y, j) -> if x > y || (x == y && i < j) then (x, i) else (y, j))
        (0, i64.highest)
        (zip (map (\\xs -> loop s = 1 for x in xs do s / 2 + x) xss) (iota n))""",
}
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "u8": np.uint8}


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("lanes", [16, 8])
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("name", POINTS)
def test_lanes_agree_with_the_interpreter(name: str, element: str, lanes: int) -> None:
    text = f"""
      #[incremental_flattening(only_outer)]
      entry main [n][m] (xss: [n][m]{element}) ={POINTS[name]}"""
    program = minifut.compile(text, schedule="cpu")
    if "lanes" in program.tuning:
        program.tuning["lanes"] = lanes
    oracle = interpreted_program(
        stages.to_core(stages.check(Source("program.fut", text)))
    )
    generator = np.random.default_rng(5)
    for points, rounds in ((17, 2), (17, 16), (33, 31), (16, 32), (40, 50), (9, 40)):
        xss = generator.integers(0, 50, (points, rounds)).astype(TYPES[element])
        found, expected = program.main(xss), oracle.main(xss)
        if not isinstance(found, tuple):
            found, expected = (found,), (expected,)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5)


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("points", ["a result for each round", "a sum of all"])
def test_elements_of_32_and_64_bits_are_read_in_squares(
    points: str, element: str
) -> None:
    rows = POINTS[points]
    text = f"entry main [n][m] (xss: [n][m]{element}) ={rows}"
    program = minifut.compile(text, schedule="cpu")
    found = any("UNPACK_LOW" in text for text in program.kernels.values())
    assert found == (element != "u8")
