"""Points distinguished by quotients and residues of their index: meaning at all
sizes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import minifut

SOURCES = {
    "interleave": """
entry main [n] (xs: [n]f32): []f32 =
  tabulate (2 * n) (\\i ->
    if i % 2 == 0 then xs[i / 2] else 0.5 * (xs[i / 2] + xs[(i / 2 + 1) % n]))""",
    "three residues": """
entry main [n] (xs: [n]f32): []f32 =
  tabulate (3 * n) (\\i ->
    let d = f32.i64 (i % 3) / 3
    in (1 - d) * xs[i / 3] + d * xs[i64.min (n - 1) (i / 3 + 1)])""",
    "below zero, towards zero": """
entry main [n] (xs: [n]f32): []f32 =
  tabulate (2 * n) (\\i ->
    let j = i32.i64 i - 3
    in if j %% 2 == 0
       then #[unsafe] xs[i64.i32 (i32.max 0 (j // 2))] else f32.i32 (j %% 2))""",
    "under a mask": """
entry main [n] (xs: [n]f32): []f32 =
  tabulate (2 * n) (\\i ->
    let k = (i32.i64 i - 1) & (2 * i32.i64 n - 1)
    in if (k & 1) == 1 then #[unsafe] xs[i64.i32 (k // 2)] else f32.i32 k)""",
    "two divisors": """
entry main [n] (xs: [n]f32): []f32 =
  tabulate n (\\i ->
    if i % 4 == 3 then xs[i] else if i % 2 == 0 then 2 * xs[i] else xs[i / 4])""",
    "rows": """
entry main [n] (xs: [n]f32): []f32 =
  let m = n / 3
  let a = unflatten (sized (3 * m) xs[:3 * m])
  in flatten (tabulate_2d 3 m (\\i j ->
       if j % 2 == 0 then a[i, j]
       else 0.5 * (a[i, (j + 1) % m] + a[i, (j + m - 1) % m])))""",
}
SIZES = (1, 2, 3, 5, 8, 16, 37, 64, 1000)


@cache
def oracle(name: str) -> minifut.Program:
    return minifut.compile(SOURCES[name], backend="interpreter")


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", SOURCES)
def test_points_of_all_residues_agree(name: str, schedule: str) -> None:
    program = minifut.compile(SOURCES[name], schedule=schedule)
    for size in SIZES:
        xs = np.random.default_rng(size).random(size, dtype=np.float32)
        np.testing.assert_array_equal(program.main(xs), oracle(name).main(xs))


def test_a_round_does_a_point_of_each_residue() -> None:
    program = minifut.compile(SOURCES["interleave"], schedule="cpu")
    assert "k * 2L) + 1L" in "".join(program.kernels.values())
