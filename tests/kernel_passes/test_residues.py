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
    "packed numbers": """
entry main [n] (xs: [n]f32): []u32 =
  let ks = map (\\x -> u32.f32 (4096 * x)) xs
  in tabulate (n * 12 / 32) (\\w ->
       let bit = w * 32
       in loop r = 0 for t < 4i64 do
            let k = bit / 12 + t
            let shift = k * 12 - bit
            in if shift < 32 && k < n
               then r | (if shift >= 0 then ks[k] << u32.i64 shift
                         else ks[k] >> u32.i64 (-shift))
               else r)""",
    "unpacked numbers": """
entry main [n] (xs: [n]f32): []u32 =
  let ws = map (\\x -> u32.f32 (4e9 * x)) xs
  in tabulate (n * 32 / 12) (\\i ->
       let (w, s) = (i * 12 / 32, u32.i64 (i * 12 % 32))
       in ((ws[w] >> s) | (if s > 20 && w + 1 < n then ws[w + 1] << (32 - s) else 0))
          & 4095)""",
    "taps of phases": """
entry main [n] (xs: [n]f32): []f32 =
  let h = map f32.i64 (iota 24)
  in tabulate (n * 3 / 2) (\\k ->
       let (phase, base) = (k * 2 % 3, k * 2 / 3)
       in f32.sum (tabulate 8 (\\j ->
            if base - j >= 0 then h[phase + 3 * j] * f32.round (99 * xs[base - j]) else 0)))""",
    "limits that come late": """
entry main [n] (xs: [n]f32): []f32 =
  tabulate (2 * n) (\\i ->
    let k = i * 5 / 10
    let near = if k > 3 && n / 2 > k then xs[k + 1] else xs[0]
    in loop s = near for j in 1i64...3 do
         if k * 3 <= 2 * n && k >= j then s + f32.i64 (i * 5 % 4) * xs[k - j] else s)""",
}
SIZES = (1, 2, 3, 5, 8, 16, 37, 64, 1000)


@cache
def oracle(name: str) -> minifut.Program:
    return minifut.compile(SOURCES[name], backend="interpreter")


@pytest.mark.sweep
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


def test_quotients_of_multiples_are_affine() -> None:
    for name, last in (
        ("packed numbers", "= (k * 8L) + 5L;"),
        ("taps of phases", "= k * 2L;"),
    ):
        program = minifut.compile(SOURCES[name], schedule="cpu")
        assert last in "".join(program.kernels.values())
