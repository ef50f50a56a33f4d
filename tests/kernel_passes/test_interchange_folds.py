"""Folds of rows whose elements stay in registers."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.interpreted import interpreted_program

PROGRAMS = {
    "a mean of rows at indices": """
      entry main [v][d][n][k] (table: [v][d]f32) (is: [n][k]i64): [n][d]f32 =
        #[sequential_inner]
        map (\\ids ->
          let rows = map (\\i -> table[i]) ids
          in map (\\s -> s / 3) (reduce (map2 (+)) (replicate d 0) rows)) is""",
    "maxima": """
      entry main [v][d][n][k] (table: [v][d]f32) (is: [n][k]i64): [n][d]f32 =
        #[sequential_inner]
        map (\\ids ->
          reduce (map2 f32.max) (replicate d (-f32.inf)) (map (\\i -> table[i]) ids)) is
      """,
    "a loop over rows": """
      entry main [v][d][n][k] (table: [v][d]f32) (is: [n][k]i64): [n][d]f32 =
        map (\\ids -> loop acc = replicate d 0.5 for j < k do
               map2 (\\a x -> a * 0.5 + x) acc table[ids[j]]) is""",
}
APART = """
  entry main [v][d][n][k] (table: [v][d]f32) (is: [n][k]i64): [n][d]f32 =
    map (\\ids -> loop acc = replicate d 0.5 for j < k do
           tabulate d (\\c -> acc[d - 1 - c] + table[ids[j], c])) is"""
SIZES = [(5, 3), (16, 4), (33, 7), (64, 2), (100, 5), (71, 0), (0, 3), (4000, 20)]


@pytest.mark.device
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("lanes", [16, 8])
def test_folds_of_rows_agree_with_the_interpreter(name: str, lanes: int) -> None:
    program = minifut.compile(PROGRAMS[name], schedule="cpu", params={"lanes": lanes})
    core = stages.to_core(stages.check(Source("rows.fut", PROGRAMS[name])))
    oracle, random = interpreted_program(core), np.random.default_rng(5)
    for length, folded in SIZES:
        table = random.normal(size=(11, length)).astype(np.float32)
        indices = random.integers(0, 11, (3, folded))
        np.testing.assert_array_equal(
            program.main(table, indices), oracle.main(table, indices)
        )


@pytest.mark.device
def test_a_check_of_a_round_fails_as_before() -> None:
    program = minifut.compile(PROGRAMS["a loop over rows"], schedule="cpu")
    table = np.zeros((11, 40), np.float32)
    with pytest.raises(minifut.MinifutError, match=r"Index \[11\] out of bounds"):
        program.main(table, np.asarray([[3, 11, 12]]))


@pytest.mark.parametrize("text", [*PROGRAMS.values(), APART])
def test_only_folds_of_own_elements_are_interchanged(text: str) -> None:
    core = stages.to_core(stages.check(Source("rows.fut", text)))
    code = stages.to_host_module(stages.to_kernels(core), "cpu", "rows")
    assert ("float kept" in code) == (text != APART)
