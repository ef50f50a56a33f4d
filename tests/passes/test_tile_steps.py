"""Several steps of stencils at once, against the interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import minifut
from minifut import stages
from minifut.cli.dev import command
from minifut.errors import Source
from minifut.interpreted import interpreted_program

TILED = {
    "guards": """entry main [n][m] (k: i32) (a: [n][m]f32) =
        loop a for _t < k do tabulate_2d n m (\\i j ->
          if i == 0 || i == n - 1 || j == 0 || j == m - 1 then a[i, j]
          else 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]))""",
    "clamps": """entry main [n][m] (k: i32) (a: [n][m]f32) =
        let at (b: [n][m]f32) i j =
          b[i64.max 0 (i64.min (n - 1) i), i64.max 0 (i64.min (m - 1) j)]
        in loop a for _t < k do tabulate_2d n m (\\i j ->
             at a i j * 0.5 + at a (i - 2) j * 0.25 + at a (i + 1) (j - 3) * 0.125)""",
    "one dimension": """entry main [n][m] (k: i32) (a: [n][m]f32) =
        loop a = flatten a for _t < k do tabulate (n * m) (\\i ->
          if i == 0 || i == n * m - 1 then a[i]
          else 0.5 * a[i] + 0.25 * (a[i - 1] + a[i + 1]))""",
    "three dimensions": """entry main [n][m] (k: i32) (a: [n][m]f32) =
        loop a = replicate 5 a for _t < k do tabulate_3d 5 n m (\\h i j ->
          let up = if h == 0 then 0 else a[h - 1, i, j]
          let left = if j == 0 then 1 else a[h, i, j - 1]
          in 0.5 * (up + left - a[h, i, j]))""",
    "one side": """entry main [n][m] (k: i32) (a: [n][m]f32) =
        loop a for _t < k do tabulate_2d n m (\\i j ->
          a[i, j] * 0.5 - (if i > 2 then a[i - 3, j] else 0))""",
    "another array": """entry main [n][m] (k: i32) (a: [n][m]f32) =
        let b = map (map (* 2)) a
        in loop a for _t < k do tabulate_2d n m (\\i j ->
             0.5 * (b[n - 1 - i, j] + (if i < n - 1 then a[i + 1, j] else 0)))""",
    "functions": """entry main [n][m] (k: i32) (a: [n][m]f32) =
        loop a for _t < k do tabulate_2d n m (\\i j ->
          f32.sin (a[i, j] + (if i > 0 then a[i - 1, j] else 0)))""",
}
WHOLE = {
    "rows wrap": """entry main [n][m] (k: i32) (a: [n][m]f32) =
        loop a for _t < k do tabulate_2d n m (\\i j -> a[(i + 1) % n, j] - a[i, j])""",
    "own rows only": """entry main [n][m] (k: i32) (a: [n][m]f32) =
        loop a for _t < k do tabulate_2d n m (\\i j ->
          if j == 0 then a[i, j] else a[i, j - 1] * 0.5)""",
    "the number of the step": """entry main [n][m] (k: i32) (a: [n][m]f32) =
        loop a for t < k do tabulate_2d n m (\\i j ->
          if i == 0 then f32.i32 t else a[i - 1, j] * 0.5)""",
    "a transposition": """entry main [n][m] (k: i32) (a: [n][m]f32) =
        loop a = a ++ a :> [n + n][m]f32 for _t < k do
          tabulate_2d (n + n) m (\\i j -> if i < m && j < n then a[j, i] else a[i, j])""",
}


@pytest.mark.parametrize("name", [*TILED, *WHOLE])
def test_stencils_are_recognised(name: str, tmp_path: Path) -> None:
    file = tmp_path / "stencil.fut"
    file.write_text((TILED | WHOLE)[name])
    told = CliRunner().invoke(command, ["--explain", str(file)]).output
    assert ("tile_stencil_steps  ->" in told) == (name in TILED), told


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", [*TILED, *WHOLE])
@pytest.mark.parametrize("steps", [0, 1, 4, 9])
def test_tiled_steps_agree_with_the_interpreter(name: str, steps: int) -> None:
    text = (TILED | WHOLE)[name]
    params = {"main.loop_map.host": 0}
    if name in TILED:
        params["main.loop_steps"] = 0
    program = minifut.compile(text, schedule="cpu", params=params)
    oracle = interpreted_program(stages.to_core(stages.check(Source("s.fut", text))))
    random = np.random.default_rng(3)
    for shape in ((0, 3), (3, 0), (1, 1), (2, 5), (17, 9), (70, 33)):
        a = random.integers(-8, 8, shape).astype(np.float32)
        mine, wanted = program.main(steps, a), oracle.main(steps, a)
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.device
@pytest.mark.parametrize("name", ["guards", "clamps", "one side", "another array"])
def test_blocks_meet_at_any_row(name: str) -> None:
    """More rows than a block has, for each worker, and a last block of few rows."""
    plain = minifut.compile(TILED[name], schedule="cpu")
    tiled = minifut.compile(TILED[name], schedule="cpu", params={"main.loop_steps": 0})
    random = np.random.default_rng(3)
    for shape in ((130, 3000), (1025, 300), (97, 8000)):
        a = random.random(shape).astype(np.float32)
        np.testing.assert_array_equal(tiled.main(6, a), plain.main(6, a))
