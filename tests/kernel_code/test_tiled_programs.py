"""All programs that tiling must know, tiled, on the device in both schedules: several
blocks of the common dimension, several groups, and parts beyond every edge."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.ir.kernels import NEVER
from tests.passes.tiling.programs import PROGRAMS

pytestmark = pytest.mark.device

NAMES = (
    "block_rows",
    "block_columns",
    "block_depth",
    "register_rows",
    "register_columns",
)
TILES = {"cpu": [(2, 1, 4, 3, 16), (1, 2, 3, 2, 3)], "gpu": [(2, 4, 3, 2, 2)]}
SHAPES = ((5, 9, 7), (9, 20, 33), (2, 1, 3))
CASES = [(schedule, tiles) for schedule in TILES for tiles in TILES[schedule]]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("schedule", "tiles"), CASES)
def test_tiled_programs_agree_with_the_interpreter(
    name: str, schedule: str, tiles: tuple[int, ...]
) -> None:
    program = PROGRAMS[name]
    numbers = dict(zip(NAMES, tiles, strict=True))
    versions = {"tiled": 0, "split": NEVER}
    wanted = {f"{program.nest}.{k}": v for k, v in {**numbers, **versions}.items()}
    compiled = minifut.compile(program.text, schedule=schedule)
    known = compiled.tuning
    for parameter in wanted.keys() & set(known):
        known[parameter] = wanted[parameter]
    assert f"{program.nest}.tiled" in set(known)
    oracle = minifut.compile(program.text, backend="interpreter")
    random = np.random.default_rng(3)
    for shape in SHAPES:
        given = program.arguments(random, *shape)
        found, expected = compiled.main(*given), oracle.main(*given)
        several = isinstance(expected, tuple)
        pairs = zip(found, expected, strict=True) if several else [(found, expected)]
        for one, other in pairs:
            np.testing.assert_array_equal(one, other)
