"""Maps over the columns of a matrix that a loop changes row by row, in one thread."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

BODIES = {
    "forward substitution": """
      loop x = copy b for i < n do
        let row = tabulate m (\\j ->
          (b[i, j] - f64.sum (map (\\k -> l[i, k] * x[k, j]) (iota i))) / (2 + l[i, i]))
        in x with [i] = row""",
    "back substitution": """
      loop x = copy b for k < n do
        let i = n - 1 - k
        let row = tabulate m (\\j ->
          (b[i, j] - f64.sum (map (\\k -> l[i, i+1+k] * x[i+1+k, j]) (iota (n-1-i)))) / 3)
        in x with [i] = row""",
    "best of the row before": """
      loop x = copy b for i in 1..<n do
        let row = tabulate m (\\j ->
          b[i, j] + f64.max x[i-1, j] (f64.max x[i-1, i64.max 0 (j-1)]
                                               x[i-1, i64.min (m-1) (j+1)]))
        in x with [i] = row""",
    "running sums": """
      loop x = copy b for i in 1..<n do
        let row = tabulate m (\\j -> loop s = x[i, j] for k < 3 do s / 2 + x[i-1, j])
        in x with [i] = row""",
    "the diagonal too": """
      loop x = copy b for i < n do
        let row = tabulate m (\\j ->
          f64.sum (map (\\k -> l[i, k] * x[k, j] * x[k, i % m]) (iota i)) / 9 + b[i, j])
        in x with [i] = row""",
}


@pytest.mark.device
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("width", [1, 5, 37, 64])
def test_columns_in_place_give_the_same(name: str, width: int) -> None:
    text = f"""
      def main [n][m] (l: [n][n]f64) (b: [n][m]f64) : [n][m]f64 = {BODIES[name]}"""
    core = stages.to_core(stages.check(Source("r", text)))
    random = np.random.default_rng(4)
    given = random.random((9, 9)), random.random((9, width))
    program = minifut.compile(text, schedule="cpu")
    expected = interpreted_program(core).main(*given)
    for number in (0, 1 << 62):
        for tunable in program.tuning:
            if tunable.endswith(".host"):
                program.tuning[tunable] = number
        np.testing.assert_allclose(program.main(*given), expected, rtol=1e-12)
