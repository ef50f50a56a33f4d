"""SOACs over small literals, and folds of few elements, in threads: meaning, and what
is left of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minifut
from minifut import stages
from minifut.errors import Source
from minifut.ir.core import Concat, Lambda, Loop, Manifest, Program, Replicate, Update
from minifut.ir.kernels import KernelBody
from minifut.ir.parser import names_after
from minifut.ir.soacs import Screma
from minifut.ir.traverse import walk
from minifut.ir.types import shape_of
from minifut.names import NameSource
from minifut.passes.pipelines import DEFAULT, find_pass, run_pass
from minifut.passes.simplify.driver import simplify
from minifut.passes.unroll_short import unroll_short
from tests.passes.test_versions import compiled

PASS = find_pass("unroll-short")
BEFORE = DEFAULT[: DEFAULT.index(PASS)]

UNROLLED = {
    "a stencil by a table of offsets": """
def offsets : [3]i64 = [-1, 0, 1]
def weights : [3]f32 = [0.25, 0.5, 0.25]
entry main [n] (xs: [n]f32): [n]f32 =
  tabulate n (\\i -> f32.sum (map2 (\\d w -> w * xs[(i + d) % n]) offsets weights))""",
    "products of what another table gives": """
entry main [n] (xs: [n]f32): [n]f32 =
  let terms x = map (\\k -> x * k + 1) [0.5, 2, 3]
  in map (\\x -> f32.product (terms x)) xs""",
    "literals of values of the point": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> f32.maximum (map (\\y -> y * y - x) [x, x + 1, 2])) xs""",
    "results that are arrays": """
entry main [n] (xs: [n]f32): [n][2]f32 =
  map (\\x -> map (\\k -> x - k) [1, 4]) xs""",
    "a scan": """
entry main [n] (xs: [n]f32): [n][3]f32 = map (\\x -> scan (+) 0 [x, x + 1, 2]) xs""",
    "sums up to each element": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\p -> let c = scan (+) 0 p in c[0] / c[3])
    (unflatten (sized (n / 4 * 4) xs[:n / 4 * 4])) |> \\ys -> replicate n ys[0]""",
    "an index and a value": """
entry main [n] (xs: [n]f32): [n]i64 =
  map (\\x -> (reduce (\\(a, i) (b, j) -> if b > a then (b, j) else (a, i)) (-1e9, -1)
    (zip (map (\\k -> f32.abs (x - k)) [1, 4, 2]) (iota 3))).1) xs""",
}
UNROLLED |= {
    "distances in space": """
entry main [n] (xs: [n]f32): [n]f32 =
  let points : [n][3]f32 = map (\\x -> [x, x * x, 1 - x]) xs
  in map (\\p -> f32.sqrt (f32.sum (map2 (*) p (reverse p)))) points""",
    "a pooled window": """
entry main [n] (xs: [n]f32): []f32 =
  let rows = unflatten (sized (n / 8 * 8) xs[:n / 8 * 8])
  in tabulate (n / 8) (\\i -> f32.maximum (flatten rows[i:i + 1, 2:6]))""",
    "folds of folds": """
entry main [n] (xs: [n]f32): []f32 =
  let rows = unflatten (sized (n / 8 * 8) xs[:n / 8 * 8])
  in tabulate (n / 16) (\\i -> f32.sum (map f32.product rows[2 * i:2 * i + 2, 1:4]))""",
    "the place of the greatest": """
entry main [n] (xs: [n]f32): [n]i64 =
  let best = reduce (\\(a, i) (b, j) -> if b > a then (b, j) else (a, i)) (-1e9, -1)
  in map (\\x -> (best (tabulate 4 (\\k -> (f32.sin (x * f32.i64 k), k)))).1) xs""",
    "no elements": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> x + f32.sum (map (* x) ([] : [0]f32))) xs""",
}
UNROLLED |= {
    "neighbours as an array, weighted under another shape": """
entry main [n] (xs: [n]f32): [n]f32 =
  let weights = tabulate_2d 3 3 (\\a b -> f32.i64 (a * b + 1))
  let near i = tabulate_2d 3 3 (\\a b -> xs[(i + 3 * a + b) % n])
  in tabulate n (\\i -> f32.sum (map2 (*) (flatten weights) (flatten (near i))))""",
    "neighbours under branches, by a table of a literal": """
def weights (cs: [2]f32) : [3][3][3]f32 =
  tabulate_3d 3 3 3 (\\a b c -> cs[(a + b + c) % 2])
entry main [n] (xs: [n]f32): [n]f32 =
  let near i = tabulate_3d 3 3 3 (\\a b c ->
    let j = i + a + b - c in if j > 0 && j < n then xs[j] else 1)
  in tabulate n (\\i -> f32.sum
       (map2 (*) (flatten_3d (weights [xs[0], 2])) (flatten_3d (near i))))""",
    "elements at known positions": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> let ys = tabulate 3 (\\k -> x * f32.i64 k)
             in ys[0] * ys[1] + ys[2] / f32.maximum ys) xs""",
}
UNROLLED |= {
    "an array that is used by elements and returned": """
entry main [n] (xs: [n]f32): [n][3]f32 =
  map (\\x -> let ys = tabulate 3 (\\k -> x * f32.i64 k)
             in map (/ (ys[1] + 1)) ys) xs""",
    "a nest over the rows of a transposed one": """
entry main [n] (xs: [n]f32): [n][3][2]f32 =
  map (\\x -> let m = tabulate_2d 2 3 (\\i j -> x * f32.i64 (i * j + 1))
             let s = f32.sum (map2 (*) m[0] (map (+ x) m[1]))
             in map (map (/ s)) (transpose m)) xs""",
    "an array at positions of another nest": """
entry main [n] (xs: [n]f32): [n][2][2]f32 =
  map (\\x -> let m = tabulate_2d 2 2 (\\i j -> x + f32.i64 (2 * i + j))
             let d = f32.sum (tabulate 2 (\\k -> m[0, k] * m[1, 1 - k]))
             in tabulate_2d 2 2 (\\i j -> m[j, i] / d)) xs""",
}
UNROLLED |= {
    "channels at a place of data": """
entry main [n] (xs: [n]f32): [n][3]f32 =
  let rows = unflatten (sized (n / 4 * 4) xs[:n / 4 * 4])
  in map (\\x ->
       let t = f32.max 0 (f32.min 1 ((x - 1) / 4)) * 6
       let k = i64.min (n / 4 - 2) (i64.f32 t)
       let f = t - f32.i64 k
       in tabulate 3 (\\c -> rows[k, c] * (1 - f) + rows[k + 1, c] * f)) xs""",
}

JOINED = {
    "another coordinate": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\p -> let q = p ++ [1, p[0]] in q[1] * q[2] - f32.sum (map (* q[3]) (q :> [4]f32)))
    (unflatten (sized (n / 2 * 2) xs[:n / 2 * 2])) |> \\ys -> replicate n ys[0]""",
    "rows of a matrix": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> let a = [[x, 2] ++ [3] :> [3]f32, [1] ++ [x, x] :> [3]f32]
             in f32.sum (flatten a) + a[1, 2] + f32.sum (map2 (*) a[0] a[1])) xs""",
    "columns beside each other": """
entry main [n] (xs: [n]f32): [n][2][2]f32 =
  map (\\x -> transpose ([[x, 1]] ++ [[2, x * x]] :> [2][2]f32)) xs""",
    "what an inner map gives": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> let q = map (* x) [1, 2, 3] ++ [x] in f32.sqrt (f32.sum (map (\\y -> y * y) q))) xs""",
    "a row and more as a result": """
entry main [n] (xs: [n]f32): [n][3]f32 = map (\\x -> [x, x + 1] ++ [2] :> [3]f32) xs""",
}
APART = {
    "a long row": """
entry main [n] (xs: [n]f32): [n][9]f32 =
  map (\\x -> replicate 8 x ++ [2] :> [9]f32) xs""",
    "the state of a loop": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> let s = loop s = [x, 1, 2] for i < 40 do [s[1], s[2]] ++ [s[0] * x]
             in s[0] + s[2]) xs""",
    "changed places": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> let ys = [x, 1, 2] with [1] = x * x with [0] = 7
             in f32.sum (map2 (*) ys ys)) xs""",
    "changed rows": """
entry main [n] (xs: [n]f32): [][2]f32 =
  map (\\p -> copy p with [1] = p[0] + p[1]) (unflatten (sized (n / 2 * 2) xs[:n / 2 * 2]))""",
    "a row of another array": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> let a = replicate 2 [x, 1] with [1] = [2, x] with [0, 1] = 3
             in a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]) xs""",
    "a place that is not known": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> let s = [x, 1, 2] with [i64.f32 x % 3] = 5 in s[0] + s[2]) xs""",
    "elements at unknown places": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> let s = [x, 1, 2] ++ [x * x] in s[i64.f32 x % 4]) xs""",
}
KEPT = {
    "channels of the point": """
entry main [n] (xs: [n]f32): [][4]f32 =
  map (\\p -> let l = 0.2 * p[0] + 0.7 * p[1] + 0.1 * p[2]
             let s = (1 + l / 16) / (1 + l) / f32.max 0.001 l
             in map (\\c -> f32.min 1 (s * c)) p)
      (unflatten (sized (n / 4 * 4) xs[:n / 4 * 4]))""",
    "a nest that is a result": """
entry main [n] (xs: [n]f32): [n][2][3]f32 =
  map (\\x -> tabulate_2d 2 3 (\\a b -> x + f32.i64 (a * b))) xs""",
    "an element at an unknown position": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> let ys = tabulate 3 (\\k -> x * f32.i64 k)
             in ys[i64.f32 x % 3] + ys[0]) xs""",
    "on the host": "entry main (xs: [4]f32): [4]f32 = map2 (*) [1, 2, 3, 4] xs",
    "a check in each step": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> f32.sum (map (\\k -> xs[i64.f32 x / k]) [1, 2, 3])) xs""",
    "folds of arrays": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> f32.sum (reduce (map2 (+)) (replicate n 0)
    (tabulate 3 (\\k -> map (* f32.i64 k) xs))) + x) xs""",
    "folds of some elements": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> f32.sum (tabulate 9 (\\k -> x * f32.i64 k))) xs""",
    "many elements": f"""
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> f32.sum (map (* x) [{", ".join(f"{k}.5f32" for k in range(40))}])) xs""",
}


def nested(program: Program) -> list[Screma]:
    """The SOACs in functions of others."""
    functions = [node for node in walk(program) if isinstance(node, Lambda)]
    inner = [n for each in functions for n in walk(each.body) if isinstance(n, Screma)]
    return list({id(node): node for node in inner}.values())


def around(source: str) -> tuple[Program, Program]:
    """A program before and after the pass."""
    _, before = compiled(source, BEFORE)
    return before, run_pass("unroll-short", before)


@pytest.mark.parametrize("name", UNROLLED)
def test_no_soac_is_left_in_threads(name: str) -> None:
    before, after = around(UNROLLED[name])
    assert nested(before)
    assert not nested(after)


@pytest.mark.parametrize("name", KEPT)
def test_others_stay(name: str) -> None:
    before, after = around(KEPT[name])
    assert len(nested(after)) == len(nested(before))


def joined(program: Program) -> int:
    """The arrays that functions of SOACs join or change."""
    kinds = (Concat, Manifest, Replicate, Update)
    functions = [node for node in walk(program) if isinstance(node, Lambda)]
    return sum(isinstance(n, kinds) for each in functions for n in walk(each.body))


@pytest.mark.parametrize("name", JOINED)
def test_short_arrays_are_literals(name: str) -> None:
    before, after = around(JOINED[name])
    assert joined(before)
    assert not joined(simplify(after, names_after(after)))


@pytest.mark.parametrize("name", APART)
def test_other_arrays_stay(name: str) -> None:
    _, after = around(APART[name])
    assert joined(after)


def numbers(source: str) -> Any:
    size = 4 if "[4]f32)" in source else 37
    return (np.random.default_rng(size).random(size, dtype=np.float32) * 3) + 1


@pytest.mark.sweep
@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", UNROLLED | KEPT | JOINED | APART)
def test_the_device_agrees(name: str, schedule: str) -> None:
    source = (UNROLLED | KEPT | JOINED | APART)[name]
    expected = minifut.compile(source, backend="interpreter").main(numbers(source))
    found = minifut.compile(source, schedule=schedule).main(numbers(source))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


PRODUCTS = """
entry main [n] (as: [n][8][8]i32) (bs: [n][8][8]i32): [n][8][8]i32 =
  map2 (\\a b -> map (\\r -> map (\\c -> i32.sum (map2 (*) r c)) (transpose b)) a) as bs"""


def test_folds_in_maps_of_few_points_are_written_out() -> None:
    assert not any(exp.is_redomap for exp in nested(around(PRODUCTS)[1]))
    thin = PRODUCTS.replace("[8][8]i32", "[n][8]i32").replace(
        "): [n][n][8]", "): [n][n][n]"
    )
    thin = thin.replace("(transpose b)", "b")
    assert any(exp.is_redomap for exp in nested(around(thin)[1]))


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_products_of_small_matrices_agree(schedule: str) -> None:
    a, b = np.random.default_rng(8).integers(-9, 9, (2, 37, 8, 8), np.int32)
    found = minifut.compile(PRODUCTS, schedule=schedule).main(a, b)
    np.testing.assert_array_equal(found, a @ b)


INVERSE = """
def inverse (a: [3][3]f32): [3][3]f32 =
  let cofactor i j =
    let (r, s) = ((i + 1) % 3, (i + 2) % 3)
    let (c, d) = ((j + 1) % 3, (j + 2) % 3)
    in a[r,c] * a[s,d] - a[r,d] * a[s,c]
  let c = tabulate_2d 3 3 cofactor
  let det = f32.sum (map2 (*) a[0] c[0])
  in map (map (/ det)) (transpose c)
entry main [n] (as: [n][3][3]f32): [n][3][3]f32 = map inverse as"""


def test_a_point_with_small_matrices_is_scalar_code_in_lanes() -> None:
    checked = stages.check(Source("inverse.fut", INVERSE))
    kernels = stages.to_kernels(stages.to_core(checked))
    text = stages.to_host_module(kernels, "cpu", "inverse")
    kernel = text[text.index("__kernel") : text.index("places=")]
    assert "float16 div" in kernel
    assert not re.search(r"float \w+\[\d+\];", kernel)


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
def test_inverses_of_small_matrices_agree(schedule: str) -> None:
    matrices = np.random.default_rng(3).random((37, 3, 3), dtype=np.float32)
    expected = minifut.compile(INVERSE, backend="interpreter").main(matrices)
    found = minifut.compile(INVERSE, schedule=schedule).main(matrices)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_program_without_literals_stays_the_same_object() -> None:
    _, before = compiled("entry main [n] (xs: [n]f32) = map (+ 1) xs", BEFORE)
    assert unroll_short(before, NameSource(10_000)) is before


SHORT_LOOPS = {
    "a median of five": """
entry main [n] (xs: [n]f32): [n]f32 =
  tabulate n (\\i ->
    let a = tabulate 5 (\\k -> xs[i64.min (n - 1) (i64.max 0 (i + k - 2))])
    let a = loop a for k < 4 do
              loop a for l < 4 - k do
                if a[l] > a[l + 1]
                then let t = a[l]
                     let u = a[l + 1]
                     in (a with [l] = u) with [l + 1] = t
                else a
    in a[2])""",
    "elimination": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x ->
    let a = [[x + 2, 1, x], [1, x + 4, 0.5], [x, 1, x + 5]]
    let a = loop a for k < 3 do
              loop a for i < 3 do
                if i <= k then a
                else let f = a[i, k] / a[k, k]
                     in loop a for j < 3 do
                          let v = a[i, j] - f * a[k, j]
                          in a with [i, j] = v
    in a[0, 0] * a[1, 1] * a[2, 2]) xs""",
}
LONG_LOOPS = {
    "places by data": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x ->
    let h = loop h = replicate 4 0 for k < 6 do
              let c = i64.f32 (x * f32.i64 (k + 1)) % 4
              in h with [c] = h[c] + x
    in f32.maximum h) xs""",
    "rounds by data": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> (loop a = [x, 1] for _k < i64.f32 x do [a[1], a[0] + a[1]])[0]) xs""",
    "many rounds": """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> (loop a = [x, 1] for _k < 1000 do [a[1], a[0] * 0.5 + a[1]])[0]) xs""",
}


def loops_in_threads(source: str) -> int:
    _, program = compiled(source, DEFAULT)
    functions = (node for node in walk(program) if isinstance(node, KernelBody))
    return sum(
        isinstance(node, Loop) and any(shape_of(p.type) for p in node.parameters)
        for function in functions
        for node in walk(function)
    )


@pytest.mark.parametrize("name", SHORT_LOOPS)
def test_loops_over_small_arrays_are_written_out(name: str) -> None:
    made = 2 if "tabulate 5" in SHORT_LOOPS[name] else 0  # in the interior, at borders
    assert loops_in_threads(SHORT_LOOPS[name]) == made


@pytest.mark.parametrize("name", LONG_LOOPS)
def test_other_loops_stay(name: str) -> None:
    assert loops_in_threads(LONG_LOOPS[name])


@pytest.mark.parametrize("schedule", ["cpu", "gpu"])
@pytest.mark.parametrize("name", SHORT_LOOPS | LONG_LOOPS)
def test_the_device_agrees_on_loops(name: str, schedule: str) -> None:
    source = (SHORT_LOOPS | LONG_LOOPS)[name]
    expected = minifut.compile(source, backend="interpreter").main(numbers(source))
    found = minifut.compile(source, schedule=schedule).main(numbers(source))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
