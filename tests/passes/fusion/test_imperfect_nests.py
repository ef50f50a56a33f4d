"""Maps whose points hold several SOACs, or short ones, fuse with their consumers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.ir.core import Stm
from minifut.ir.soacs import SOAC_EXPRESSIONS
from minifut.ir.traverse import walk
from minifut.passes.pipelines import DEFAULT, find_pass
from tests.passes.test_versions import compiled

FUSED = DEFAULT[: DEFAULT.index(find_pass("fuse")) + 1]
HEAD = "def main [n] (xss: [n][n]i64) (v: [n][n]i64): [n][n]i64 ="
WIDE = "map2 i64.min xs (rotate 1 xs)"
FUSING = {
    "two maps in a point, then one": f"""
        map (\\xs -> let m = {WIDE} in tabulate n (\\i -> m[i] + m[(i + 1) % n])) xss
        |> map2 (map2 (-)) v""",
    "sums that are written out": """
        tabulate_2d n n (\\i j ->
          #[unroll] i64.sum (map (\\k -> xss[(i + k) % n, (j + k) % n]) (iota 3)))
        |> map2 (map2 (-)) v""",
    "sums that run in a thread": """
        map (map (\\x -> #[sequential] i64.sum (map (x *) (iota x)))) xss
        |> map2 (map2 (-)) v""",
    "a sum of each row, then a map": """
        map (\\xs -> replicate n (i64.sum (map2 (*) xs (rotate 1 xs)))) xss
        |> map2 (\\v ys -> let m = i64.sum v in map (m -) ys) v""",
    "rows that are shifted by extremes, then divided by sums": """
        map (\\xs -> let m = i64.maximum xs in map (\\x -> m - x) xs) xss
        |> map (\\xs -> let s = 1 + i64.sum xs in map (/ s) xs)
        |> map2 (\\v xs -> let p = i64.sum v in map (+ p) xs) v""",
}
STAYING = {
    "sums of products in each row, then a map": """
        map (\\xs -> let m = i64.sum xs
                    in map (\\ys -> m + i64.sum (map2 (*) xs ys)) xss) xss
        |> map2 (\\v ys -> let m = i64.sum v in map (m -) ys) v""",
}


def outermost(source: str) -> int:
    """How many SOACs the fused program has that no other one holds."""
    _, program = compiled(source, FUSED)
    (function,) = program.functions
    statements = [s for s in walk(function) if isinstance(s, Stm)]
    whole = [s for s in statements if isinstance(s.exp, SOAC_EXPRESSIONS)]
    inner = {id(s) for w in whole for s in walk(w.exp) if isinstance(s, Stm)}
    return sum(id(s) not in inner for s in whole)


@pytest.mark.parametrize("name", FUSING)
def test_no_array_is_between(name: str) -> None:
    assert outermost(HEAD + FUSING[name]) == 1


@pytest.mark.parametrize("name", STAYING)
def test_what_can_be_flattened_is_not_buried(name: str) -> None:
    assert outermost(HEAD + STAYING[name]) > 1


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", FUSING | STAYING)
def test_all_versions_agree(name: str, schedule: Any) -> None:
    source = HEAD + (FUSING | STAYING)[name]
    oracle = minifut.compile(source, backend="interpreter")
    program = minifut.compile(source, schedule=schedule)
    random = np.random.default_rng(1)
    for n in (0, 1, 2, 7, 40):
        xss, v = random.integers(0, 40, (2, n, n))
        wanted = oracle.main(xss, v)
        for version in program.versions("main"):
            default = dict(program.tuning)
            program.tuning.update(version.settings)
            assert np.array_equal(program.main(xss, v), wanted), version.name
            program.tuning.update(default)
