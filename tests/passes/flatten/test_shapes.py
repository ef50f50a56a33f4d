"""What flattening makes of particular nests: kernels, their levels and their places."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.ir import core, kernels
from minifut.ir.core import Program
from minifut.ir.interpret import run
from minifut.ir.traverse import walk
from minifut.ir.types import I32, ArrayType
from minifut.passes.pipelines import FULL
from tests.passes.test_versions import compiled, kernels_of, thresholds


def loops_of(program: Program) -> list[core.Loop]:
    """The loops of the host."""
    return [
        statement.exp
        for function in program.functions
        for statement in function.body.statements
        if isinstance(statement.exp, core.Loop)
    ]


def groups_of(program: Program) -> list[kernels.SegMap]:
    return [
        node
        for node in walk(program)
        if isinstance(node, kernels.SegMap) and node.level == kernels.GROUP
    ]


def test_a_while_loop_that_ends_alike_for_all_points_moves_to_the_host() -> None:
    text = """
def main [n][m] (k: i64) (xss: [n][m]i64) =
  map (\\xs -> (loop (ys, j) = (xs, k) while j > 0 do
                 (map (+ j) (scan (+) 0 ys), j / 2)).0) xss"""
    before, after = compiled(text, FULL)
    (loop,) = loops_of(after)
    assert isinstance(loop.form, core.WhileLoop)
    assert kernels_of(after) == ["SegScan(n, m)", "SegMap(n, m)"]
    arguments = [np.int64(5), np.arange(6).reshape(2, 3)]
    expected = run(before, "main", arguments)
    for got, wanted in zip(run(after, "main", arguments), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_while_loop_that_ends_at_different_times_stays_in_threads() -> None:
    text = """
def main [n][m] (ks: [n]i64) (xss: [n][m]i64) =
  map2 (\\k xs -> (loop (ys, j) = (xs, k) while j > 0 do
                    (map (+ j) (scan (+) 0 ys), j / 2)).0) ks xss"""
    after = compiled(text, FULL)[1]
    assert not loops_of(after)
    assert kernels_of(after) == ["SegMap(n)"]


def test_a_match_that_all_points_take_alike_moves_to_the_host() -> None:
    text = """
type t = #a | #b | #c
def main [n][m] (k: i64) (xss: [n][m]i64) =
  let c : t = if k == 0 then #a else if k == 1 then #b else #c
  in map (\\xs -> match c case #a -> scan (+) 0 xs
                         case #b -> map (+ k) (scan (*) 1 xs)
                         case #c -> xs) xss"""
    before, after = compiled(text, FULL)
    assert "SegScan(n, m)" in kernels_of(after)
    for k in range(3):
        arguments = [np.int64(k), np.arange(6).reshape(2, 3)]
        expected = run(before, "main", arguments)
        for got, wanted in zip(run(after, "main", arguments), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_the_host_loops_where_the_outer_map_is_to_be_sequential() -> None:
    text = """
def main [n][m] (xss: [n][m]i64) =
  #[sequential_outer] map (\\xs -> reduce (+) 0 xs) xss"""
    before, after = compiled(text)
    assert len(loops_of(after)) == 1
    assert kernels_of(after) == ["SegRed(m)"]
    arguments = [np.arange(6).reshape(2, 3)]
    (got,) = run(after, "main", arguments)
    np.testing.assert_array_equal(got, run(before, "main", arguments)[0])


def test_transposed_rows_become_a_view_of_the_whole() -> None:
    text = """
def main [n][m][k] (xsss: [n][m][k]i64) =
  map (\\xss -> (transpose xss, map (reduce (+) 0) xss)) xsss"""
    after = compiled(text, FULL)[1]
    views = [node for node in walk(after) if isinstance(node, core.Rearrange)]
    assert [view.permutation for view in views] == [(0, 2, 1)]
    assert kernels_of(after) == ["SegRed(n, m, k)"]


def test_groups_hold_only_operations_of_threads() -> None:
    text = """
def main [a][b][c] (xsss: [a][b][c]i64) =
  map (map (\\xs -> scan (*) 1 (map (% 9) (scan (+) 0 xs)))) xsss"""
    after = compiled(text)[1]
    (group,) = groups_of(after)
    assert len(group.space.sizes) == 2
    inside = [
        node.level
        for node in walk(group.body)
        if isinstance(node, kernels.SegMap | kernels.SegScan)
    ]
    assert inside
    assert set(inside) == {kernels.THREAD}


def test_what_does_not_fit_into_local_memory_is_not_run_in_groups() -> None:
    text = "def main [n][m] (xss: [n][m]i64) = map (\\xs -> scan (*) 1 (scan (+) 0 xs)) xss"
    after = compiled(text)[1]
    chosen = {name: 0 if "intra" in name else 1 << 60 for name in thresholds(after)}
    limits = [
        node.parameter for node in walk(after) if isinstance(node, kernels.GetParameter)
    ]
    assert limits == [kernels.LOCAL_MEMORY, kernels.GROUP_SIZE]
    xss = np.arange(6).reshape(2, 3)
    expected = run(after, "main", [xss], chosen)
    small = {**chosen, kernels.LOCAL_MEMORY.name: 8}
    np.testing.assert_array_equal(run(after, "main", [xss], small)[0], expected[0])


@pytest.mark.parametrize(
    "body",
    [
        "let ys = map (+ 1) (iota k) in reduce (+) 0 (map (\\y -> y + ys[0]) xs)",
        "let ys = scan (+) 0 (iota k) in (reduce (+) 0 xs) + ys[k - 1]",
    ],
)
def test_groups_are_not_offered_where_their_arrays_differ_in_size(body: str) -> None:
    text = f"""
def main [n][m] (ks: [n]i64) (xss: [n][m]i64) =
  map2 (\\k xs -> {body}) ks xss"""
    assert not any("intra" in name for name in thresholds(compiled(text)[1]))


def test_a_fold_with_parallelism_inside_is_offered_in_two_versions() -> None:
    text = """
def main [n][m] (xss: [n][m]i64) =
  reduce i64.max 0 (map (\\xs -> reduce (+) 0 (map (% 7) xs)) xss)"""
    after = compiled(text)[1]
    assert thresholds(after) == ["main.reduce_reduce.outer"]
    assert kernels_of(after) == ["SegRed(n)", "SegRed(n, m)", "SegRed(n)"]


def test_a_histogram_of_rows_combines_scalars_elementwise() -> None:
    text = """
def main [n][d] (is: [n]i64) (xss: [n][d]i32) =
  hist (map2 (+)) (replicate d 0) 5 is xss"""
    before, after = compiled(text, FULL)
    (found,) = [n for n in walk(after) if isinstance(n, kernels.SegHist)]
    (operator,) = found.operators
    assert len(operator.vector) == 1 and operator.operator.results == (I32,)
    arguments = [np.array([0, 4, 9, 0]), np.arange(8, dtype=np.int32).reshape(4, 2)]
    expected = run(before, "main", arguments)
    for got, wanted in zip(run(after, "main", arguments), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_histogram_of_rows_combines_whole_rows_otherwise() -> None:
    text = """
def main [n][d] (is: [n]i64) (xss: [n][d]i32) =
  hist (\\a b -> if a[0] > b[0] then a else b) (replicate d 0) 5 is xss"""
    after = compiled(text, FULL)[1]
    (found,) = [n for n in walk(after) if isinstance(n, kernels.SegHist)]
    (operator,) = found.operators
    assert not operator.vector and isinstance(operator.operator.results[0], ArrayType)


@pytest.mark.parametrize(("sizes", "size", "versions"), [("", 2, 2), ("[n]", "n", 1)])
def test_a_long_adjoint_has_versions_where_its_cost_is_known(
    sizes: str, size: int | str, versions: int
) -> None:
    """The loop of the adjoint is three times as long as that of the integrator."""
    text = f"""
def steps {sizes} (y: [{size}]f64) (p: f64): [{size}]f64 =
  let g ys = map (\\x -> p * f64.sin (x * x) + x * ys[0] / (1 + x * x)) ys
  let f ys = g (map2 (-) ys (g ys))
  let plus h ys ks = map2 (\\x k -> x + h * k) ys ks
  in loop y for _i < 10 do
       let a = f y
       let b = f (plus 0.1 y a)
       let c = f (plus 0.1 y b)
       let d = f (plus 0.2 y c)
       in map5 (\\x p q r s -> x + (p + 2 * q + 2 * r + s) / 30) y a b c d
def main {sizes} (y: [{size}]f64) (p: f64) (w: [{size}]f64) = vjp (steps y) p w"""
    found = thresholds(compiled(text)[1])
    assert len([name for name in found if name.endswith(".host")]) == versions
