"""Rows of any length, and lanes that read every 2nd or 3rd element."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

STRIDED = """
  entry main [n] (xs: [n]E) =
    let k = n / S
    in tabulate k (\\i -> loop y = xs[S * i] for j < 3 do
      if y > xs[S * i + S - 1] then y + xs[S * (i / 11) + j % S] else y + y)"""
ROWS = """
  entry main [n] (xs: [n]E) =
    tabulate 3 (\\i -> loop ys = copy xs for j < 2 do
      tabulate n (\\k -> loop z = ys[k] for l < n do if z > ys[l] then z + xs[l] else z))"""
TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "u8": np.uint8}


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("lanes", [16, 8, 1])
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("text", [STRIDED.replace("S", s) for s in "234"] + [ROWS])
def test_lanes_agree_with_the_interpreter(text: str, element: str, lanes: int) -> None:
    text = text.replace("E", element)
    program = minifut.compile(text, schedule="cpu", params={"lanes": lanes})
    oracle = interpreted_program(
        stages.to_core(stages.check(Source("program.fut", text)))
    )
    generator = np.random.default_rng(5)
    for count in (0, 3, 9, 15, 16, 49, 70):
        xs = generator.integers(0, 50, count).astype(TYPES[element])
        assert np.array_equal(np.asarray(program.main(xs)), oracle.main(xs))
