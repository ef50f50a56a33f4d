"""Folds of flattened rows of views become nests over the views, and mean the same. What
else reads flattened rows reads those of a flattened view."""

from __future__ import annotations

import numpy as np
import pytest

from minifut import stages
from minifut.errors import Source
from minifut.ir.core import Program, Reshape
from minifut.ir.kernels import SegRed, SegScan
from minifut.ir.parser import names_after
from minifut.ir.traverse import walk
from minifut.passes.pipeline import Pass
from minifut.passes.pipelines import (
    DEFAULT,
    FOLD_ROWS_OF_VIEWS,
    FULL,
    MODERATE,
    run_pipeline,
)
from tests.passes.meaning import assert_same, outcome

HEAD = "entry main [n][c][h][w] (x: [n][c][h][w]i64) = "
NESTED = {
    "channels": "map (\\y -> i64.sum (flatten_3d y)) (transpose x)",
    "what a map computes": """map (\\y ->
        i64.sum (map (\\v -> v * v) (flatten_3d y))) (transpose x)""",
    "two folds": """map (\\y ->
        (i64.sum (flatten_3d y), i64.maximum (flatten_3d y))) (transpose x)""",
    "rows of ranges": """map (map (\\y -> i64.sum (flatten y)))
        x[:, :, :, 1:3]""",
    "rows of rows": """map (map (\\y -> i64.sum (flatten y)))
        (map transpose (transpose x))""",
    "folds of what is flat": """let ys = map flatten_3d (transpose x)
        let sums = map i64.sum ys
        in map2 (\\y s -> i64.sum (map (\\v -> v * v - s) y)) ys sums""",
    "scan": "map (\\y -> scan (+) 0 (flatten_3d y)) (transpose x)",
    "fold and scan": """map (\\y -> let v = flatten_3d y
        in map (+ i64.sum v) (scan (+) 0 v)) (transpose x)""",
    "histogram": """map (\\y -> let v = flatten_3d y
        in hist (+) 0 4 (map (% 4) v) v) (transpose x)""",
    "scans of rows of rows": """map (map (\\y -> scan (+) 0 (flatten y)))
        (map transpose (transpose x))""",
}
KEPT = {
    "whole rows": "map (\\y -> i64.sum (flatten_3d y)) x",
    "a range of whole rows": "map (\\y -> i64.sum (flatten_3d y)) x[1:]",
    "no fold": "map (\\y -> flatten_3d y) (transpose x)",
    "flat already": "map i64.sum (transpose (flatten (flatten x)))",
}


def before_and_after(text: str) -> tuple[Program, Program]:
    program = stages.to_core(stages.check(Source("program.fut", HEAD + text)))
    names = names_after(program)
    for step in DEFAULT[: DEFAULT.index(FOLD_ROWS_OF_VIEWS)]:
        program = step.function(program, names)
    return program, FOLD_ROWS_OF_VIEWS.function(program, names)


def arguments() -> list[np.ndarray]:
    return [np.random.default_rng(3).integers(-9, 9, (3, 2, 4, 5))]


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_folds_are_nested(text: str) -> None:
    before, after = before_and_after(text)
    assert after is not before
    assert_same(outcome(before, arguments()), outcome(after, arguments()), text)


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_other_folds_are_kept(text: str) -> None:
    before, after = before_and_after(text)
    assert after is before


@pytest.mark.parametrize("steps", [DEFAULT, MODERATE, FULL])
@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_kernels_mean_the_same(text: str, steps: tuple[Pass, ...]) -> None:
    before, _ = before_and_after(text)
    program = stages.to_core(stages.check(Source("program.fut", HEAD + text)))
    after = run_pipeline(program, names_after(program), steps=steps)
    assert_same(outcome(before, arguments()), outcome(after, arguments()), text)


def test_no_point_of_a_scan_flattens_its_row() -> None:
    program = stages.to_core(stages.check(Source("program.fut", HEAD + NESTED["scan"])))
    after = run_pipeline(program, names_after(program), steps=FULL)
    scans = [node for node in walk(after) if isinstance(node, SegScan)]
    assert scans
    assert not any(isinstance(node, Reshape) for scan in scans for node in walk(scan))


def test_no_space_has_flat_rows_with_gaps() -> None:
    program = stages.to_core(
        stages.check(Source("program.fut", HEAD + NESTED["channels"]))
    )
    after = run_pipeline(program, names_after(program))
    sums = [node for node in walk(after) if isinstance(node, SegRed)]
    assert sums
    for node in sums:
        assert all(len(size.names()) < 3 for size in node.space.sizes), node.space
