"""The lanes of divergent loops, by the registers that their values need."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program
from minifut.kernel_passes.vectorise.registers import CROWDED, RoundValues

CROWDS = {
    "escape times": """
      entry main (xs: []f32) =
        map (\\a -> (loop (x, y, k) = (a, 0.5, 0i32) while k < 50 && x * x + y * y < 4 do
                      (x * x - y * y + a, 2 * x * y + 0.25, k + 1)).2) xs""",
    "walks": """
      entry main (xs: []f32) =
        map (\\x -> (loop (s, p, k) = (u32.f32 (x * x * 9e5), 0i32, 0i32)
                    while p < 4 && p > -4 && k < 99 do
                      let s = s * 1664525 + 1013904223
                      in (s, if s >> 31 == 0 then p + 1 else p - 1, k + 1)).2) xs""",
}
OTHERS = {
    "roots": """
      entry main (xs: []f32) =
        map (\\x -> (loop (y, d) = (1f32, 1f32) while d > 1e-5 do
                      let z = 0.5 * (y + (1 + x * x) / y)
                      in (z, f32.abs (z - y) / z)).0) xs""",
    "loads of lanes": """
      entry main [n] (xs: [n]f32) =
        map (\\x -> (loop (l, h, s, k) = (0i32, i32.i64 n, 0f32, 0i32) while l < h do
                      let m = (l + h) / 2
                      in if xs[m] * 3 < x + 4 * s then (m + 1, h, s + 5, k + 6)
                         else (l, m, s - 7, k - 8)).2) xs""",
    "no divergence": """
      entry main (xs: []f32) =
        map (\\a -> (loop (x, y, k) = (a, 0.5, 0i32) for i < 50 do
                      (x * x - y * y + a, 2 * x * y + 0.25, k + i)).2) xs""",
}
BODIES = CROWDS | OTHERS


@pytest.mark.device
@pytest.mark.parametrize("name", CROWDS)
def test_any_number_of_lanes_gives_the_same(name: str) -> None:
    oracle = interpreted_program(
        stages.to_core(stages.check(Source("r", BODIES[name])))
    )
    xs = np.random.default_rng(3).normal(size=45).astype(np.float32)
    for lanes in (16, 8, 1):
        params = {CROWDED.name: lanes}
        program = minifut.compile(BODIES[name], schedule="cpu", params=params)
        np.testing.assert_array_equal(program.main(xs), oracle.main(xs))


@pytest.mark.parametrize("name", BODIES)
def test_crowds_have_a_parameter_of_their_own(name: str) -> None:
    core = stages.to_core(stages.check(Source("r.fut", BODIES[name])))
    text = stages.to_host_module(stages.to_kernels(core), "cpu", "r")
    assert (CROWDED.name in text) == (name in CROWDS)


def test_registers_of_wide_vectors_are_enough() -> None:
    assert dict(CROWDED.defaults) == {"cpu": 16, "gpu": 1, "avx2": 8}


def test_what_registers_are_needed_for() -> None:
    assert RoundValues(6, 4).registers == 20
