"""Maps whose innermost dimension is a few points, with checks of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut

TABLE = (
    "entry main [h][w] (img: [h][w][3]i32) (table: []u8): [h][w][3]u8 ="
    " map (map (map (\\x -> table[x]))) img"
)
PROGRAMS = {
    "a table": TABLE,
    "a table of parts of an image": (
        "entry main [h][w] (img: [h][w][3]i32) (table: []u8) ="
        " tabulate_3d (h / 2) (w / 2) 3 (\\i j c ->"
        " table[(img[2 * i, 2 * j, c] + img[2 * i + 1, 2 * j + 1, c]) / 2] ^ u8.i64 c)"
    ),
    "a branch around it": (
        "entry main [h][w] (img: [h][w][3]i32) (table: []u8) ="
        " map (map (map (\\x -> if x < 5 then 0 else table[x]))) img"
    ),
    "rows of two": (
        "entry main [h][w] (img: [h][w][3]i32) (table: []u8) ="
        " map (map (\\x -> map (\\k -> table[x[k]] + table[x[k + 1]]) (iota 2))) img"
    ),
}


def arguments(h: int, w: int) -> tuple[Any, Any]:
    random = np.random.default_rng(h)
    table = random.integers(0, 256, 100).astype(np.uint8)
    return random.integers(0, 100, (h, w, 3)).astype(np.int32), table


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_interpreter(name: str, schedule: str) -> None:
    program = minifut.compile(PROGRAMS[name], schedule=schedule)
    oracle = minifut.compile(PROGRAMS[name], backend="interpreter")
    for h, w in ((1, 2), (3, 5), (41, 33), (120, 64)):
        given = arguments(h, w)
        np.testing.assert_array_equal(program.main(*given), oracle.main(*given))


@pytest.mark.device
@pytest.mark.parametrize("wrong", [-1, 100, 1 << 30])
@pytest.mark.parametrize("place", [(0, 0, 0), (20, 7, 1), (40, 32, 2)])
def test_an_index_outside_of_the_table_is_found(
    wrong: int, place: tuple[int, int, int]
) -> None:
    image, table = arguments(41, 33)
    image[place] = wrong
    with pytest.raises(
        minifut.ProgramError, match=f"Index \\[{wrong}\\] out of bounds"
    ):
        minifut.compile(TABLE).main(image, table)
