"""In threads, folds of rows that are computed make no row between."""

from __future__ import annotations

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.core import Loop, Program
from minifut.ir.parser import names_after
from minifut.ir.search import contains
from minifut.ir.soacs import SOAC_EXPRESSIONS
from minifut.ir.traverse import walk
from minifut.passes.pipeline import Pass
from minifut.passes.pipelines import DEFAULT, MODERATE, run_pipeline
from tests.passes.meaning import assert_same, outcome

HEAD = """
entry main [n][k][d] (xss: [k][d]i64) (is: [n][k]i64) (ws: [n][k]i64): [n][d]i64 =
  #[sequential_inner]
  map2 (\\is ws -> """
PROGRAMS = {
    "scaled rows": """
      reduce (map2 (+)) (replicate d 0) (map2 (\\i w -> map (* w) xss[i % k]) is ws)""",
    "two maps of each row": """
      reduce (map2 (+)) (replicate d 0)
        (map2 (\\i w -> map (+ i) (map (* w) xss[i % k])) is ws)""",
    "maxima": """
      reduce (map2 i64.max) (replicate d 0)
        (map2 (\\i w -> map2 (*) (map (* w) xss[i % k]) xss[0]) is ws)""",
}


def in_threads(text: str) -> Program:
    program = stages.to_core(stages.check(Source("rows.fut", HEAD + text + ") is ws")))
    return run_pipeline(program, names_after(program), steps=MODERATE)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_round_is_one_loop_over_the_row(name: str) -> None:
    program = in_threads(PROGRAMS[name])
    assert not contains(program, SOAC_EXPRESSIONS)
    folds = [
        node
        for node in walk(program)
        if isinstance(node, Loop) and any(isinstance(n, Loop) for n in walk(node.body))
    ]
    (fold,) = folds
    assert sum(isinstance(node, Loop) for node in walk(fold.body)) == 1


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("steps", [MODERATE, DEFAULT], ids=["moderate", "default"])
def test_the_numbers_are_the_same(name: str, steps: tuple[Pass, ...]) -> None:
    text = HEAD + PROGRAMS[name] + ") is ws"
    program = stages.to_core(stages.check(Source("rows.fut", text)))
    after = run_pipeline(program, names_after(program), steps=steps)
    random = np.random.default_rng(1)
    for n, k, d in ((3, 4, 5), (2, 1, 1), (0, 2, 3), (4, 3, 0)):
        arguments = [random.integers(0, 9, shape) for shape in ((k, d), (n, k), (n, k))]
        assert_same(outcome(program, arguments), outcome(after, arguments), name)
