"""Loops that fold what others scan are one with these: meaning, and what is joined."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.core import Loop, Program
from minifut.ir.kernels import SegMap
from minifut.ir.parser import names_after
from minifut.ir.search import nodes_of
from minifut.passes.pipelines import run_pipeline

HEAD = "entry main [n][m] (xss: [n][m]f32) = "
JOINED = {
    "fall from the greatest": """map (\\xs ->
        let tops = scan f32.max 0 xs
        in f32.maximum (map2 (-) tops xs)) xss""",
    "sums of sums": "map (\\xs -> f32.sum (scan (+) 0 xs)) xss",
    "by a scan of pairs": """map (\\xs ->
        let (a, b) = unzip (scan (\\(a, b) (c, d) -> (a + c, f32.min b d))
                                 (0, f32.inf) (zip xs (map (* 2) xs)))
        in f32.sum (map3 (\\a b x -> if a > b then x else a) a b xs)) xss""",
    "by a loop": """map (\\xs ->
        let tops = scan f32.max 0 xs
        in loop s = 1 for i < m do s * 0.5 + tops[i] - xs[i]) xss""",
    "a fold of a map": """map (\\xs ->
        foldl (\\s x -> if x > s then x else s * 0.5 + x) 1
              (map2 (\\x y -> x * y + 2) xs (reverse xs))) xss""",
    "a fold of looked up elements": """map (\\xs ->
        let look x = if x < 0 then 7 else [3, 1, 4, 1][i64.f32 x & 3]
        in foldl (\\s x -> (s << 1) ^ x) 1i32 (map look xs)) xss""",
    "two folds": """map (\\xs ->
        let sums = scan (+) 0 (map (\\x -> x * x) xs)
        in (f32.sum (map2 (*) xs sums), f32.minimum sums)) xss |> unzip""",
}
APART = {
    "read elsewhere": """map (\\xs ->
        let sums = scan (+) 0 xs
        in loop s = 1 for i < m do s * 0.5 + sums[m - 1 - i]) xss""",
    "read again": """map (\\xs ->
        let sums = scan (+) 0 xs
        in loop s = f32.maximum sums for i < m do s * 0.5 + sums[i]) xss""",
    "the last one is needed": """map (\\xs ->
        let sums = scan (+) 0 xs
        in loop s = 1 for i < m do s * 0.5 + sums[i] / sums[m - 1]) xss""",
    "of exponentials, which go in vectors": """map (\\xs ->
        foldl (\\s x -> s * 0.5 + x) 1 (map f32.exp xs)) xss""",
    "of a map that is needed": """map (\\xs ->
        let ys = map (+ 1) xs in (foldl (\\s x -> s * 0.5 + x) 1 ys, ys)) xss |> unzip""",
    "returned": """map (\\xs ->
        let sums = scan (+) 0 xs
        in (sums, loop s = 1 for i < m do s * 0.5 + sums[i])) xss |> unzip""",
}


def kernels(text: str) -> Program:
    program = stages.to_core(stages.check(Source("program.fut", HEAD + text)))
    return run_pipeline(program, names_after(program))


def loops_of_threads(text: str) -> list[int]:
    """The number of loops of each map over rows."""
    maps = [m for m in nodes_of(SegMap, kernels(text)) if m.level.kind == "grid"]
    return [len(list(nodes_of(Loop, m))) for m in maps]


@pytest.mark.parametrize("name", JOINED)
def test_one_loop(name: str) -> None:
    assert loops_of_threads(JOINED[name])[0] == 1


@pytest.mark.parametrize("name", APART)
def test_loops_that_need_all_stay(name: str) -> None:
    assert loops_of_threads(APART[name])[0] > 1


@pytest.mark.device
@pytest.mark.parametrize("name", JOINED | APART)
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_results_are_those_of_the_interpreter(name: str, schedule: str) -> None:
    text = HEAD + (JOINED | APART)[name]
    program = minifut.compile(text, schedule=schedule)
    oracle = minifut.compile(text, backend="interpreter")
    for n, m in ((0, 3), (3, 0), (5, 7), (70, 40)):
        xss = np.random.default_rng(1).integers(-3, 4, (n, m)).astype(np.float32)
        given, wanted = program.main(xss), oracle.main(xss)
        pairs = (given, wanted) if isinstance(given, tuple) else ((given,), (wanted,))
        for one, other in zip(*pairs, strict=True):
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-4)
