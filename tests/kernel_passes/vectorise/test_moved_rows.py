"""Points that copy rows which data select go along the rows, not across them."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import ProgramError, Source

ALONG = {
    "rows of any length": "map (\\i -> xs[i]) is",
    "rows with a factor": "map2 (\\i j -> map (* f32.i64 j) xs[i]) is (indices is)",
    "columns of a row": "map (\\i -> take (d / 2) xs[i]) is",
    "sums of rows": "map (\\i -> [f32.sum xs[i]]) is",
    "products of rows": "map (\\i -> [f32.sum (map2 (*) xs[i] xs[0])]) is",
    "rows of three": "map (\\i -> take 3 xs[i]) is",
}
ACROSS = {
    "roots of rows": "map (\\i -> map f32.sqrt (map f32.exp xs[i])) is",
    "reversed rows": "map (\\i -> reverse xs[i]) is",
    "greatest of rows": "map (\\i -> [f32.maximum xs[i]]) is",
}


def source(body: str) -> str:
    head = "entry main [n] [m] [d] (xs: [n][d]f32) (is: [m]i64): [][]f32 = "
    return head + "#[incremental_flattening(only_outer)] " + body


def lifted(body: str) -> bool:
    """Whether there are explicit vectors."""
    core = stages.to_core(stages.check(Source("rows.fut", source(body))))
    return "LANES" in stages.to_host_module(stages.to_kernels(core), "cpu", "rows")


@pytest.mark.parametrize("name", ALONG)
def test_rows_are_gone_through_one_by_one(name: str) -> None:
    assert not lifted(ALONG[name])


@pytest.mark.parametrize("name", ACROSS)
def test_there_are_lanes_in_others(name: str) -> None:
    assert lifted(ACROSS[name])


@pytest.mark.device
@pytest.mark.parametrize("name", ALONG | ACROSS)
def test_the_results(name: str) -> None:
    text = source((ALONG | ACROSS)[name])
    oracle = minifut.compile(text, backend="interpreter")
    random = np.random.default_rng(5)
    for schedule in ("cpu", "gpu"):
        program = minifut.compile(text, schedule=schedule)
        for d in (3, 8, 21):
            xs = random.random((7, d)).astype(np.float32)
            places = random.integers(0, 7, 45)
            found = np.asarray(program.main(xs, places))
            np.testing.assert_allclose(found, oracle.main(xs, places), rtol=1e-5)
            places[31] = 7
            with pytest.raises(ProgramError):
                program.main(xs, places)
