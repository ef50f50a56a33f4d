"""Calls of functions after loops of a point have loops, and vectors, of their own."""

from __future__ import annotations

import numpy as np
import pytest

import minifut

PROGRAMS = {
    "one after a fold": """
def main [n][m] (a: [m][n]f32) (xs: [n]f32) (t: i64): [m]f32 =
  loop s = replicate m 0.5 for _i < t do
    map (\\r -> f32.exp (-(f32.sum (map2 (*) r xs)))) a""",
    "between folds, after both": """
def main [n][m] (a: [m][n]f32) (xs: [n]f32) (t: i64): [m]f32 =
  loop s = replicate m 0.5 for _i < t do
    map2 (\\r y -> let p = f32.exp (-(f32.sum (map2 (*) r xs)))
                  let q = f32.maximum (map2 (-) r xs)
                  in p * y + f32.tanh q) a s""",
    "of what a branch gives": """
def main [n][m] (a: [m][n]f32) (xs: [n]f32) (t: i64): [m]f32 =
  loop s = replicate m 0.5 for i < t do
    map2 (\\r y -> let p = f32.sum (map2 (*) r xs)
                  in if p > y then f32.log (1 + p * p) else f32.cos (f32.i64 i + p)) a s""",
    "that a fold needs": """
def main [n][m] (a: [m][n]f32) (xs: [n]f32) (t: i64): [m]f32 =
  loop s = replicate m 0.5 for _i < t do
    map2 (\\r y -> let e = f32.exp y
                  let p = f32.sum (map (\\x -> f32.min x e) r)
                  in f32.sin (p + f32.exp y)) a s""",
    "with a check": """
def main [n][m] (a: [m][n]f32) (xs: [n]f32) (t: i64): [m]f32 =
  loop s = replicate m 0.5 for _i < t do
    map2 (\\r y -> let p = f32.sum (map2 (*) r xs)
                  let k = i64.f32 (f32.abs y) % m
                  in f32.exp (f32.min 1 (p - s[k]))) a s""",
}


def per_point(text: str) -> str:
    """The program for each of several points, whose arrays are of its own."""
    return text.replace("main", "each") + (
        "\n\ndef main [b][n][m] (a: [m][n]f32) (xss: [b][n]f32) (t: i64): [b][m]f32 ="
        " map (\\xs -> each a xs t) xss"
    )


@pytest.mark.device
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_versions_are_near_the_interpreter(name: str) -> None:
    """With blocks of points that are full, empty and in between."""
    text = per_point(PROGRAMS[name])
    oracle = minifut.compile(text, backend="interpreter")
    program = minifut.compile(text)
    random = np.random.default_rng(1)
    for m, n, b in ((0, 3, 2), (1, 0, 1), (5, 4, 3), (64, 9, 2), (131, 70, 3)):
        a = random.normal(size=(m, n)).astype(np.float32)
        xss = random.normal(size=(b, n)).astype(np.float32)
        wanted = oracle.main(a, xss, 2)
        for version in program.versions("main"):
            default = dict(program.tuning)
            program.tuning.update(version.settings)
            found = program.main(a, xss, 2)
            assert np.allclose(found, wanted, 1e-4, 1e-4), (version.name, m)
            program.tuning.update(default)


def test_the_calls_are_vectors() -> None:
    program = minifut.compile(per_point(PROGRAMS["between folds, after both"]))
    texts = [text for text in program.kernels.values() if "kept" in text]
    assert texts
    assert all("float16 exp_1 = exp(" in text for text in texts)
