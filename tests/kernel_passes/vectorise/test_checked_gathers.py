"""Points that read at loaded indices, with checks that stay, go in lanes."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source

HEAD = "entry main [n] [m] (is: [n]i64) (xs: [m]f64) (ks: [m]i64): []f64 = "
FIRST = "let ys = map (\\i -> xs[ks[i]]) is in "
IN_LANES = {
    "what is selected": FIRST + "filter (> 0.5) ys",
    "two parts": FIRST + "let (a, b) = partition (> 0.5) ys in a ++ b",
    "selected by another": "map (.1) (filter (\\(i, _) -> ks[i] != i) (zip is xs[:n]))",
}
SCALAR = {
    "no loaded indices": "filter (> 0.5) xs",
    "bytes": "map f64.u8 (filter (> 3) (map (\\i -> (map u8.f64 xs)[i]) is))",
}


def marks(body: str) -> bool:
    """Whether the points of blocks are marked in explicit vectors."""
    core = stages.to_core(stages.check(Source("checked.fut", HEAD + body)))
    text = stages.to_host_module(stages.to_kernels(core), "cpu", "checked")
    return any(
        "loose_uchar" in line and "marks" in line and "=" in line.split("marks")[1]
        for line in text.split("\n")
    )


@pytest.mark.parametrize("name", IN_LANES)
def test_loads_wait_for_each_other_in_vectors(name: str) -> None:
    assert marks(IN_LANES[name])


@pytest.mark.parametrize("name", SCALAR)
def test_others_are_left_to_the_compiler_of_the_device(name: str) -> None:
    assert not marks(SCALAR[name])


@pytest.mark.device
@pytest.mark.parametrize("name", IN_LANES | SCALAR)
def test_the_results(name: str) -> None:
    text = HEAD + (IN_LANES | SCALAR)[name]
    oracle = minifut.compile(text, backend="interpreter")
    random = np.random.default_rng(5)
    for schedule in ("cpu", "gpu"):
        program = minifut.compile(text, schedule=schedule)
        for n in (0, 5, 16, 300, 1000):
            xs, ks = random.random(1000) * 9, random.integers(0, 1000, 1000)
            places = random.integers(0, 1000, n)
            found = np.asarray(program.main(places, xs, ks))
            np.testing.assert_array_equal(found, oracle.main(places, xs, ks))
        if name in IN_LANES:
            places[731] = 1000
            with pytest.raises(ProgramError, match=r"\[1000\]"):
                program.main(places, xs, ks)
