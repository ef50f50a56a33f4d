"""Rows that points fill by loops, of which a view is needed, are written as columns."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.core import If, Manifest, Program
from minifut.ir.search import nodes_of

HEAD = "entry main [t] [n] (x: [t][n]f32): "
PROGRAMS = {
    "means": """[t][n]f32 = transpose (map (\\c ->
  (loop (o, s) = (replicate t 0, 0) for i < t do
    let s = s + 0.5 * (c[i] - s) in (o with [i] = s, s)).0) (transpose x))""",
    "means and last ones": """([t][n]f32, [n]f32) =
  let (a, b) = unzip (map (\\c ->
    loop (o, s) = (replicate t 0, 0) for i < t do
      let s = s + 0.5 * (c[i] - s) in (o with [i] = s, s)) (transpose x))
  in (transpose a, b)""",
    "two": """([t][n]f32, [t][n]f32) =
  let (a, b) = unzip (map (\\c ->
    loop (o, p) = (replicate t 0, replicate t 1) for i < t do
      (o with [i * 5 % t] = c[i], p with [t - 1 - i] = 2 * c[i])) (transpose x))
  in (transpose a, transpose b)""",
    "read again": """[t][n]f32 =
  let a = transpose (map (\\c -> loop o = replicate t 0 for i < t do
    o with [i] = c[i] + o[i64.max 0 (i - 1)]) (transpose x))
  in map (\\r -> map (/ f32.sum r) r) a""",
}


def laid_out(body: str, schedule: str) -> Program:
    core = stages.to_core(stages.check(Source("columns.fut", HEAD + body)))
    made: Program = stages.to_schedule(stages.to_kernels(core), schedule)
    return made


@pytest.mark.parametrize("name", ["means", "means and last ones", "two"])
def test_many_columns_are_written_in_place(name: str) -> None:
    branches = list(nodes_of(If, laid_out(PROGRAMS[name], "cpu")))
    written = [m.permutation for b in branches for m in nodes_of(Manifest, b.then)]
    copied = [m.permutation for b in branches for m in nodes_of(Manifest, b.otherwise)]
    assert set(written) == {(1, 0)} and set(copied) == {(0, 1)}


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_results(name: str, schedule: str) -> None:
    text = HEAD + PROGRAMS[name]
    oracle = minifut.compile(text, backend="interpreter")
    program = minifut.compile(text, schedule=schedule)
    random = np.random.default_rng(5)
    for shape in ((7, 5), (4, 63), (5, 64), (3, 150), (1, 70), (0, 80), (6, 0)):
        x = random.random(shape).astype(np.float32)
        found, wanted = program.main(x), oracle.main(x)
        if not isinstance(wanted, tuple):
            found, wanted = (found,), (wanted,)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5)
