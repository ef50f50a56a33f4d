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
BY_UPDATES = """
entry main [n] (a: *[n]f32) (k: i64): [n]f32 =
  let s = map (\\d -> rotate d a) [k, 1]
  let a = a with [0] = 7
  in tabulate n (\\i -> a[i] + s[0, i] + s[1, i])"""


def maps(program: Program) -> int:
    return sum(isinstance(node, Screma) for node in walk(program))


def around(source: str) -> tuple[Program, Program]:
    """A program before and after the pass."""
    _, before = compiled(source, BEFORE)
    return before, run_pass("read-through", before)


@pytest.mark.parametrize("name", READ)
def test_no_array_of_moved_elements_is_left(name: str) -> None:
    before, after = around(HEAD + READ[name])
    assert maps(after) < maps(before)
    (function,) = after.functions
    computed = {p.name for s in function.body.statements for p in s.pattern
                if isinstance(s.exp, Screma)}  # fmt: skip
    reads = [node.array for node in walk(function) if isinstance(node, Index)]
    assert reads and computed.isdisjoint(reads)


@pytest.mark.parametrize("name", ["elements by data", "again and again in loops"])
def test_other_arrays_stay(name: str) -> None:
    before, after = around(HEAD + KEPT[name])
    assert after is before


def test_what_is_overwritten_is_read_before() -> None:
    before, after = around(BY_UPDATES)
    assert after is before


@pytest.mark.sweep
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", READ | KEPT)
def test_the_device_agrees(name: str, schedule: str) -> None:
    source = HEAD + (READ | KEPT)[name]
    oracle = minifut.compile(source, backend="interpreter")
    program = minifut.compile(source, schedule=schedule)
    random = np.random.default_rng(3)
    for shape, k in (((5, 7), 1), ((3, 40), -2), ((1, 1), 5), ((4, 3), 0)):
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
