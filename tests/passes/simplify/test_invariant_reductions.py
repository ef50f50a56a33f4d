"""Reductions of invariant arrays' elements: meaning, and which leave their nest."""

from __future__ import annotations

import numpy as np
import pytest

import minifut
from minifut.ir.core import Program
from minifut.ir.soacs import Screma
from minifut.names import NameSource
from minifut.passes.pipelines import DEFAULT, find_pass, run_pass
from minifut.passes.simplify.driver import simplify
from tests.passes.test_versions import compiled

BEFORE = DEFAULT[: DEFAULT.index(find_pass("simplify"))]
HEAD = """def dot [d] (x: [d]f32) (y: [d]f32) = f32.sum (map2 (*) x y)
entry main [n] [m] [d] (xs: [n][d]f32) (ys: [m][d]f32): [n][m]f32 = """
MOVED = {
    "norms of pairs": "map (\\x -> map (\\y -> dot x y / f32.sqrt (dot y y + 1)) ys) xs",
    "with the norm of the outer": """map (\\x ->
        let a = dot x x in map (\\y -> dot x y / (1 + f32.sqrt a * dot y y)) ys) xs""",
    "several": """map (\\x -> map (\\y ->
        let (a, b) = (f32.maximum y, f32.sum y)
        in if dot x y < a then b else a * dot x y) ys) xs""",
    "in a loop": """loop r = replicate n (replicate m 1) for k < 3 do
        map2 (\\x t -> map2 (\\y s -> s * f32.i64 k + dot y y - dot x y) ys t) xs r""",
    "two levels": """map (\\x -> map (\\y ->
        f32.sum (map (\\z -> dot z y * dot z z) ys) + dot x y) ys) xs""",
}
KEPT = {
    "nothing invariant": "map (\\x -> map (\\y -> f32.sum (map2 (-) x y)) ys) xs",
    "an array": "map (\\x -> map (\\y -> dot x (scan (+) 0 y)) ys) xs",
    "a check": "map (\\x -> map (\\y -> f32.sum (map (\\a -> y[i64.f32 a]) y) - dot x y) ys) xs",
}


def maps_outside(program: Program) -> int:
    """SOACs in the body of the entry point itself."""
    statements = program.functions[-1].body.statements
    return sum(isinstance(statement.exp, Screma) for statement in statements)


@pytest.mark.parametrize("name", MOVED | KEPT)
def test_what_leaves_the_nest(name: str) -> None:
    _, before = compiled(HEAD + (MOVED | KEPT)[name], BEFORE)
    after = run_pass("simplify", before)
    moved = maps_outside(after) - maps_outside(before)
    assert (moved > 0) == (name in MOVED)
    assert simplify(after, NameSource(10_000)) is after


@pytest.mark.sweep
@pytest.mark.device
@pytest.mark.parametrize("name", MOVED | KEPT)
def test_the_device_agrees(name: str) -> None:
    source = HEAD + (MOVED | KEPT)[name]
    random = np.random.default_rng(1)
    for sizes in ((5, 7, 3), (1, 1, 20), (0, 4, 2), (4, 0, 2)):
        n, m, d = sizes
        given = [random.random((k, d), dtype=np.float32) for k in (n, m)]
        expected = minifut.compile(source, backend="interpreter").main(*given)
        found = minifut.compile(source).main(*given)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
