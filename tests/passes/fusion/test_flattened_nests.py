"""Folds of flattened nests of maps are folds of rows: nothing is stored between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from tests.passes.fusion.test_imperfect_nests import outermost

HEAD = "def main [n] (xss: [n][n]i64) (v: [n][n]i64): i64 ="
NESTS = {
    "products of rows": "i64.sum (flatten (tabulate_2d n n (\\i j -> v[0, i] - v[1, j])))",
    "three dimensions": """
        i64.maximum (flatten_3d (tabulate_3d n n n (\\i j k -> xss[i, j] * v[j, k])))""",
    "flattened twice": """
        i64.sum (flatten (flatten (tabulate_3d n n n (\\i j k -> xss[i, j] - v[j, k]))))""",
    "two results": """
        let (ps, qs) = unzip (flatten (tabulate_2d n n (\\i j -> (v[i, 0], v[0, j]))))
        in i64.sum ps - i64.maximum qs""",
    "beside a flattened array": """
        let ps = flatten (map (\\x -> map (\\y -> x * y) v[0]) v[1])
        in i64.sum (map2 (*) ps (flatten xss))""",
    "no commutative operator": """
        (reduce (\\(x, i) (y, j) -> if y < x then (y, j) else (x, i))
          (i64.highest, -1)
          (flatten (tabulate_2d n n (\\i j -> (v[0, i] - v[1, j], i * n + j))))).1""",
}


@pytest.mark.parametrize("name", NESTS)
def test_nothing_is_stored(name: str) -> None:
    assert outermost(HEAD + NESTS[name]) == 1


def test_what_is_needed_twice_is_stored() -> None:
    source = """def main [n] (v: [n]i64): (i64, [n * n]i64) =
      let ps = flatten (map (\\x -> map (\\y -> x * y) v) v)
      in (i64.sum ps, ps)"""
    assert outermost(source) == 2


@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", NESTS)
def test_all_versions_agree(name: str, schedule: Any) -> None:
    oracle = minifut.compile(HEAD + NESTS[name], backend="interpreter")
    program = minifut.compile(HEAD + NESTS[name], schedule=schedule)
    random = np.random.default_rng(1)
    for n in (2, 7, 40):
        xss, v = random.integers(0, 40, (2, n, n))
        wanted = oracle.main(xss, v)
        for version in program.versions("main"):
            default = dict(program.tuning)
            program.tuning.update(version.settings)
            assert program.main(xss, v) == wanted, version.name
            program.tuning.update(default)
