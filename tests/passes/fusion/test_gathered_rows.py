"""Rows that are gathered to be folded by columns are not stored in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.ir.core import Stm
from minifut.ir.soacs import Screma
from minifut.ir.traverse import walk
from minifut.ir.types import shape_of
from minifut.passes.pipelines import DEFAULT, find_pass
from tests.passes.test_versions import compiled

FUSED = DEFAULT[: DEFAULT.index(find_pass("fuse")) + 1]
HEAD = "def main [v][d][n][l] (table: [v][d]i64) (words: [n][l]i32): [n][d]i64 ="
GATHERS = {
    "sums": """map (\\ws -> let rows = map (\\w -> table[i64.i32 w]) ws
        in map (\\c -> i64.sum c / i64.max 1 l) (transpose rows)) words""",
    "extremes of squares": """map (\\ws ->
        map (\\c -> i64.maximum (map (\\x -> x * x) c))
            (transpose (map (\\w -> table[i64.i32 (w / 2)]) ws))) words""",
}
OTHERS = {
    "rows needed twice": """map (\\ws -> let rows = map (\\w -> table[i64.i32 w]) ws
        in map2 (\\c x -> i64.sum c + x) (transpose rows) rows[0]) words""",
}


def inner_arrays(source: str) -> list[Stm]:
    """What maps of the fused program make that has two dimensions, and transposes."""
    _, program = compiled(HEAD + source, FUSED)
    (whole,) = (
        node
        for node in walk(program)
        if isinstance(node, Stm)
        and isinstance(node.exp, Screma)
        and len(shape_of(node.pattern[0].type)) == 2
        and len(node.exp.arrays) == 1
        and str(node.exp.width).startswith("n")
    )
    return [
        node
        for node in walk(whole.exp)
        if isinstance(node, Stm)
        and isinstance(node.exp, Screma)
        and any(len(shape_of(p.type)) == 2 for p in node.pattern)
    ]


@pytest.mark.parametrize("name", GATHERS)
def test_rows_are_not_stored(name: str) -> None:
    assert not inner_arrays(GATHERS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_needed_is_stored(name: str) -> None:
    assert inner_arrays(OTHERS[name])


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", GATHERS | OTHERS)
def test_all_versions_agree(name: str, schedule: Any) -> None:
    source = HEAD + (GATHERS | OTHERS)[name]
    oracle = minifut.compile(source, backend="interpreter")
    program = minifut.compile(source, schedule=schedule)
    random = np.random.default_rng(1)
    for d, n, long in ((1, 1, 1), (19, 7, 3), (64, 5, 8)):
        table = random.integers(-99, 99, (10, d))
        words = random.integers(0, 10, (n, long)).astype(np.int32)
        wanted = oracle.main(table, words)
        for version in program.versions("main"):
            default = dict(program.tuning)
            program.tuning.update(version.settings)
            assert np.array_equal(program.main(table, words), wanted), version.name
            program.tuning.update(default)


@pytest.mark.device
def test_an_index_outside_fails_where_it_did() -> None:
    program = minifut.compile(HEAD + GATHERS["sums"])
    with pytest.raises(minifut.ProgramError, match=r"Index \[10\] out of bounds"):
        program.main(np.zeros((10, 3), np.int64), np.full((2, 2), 10, np.int32))
