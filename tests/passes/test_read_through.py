"""Arrays of elements in other places are read where the elements lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.ir.core import Index, Program
from minifut.ir.kernels import SegMap
from minifut.ir.soacs import Screma
from minifut.ir.traverse import walk
from minifut.ir.types import ArrayType
from minifut.passes.pipelines import DEFAULT, READ_THROUGH, run_pass
from tests.passes.test_versions import compiled

BEFORE = DEFAULT[: DEFAULT.index(READ_THROUGH)]
HEAD = "entry main [n][m] (a: [n][m]f32) (k: i64): [][]f32 = "

READ = {
    "shifts by a table": """
  let s = map (\\d -> map (rotate d) a) [k, -k]
  in tabulate_2d n m (\\i j -> s[0, i, j] - s[1, i, j])""",
    "rotations of both dimensions": """
  let s = map2 (\\d e -> rotate d (map (rotate e) a)) [0, 1, k] [1, 0, -1]
  in tabulate_2d n m (\\i j -> s[0, i, j] + 2 * s[1, i, j] - s[2, i, j])""",
    "whole rows of what was moved": """
  let s = tabulate 3 (\\d -> rotate (d * k) (map (rotate d) a))
  in map2 (\\p q -> map2 (\\x y -> x * y + 1) p q) s[0] (map (rotate 1) s[2])""",
    "rows in places that are computed": """
  let s = map (\\i -> a[(i * k) % n]) (iota n)
  in tabulate_2d n m (\\i j -> s[n - 1 - i, (j + 1) % m] + s[i, j])""",
    "the other way round, and edges": """
  let s = tabulate_2d m n (\\i j -> a[n - 1 - j, i])
  let t = tabulate_2d n m (\\i j -> s[i64.min (m - 1) (j + 1), i])
  in tabulate_2d n m (\\i j -> t[i, j] + t[i64.max 0 (i - 1), j])""",
    "a move of a move": """
  let s = map (\\d -> map (rotate d) a) [k, 2]
  let t = map (\\d -> rotate d s[1]) [1, -k]
  in tabulate_2d n m (\\i j -> s[0, i, j] + t[0, i, j] * t[1, i, j])""",
    "through a view in another order": """
  let s = map (\\d -> map (rotate d) (rotate k a)) [1, -1, 2]
  in map (map (\\x -> x[0] - x[1] * x[2])) (map transpose (transpose s))""",
    "in a branch": """
  let s = map (\\d -> map (rotate d) a) [k, 2]
  in tabulate_2d n m (\\i j -> if a[i, j] > 0.5 then s[0, i, j] else s[1, i, j])""",
}
KEPT = {
    "elements by data": """
  let at = map (\\x -> i64.f32 (x * f32.i64 m)) a[0]
  let s = tabulate_2d n m (\\i j -> #[unsafe] a[i, at[j]])
  in tabulate_2d n m (\\i j -> s[i, j] + s[i, m - 1 - j])""",
    "again and again in loops": """
  let s = tabulate_2d n m (\\i j -> a[(i + k) % n, j])
  in tabulate_2d n m (\\i j -> loop x = 0 for l < n do x + s[l, j] * a[i, j])""",
    "needed as it is": """
  let s = tabulate 2 (\\d -> map (rotate (d + k)) a)
  let t = tabulate_2d n m (\\i j -> s[0, i, j] + s[1, i, j])
  in flatten s ++ t""",
    "what is overwritten": """
  let s = tabulate 2 (\\d -> map (rotate (d + k)) a)
  let b = copy a with [0] = replicate m 1
  in tabulate_2d n m (\\i j -> b[i, j] + s[0, i, j] * s[1, i, j])""",
}
FLAT = {
    "values of a histogram": """
  let (x, y) = unzip (flatten (tabulate_2d n m (\\i j -> (i, j))))
  let b = map (\\e -> i64.f32 (e * 5)) (flatten a)
  let f (p, q) (r, s) = (i64.min p r, q + s)
  let (p, q) = unzip (reduce_by_index (replicate 5 (n, 0)) f (n, 0) b (zip x y))
  in [map2 (\\p q -> f32.i64 (p + q)) p q]""",
    "bins and values": """
  let (b, v) = unzip (flatten (tabulate_2d n m (\\i j ->
    (i64.f32 (a[i, 0] * 4) + j, a[i, j] + f32.i64 i))))
  in [reduce_by_index (replicate (m + 4) 0) f32.max 0 b v]""",
    "positions that are kept": """
  let (i, j) = unzip (filter (\\(i, j) -> a[i, j] > 0.4)
                             (flatten (tabulate_2d n m (\\i j -> (i, j)))))
  in [map f32.i64 i, map f32.i64 j]""",
    "pairs that are kept": """
  let d = flatten (tabulate_2d n (m - 1) (\\i j -> (i + j, a[i, j] - a[i, j + 1])))
  in [map (\\(i, x) -> f32.i64 i * x) (filter (\\(_, x) -> x < 0) d)]""",
    "scattered": """
  let (p, x) = unzip (flatten (tabulate_2d n m (\\i j -> (j * n + i, a[i, j] * f32.i64 k))))
  in [scatter (replicate (n * m) 0) p x]""",
    "three dimensions": """
  let (b, v) = unzip (flatten_3d (tabulate_3d n m n (\\i j l -> ((i + j) % 3, a[i, j] + f32.i64 l))))
  in [reduce_by_index (replicate 3 0) f32.max 0 b v]""",
    "a transposed nest": """
  let (b, v) = unzip (flatten (transpose (tabulate_2d n m (\\i j -> (i % 2, a[i, j])))))
  in [reduce_by_index (replicate 2 0) f32.max 0 b v]""",
    "elements for two SOACs": """
  let (x, y) = unzip (flatten (tabulate_2d n (m - 1) (\\i j -> (a[i, j], a[i, j + 1]))))
  let c = map2 (\\x y -> i64.bool (x < y)) x y
  let h = hist (+) 0 2 c (map (const 1) c)
  let s = f32.maximum (map3 (\\x y c -> if c == 1 then x * y else x) x y c)
  in [map f32.i64 h, [s, 0]]""",
}
STORED = {
    "a scan": """
  let x = flatten (tabulate_2d n m (\\i j -> a[i, j] + f32.i64 (i % 3)))
  in [scan f32.max 0 x]""",
    "functions for bins": """
  let b = flatten (tabulate_2d n m (\\i j -> i64.f32 (f32.sqrt (a[i, 0] * f32.i64 j))))
  in [reduce_by_index (replicate (m + 4) 0) (+) 0 b (map (const 1) b)]""",
    "needed elsewhere": """
  let x = tabulate_2d n m (\\i j -> a[i, j] * f32.i64 (j - i))
  in x ++ [reduce_by_index (replicate m 0) f32.max 0 (map (\\x -> i64.f32 x) (flatten x)) (flatten x)]""",
}
BY_UPDATES = """
entry main [n] (a: *[n]f32) (k: i64): [n]f32 =
  let s = map (\\d -> rotate d a) [k, 1]
  let a = a with [0] = 7
  in tabulate n (\\i -> a[i] + s[0, i] + s[1, i])"""


def maps(program: Program) -> int:
    return sum(isinstance(node, Screma) for node in walk(program))


def made_by_maps(program: Program) -> list[Any]:
    """The arrays that SOACs of the only function make."""
    (function,) = program.functions
    made = (s for s in function.body.statements if isinstance(s.exp, Screma))
    found = [bound for statement in made for bound in statement.pattern]
    return [bound for bound in found if isinstance(bound.type, ArrayType)]


def around(source: str) -> tuple[Program, Program]:
    """A program before and after the pass."""
    _, before = compiled(source, BEFORE)
    return before, run_pass("read-through", before)


@pytest.mark.parametrize("name", READ)
def test_no_array_of_moved_elements_is_left(name: str) -> None:
    before, after = around(HEAD + READ[name])
    assert maps(after) < maps(before)
    reads = [node.array for node in walk(after) if isinstance(node, Index)]
    assert reads and {p.name for p in made_by_maps(after)}.isdisjoint(reads)


@pytest.mark.parametrize("name", FLAT)
def test_no_flattened_nest_is_left(name: str) -> None:
    _, after = around(HEAD + FLAT[name])
    assert all(len(bound.type.shape) == 1 for bound in made_by_maps(after))


@pytest.mark.parametrize("name", STORED)
def test_other_nests_are_stored(name: str) -> None:
    _, after = around(HEAD + STORED[name])
    assert any(len(bound.type.shape) == 2 for bound in made_by_maps(after))


@pytest.mark.parametrize("name", ["elements by data", "again and again in loops"])
def test_other_arrays_stay(name: str) -> None:
    before, after = around(HEAD + KEPT[name])
    assert after is before


def test_what_is_overwritten_is_read_before() -> None:
    before, after = around(BY_UPDATES)
    assert after is before


@pytest.mark.sweep
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", READ | KEPT | FLAT | STORED)
def test_the_device_agrees(name: str, schedule: str) -> None:
    source = HEAD + (READ | KEPT | FLAT | STORED)[name]
    oracle = minifut.compile(source, backend="interpreter")
    program = minifut.compile(source, schedule=schedule)
    random = np.random.default_rng(3)
    for shape, k in (((5, 7), 1), ((3, 40), -2), ((1, 1), 5), ((90, 300), 0)):
        given: tuple[Any, ...] = (random.random(shape, dtype=np.float32), np.int64(k))
        np.testing.assert_array_equal(program.main(*given), oracle.main(*given))


def test_rearranged_rows_are_a_view() -> None:
    source = """
entry main [n][m] (a: [n][m]f32): [3][n][m]f32 =
  let points = map (map (\\x -> [x, x * x, x + 1])) a
  in transpose (map transpose points)"""
    _, flat = compiled(source, DEFAULT)
    kernels = [node for node in walk(flat) if isinstance(node, SegMap)]
    assert len(kernels) == 1
    given = np.random.default_rng(3).random((4, 5), dtype=np.float32)
    for schedule in ("cpu", "gpu"):
        laid_out = stages.to_schedule(flat, schedule)
        made = stages.to_kernel_code(laid_out, schedule).kernels
        (kernel,) = [k for k in made if not k.name.endswith("_narrow")]
        assert "transpose" not in kernel.name
        program = minifut.compile(source, schedule=schedule)
        np.testing.assert_array_equal(
            program.main(given), np.stack([given, given * given, given + 1])
        )
