"""All programs that tiling must know, tiled, on the device in both schedules: several
blocks of the common dimension, several groups, and parts beyond every edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.kernels import NEVER
from tests.lowering.random_nests import random_nest
from tests.passes.tiling.derive import NAMES
from tests.passes.tiling.programs import PROGRAMS

pytestmark = pytest.mark.device

TILES = {"cpu": [(2, 1, 4, 3, 16), (1, 2, 3, 2, 3)], "gpu": [(2, 4, 3, 2, 2)]}
SHAPES = ((5, 9, 7), (9, 20, 33), (2, 1, 3))
CASES = [(schedule, tiles) for schedule in TILES for tiles in TILES[schedule]]


def check(
    text: str, schedule: str, tiles: tuple[int, ...], cases: list[list[Any]]
) -> None:
    """The tiled program on the device gives what the interpreter gives."""
    wanted = {**dict(zip(NAMES, tiles, strict=True)), "tiled": 0, "split": NEVER}
    compiled = minifut.compile(text, schedule=schedule)
    for name in list(compiled.tuning):
        compiled.tuning[name] = wanted.get(
            name.rpartition(".")[2], compiled.tuning[name]
        )
    oracle = minifut.compile(text, backend="interpreter")
    for given in cases:
        found, expected = compiled.main(*given), oracle.main(*given)
        several = isinstance(expected, tuple)
        pairs = zip(found, expected, strict=True) if several else [(found, expected)]
        for one, other in pairs:
            np.testing.assert_array_equal(one, other)


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("schedule", "tiles"), CASES)
def test_tiled_programs_agree_with_the_interpreter(
    name: str, schedule: str, tiles: tuple[int, ...]
) -> None:
    program, random = PROGRAMS[name], np.random.default_rng(3)
    cases = [program.arguments(random, *shape) for shape in SHAPES]
    check(program.text, schedule, tiles, cases)


@pytest.mark.sweep
@pytest.mark.optimised
@pytest.mark.parametrize("seed", range(8))
def test_random_nests_agree_with_the_interpreter(seed: int) -> None:
    text, cases = random_nest(seed)
    schedule, tiles = CASES[seed % len(CASES)]
    check(text, schedule, tiles, cases)


@pytest.mark.optimised
@pytest.mark.parametrize("columns", [2048, 2047])
def test_large_results_of_few_steps_are_stored_around_the_caches(columns: int) -> None:
    text = PROGRAMS["product"].text
    program = minifut.compile(text, schedule="cpu")
    kernels = stages.to_host_module(
        stages.to_kernels(stages.to_core(stages.check(Source("product.fut", text)))),
        "cpu",
        "product",
    )
    assert "STREAM((float16)" in kernels
    random = np.random.default_rng(5)
    a = random.integers(-4, 5, (2100, 9)).astype(np.float32)
    b = random.integers(-4, 5, (9, columns)).astype(np.float32)
    np.testing.assert_array_equal(program.main(a, b), a @ b)
