"""What becomes of accumulators: shapes of the IR, and results against NumPy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from minifut import stages
from minifut.errors import ProgramError, Source
from minifut.ir.accumulators import UpdateAcc, WithAcc
from minifut.ir.core import Concat, Program
from minifut.ir.dialect import SOACS
from minifut.ir.interpret import run
from minifut.ir.parser import names_after
from minifut.ir.soacs import Hist, Scatter, Screma
from minifut.ir.traverse import walk
from minifut.ir.verify import verify
from minifut.passes.pipelines import run_pass

LIBRARY = """
type~ acc 't = intrinsics.acc t
def write [n] 't (acc: *acc ([n]t)) (i: i64) (v: t) : *acc ([n]t) =
  intrinsics.acc_write acc i v
"""


def core(text: str) -> Program:
    return stages.to_core(stages.check(Source("test.fut", LIBRARY + text)))


def accumulated(text: str) -> Program:
    """After fusion and the pass over accumulators, verified."""
    program = core(text)
    for step in ("simplify", "fuse", "simplify", "accumulate"):
        program = run_pass(step, program, names_after(program))
    verify(program, SOACS)
    return program


def operations(program: Program) -> Counter[str]:
    """How many there are of what this is about."""
    found: Counter[str] = Counter()
    for node in walk(program):
        match node:
            case Screma():
                found["redomap" if node.is_redomap else "map"] += 1
            case Hist() | Scatter() | Concat() | WithAcc() | UpdateAcc():
                found[type(node).__name__] += 1
    return found


TRANSPOSED_PRODUCT = """
def main [n] [k] [m] (a: [n][k]f64) (c: [n][m]f64) : [k][m]f64 =
  intrinsics.hist_stream (replicate k (replicate m 0)) (map2 (+)) (replicate m 0)
    (\\(acc: *acc ([k][m]f64)) (x, y) ->
       loop acc for l < k do write acc l (map (* x[l]) y)) (zip a c)
"""

CASES: dict[str, tuple[str, dict[str, int], list[Any], Any]] = {
    "a product by rows is sums of products": (
        TRANSPOSED_PRODUCT,
        {"map": 2, "redomap": 1},
        [np.arange(6.0).reshape(2, 3), np.arange(8.0).reshape(2, 4)],
        np.arange(6.0).reshape(2, 3).T @ np.arange(8.0).reshape(2, 4),
    ),
    "an update of every element is a map": (
        """
def main [n] (xs: *[n]i32) (ys: [n]i32) : *[n]i32 =
  intrinsics.hist_stream xs (+) 0
    (\\(acc: *acc ([n]i32)) (i, y) -> write acc i (y * y)) (zip (iota n) ys)
""",
        {"map": 1},
        [np.int32([1, 2, 3]), np.int32([1, -2, 4])],
        [2, 6, 19],
    ),
    "an update at a computed index is a histogram": (
        """
def main [k] [n] (xs: *[k]i64) (is: [n]i64) : *[k]i64 =
  intrinsics.hist_stream xs (+) 0
    (\\(acc: *acc ([k]i64)) i -> write acc (i * i) 1) is
""",
        {"Hist": 1},
        [np.zeros(5, np.int64), np.int64([1, 2, -2, 9, 0])],
        [1, 1, 0, 0, 2],
    ),
    "updates of rows at a computed index are a histogram of rows": (
        """
def main [k] [n] [m] (xs: *[k][m]i64) (is: [n]i64) (ys: [n][m]i64) : *[k][m]i64 =
  intrinsics.hist_stream xs (map2 (+)) (replicate m 0)
    (\\(acc: *acc ([k][m]i64)) (i, y) -> write acc (i / 2) (map (* 3) y)) (zip is ys)
""",
        {"Hist": 1, "map": 2},
        [
            np.ones((2, 3), np.int64),
            np.int64([2, 9, 1, 3]),
            np.arange(12).reshape(4, 3),
        ],
        [[19, 22, 25], [28, 34, 40]],
    ),
    "what is computed for updates is stored, and they are sums": (
        """
def main [n] [m] [k] (ys: [m]i64) (xss: [n][k]i64) : [m]i64 =
  intrinsics.hist_stream (replicate m 0) (+) 0
    (\\(acc: *acc ([m]i64)) xs ->
       let x = i64.maximum xs
       in loop acc for j < m do write acc j (x * ys[j])) xss
""",
        {"redomap": 2, "map": 2},
        [np.int64([2, -1, 0]), np.arange(8).reshape(2, 4)],
        [20, -10, 0],
    ),
    "what would take more dimensions than the program has is not stored": (
        """
def main [n] [m] (ys: [m]i64) (xs: [n]i64) : [m]i64 =
  intrinsics.hist_stream (replicate m 0) (+) 0
    (\\(acc: *acc ([m]i64)) x ->
       let vs = scan (+) 0 (map (* x) ys)
       in loop acc for j < m do write acc j vs[j]) xs
""",
        {"map": 3, "WithAcc": 1, "UpdateAcc": 1},
        [np.int64([2, -1, 0]), np.int64([1, 3])],
        [8, 4, 4],
    ),
    "a histogram of joined arrays is one for each": (
        """
def main [k] [n] [m] (is: [n]i64) (js: [m]i64) (vs: [n + m]i64) (hs: *[k]i64) =
  reduce_by_index hs (+) 0 (map (/ 2) (is ++ map (+ 1) js)) vs
""",
        {"Hist": 2},
        [np.int64([1, 2]), np.int64([9, 0, 1]), np.arange(5), np.int64([1, 1, 1])],
        [4, 6, 1],
    ),
    "a scatter of arrays of one size that are joined is one of several values": (
        """
def main [k] [n] (is: [n]i64) (js: [n]i64) (vs: [n + n]i64) (xs: *[k]i64) =
  scatter xs (map (* 2) (is ++ js)) vs
""",
        {"Scatter": 1},
        [np.int64([1, 3]), np.int64([9, 0]), np.arange(4), np.int64([7, 7, 7])],
        [3, 7, 0],
    ),
    "a scatter of other joined arrays is one for each": (
        """
def main [k] [n] [m] (is: [n]i64) (js: [m]i64) (vs: [n + m]i64) (xs: *[k]i64) =
  scatter xs (map (* 2) (is ++ js)) vs
""",
        {"Scatter": 2},
        [np.int64([1]), np.int64([9, 0]), np.arange(3), np.int64([7, 7, 7])],
        [2, 7, 0],
    ),
    "two updates are two histograms": (
        """
def main [k] [n] (xs: *[k]i64) (is: [n]i64) : *[k]i64 =
  intrinsics.hist_stream xs i64.max i64.lowest
    (\\(acc: *acc ([k]i64)) i -> write (write acc i 7) (i + 1) 3) is
""",
        {"Hist": 2},
        [np.zeros(4, np.int64), np.int64([0, 2])],
        [7, 3, 7, 3],
    ),
    "values that overwrite each other stay in order": (
        """
def main [k] (xs: *[k]i64) (n: i64) : *[k]i64 =
  intrinsics.scatter_stream xs
    (\\(acc: *acc ([k]i64)) i -> loop acc for j < 3 do write acc i (i * 10 + j))
    (iota n)
""",
        {"map": 1, "WithAcc": 1, "UpdateAcc": 1},
        [np.zeros(4, np.int64), 3],
        [2, 12, 22, 0],
    ),
    "updates of what is filled with the neutral element are the values": (
        """
def main [n] (ys: [n]i32) : *[n]i32 =
  intrinsics.hist_stream (replicate n 0) (+) 0
    (\\(acc: *acc ([n]i32)) (i, y) -> write acc i (y * y)) (zip (iota n) ys)
""",
        {"map": 1},
        [np.int32([1, -2, 4])],
        [1, 4, 16],
    ),
    "updates at shifted indices are gathered": (
        """
def main [k] [n] (xs: *[k]i32) (ys: [n]i32) (c: i64) : *[k]i32 =
  intrinsics.hist_stream xs (+) 0
    (\\(acc: *acc ([k]i32)) (i, y) -> write acc (i - c) (y * y)) (zip (iota n) ys)
""",
        {"map": 1},
        [np.int32([1, 2, 3]), np.int32([7, 1, -2, 4, 5]), 1],
        [2, 6, 19],
    ),
    "a branch may update nothing": (
        """
def main [n] (xs: *[n]i32) (ys: [n]i32) : *[n]i32 =
  intrinsics.hist_stream xs (+) 0
    (\\(acc: *acc ([n]i32)) (i, y) -> if y < 0 then acc else write acc (i + 1) y)
    (zip (iota n) ys)
""",
        {"map": 1},
        [np.int32([1, 2, 3, 4]), np.int32([7, -1, 2, 5])],
        [1, 9, 3, 6],
    ),
    "both branches may update": (
        """
def main [k] [n] (xs: *[k]i64) (is: [n]i64) : *[k]i64 =
  intrinsics.hist_stream xs (+) 0
    (\\(acc: *acc ([k]i64)) i -> if i < 2 then write acc (i * i) 1 else write acc 0 i)
    is
""",
        {"Hist": 1},
        [np.zeros(3, np.int64), np.int64([1, 0, 5, 2, 1])],
        [8, 2, 0],
    ),
    "indices that repeat are not gathered": (
        """
def main [k] [n] (xs: *[k]i64) (ys: [n]i64) : *[k]i64 =
  intrinsics.hist_stream xs (+) 0
    (\\(acc: *acc ([k]i64)) (i, y) -> write acc (i + y) 1) (zip (iota n) ys)
""",
        {"Hist": 1},
        [np.zeros(3, np.int64), np.int64([1, 0, -1, 9])],
        [0, 3, 0],
    ),
    "a loop that carries more than updates stays a loop": (
        """
def main [k] [n] (xs: *[k]i64) (is: [n]i64) : *[k]i64 =
  intrinsics.hist_stream xs (+) 0
    (\\(acc: *acc ([k]i64)) i ->
       (loop (acc, j) = (acc, i) while j > 0 do (write acc j 1, j / 2)).0) is
""",
        {"map": 1, "WithAcc": 1, "UpdateAcc": 1},
        [np.zeros(6, np.int64), np.int64([5, 4, 9])],
        [0, 3, 3, 0, 2, 1],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_updates_become_what_they_are(name: str) -> None:
    text, wanted, arguments, result = CASES[name]
    after = accumulated(text)
    assert operations(after) == wanted
    for program in (core(text), after):
        (found,) = run(program, "main", arguments)
        np.testing.assert_allclose(found, result)


@pytest.mark.parametrize("shape", [(0, 2, 3), (3, 0, 2), (2, 3, 0), (5, 4, 3)])
def test_sums_of_rows_may_be_empty(shape: tuple[int, int, int]) -> None:
    n, k, m = shape
    random = np.random.default_rng(1)
    a, c = random.random((n, k)), random.random((n, m))
    (found,) = run(accumulated(TRANSPOSED_PRODUCT), "main", [a, c])
    np.testing.assert_allclose(found, a.T @ c)


def test_both_adjoints_of_a_product_of_matrices_are_products() -> None:
    text = """
entry main [n] [k] [m] (a: [n][k]f64) (b: [k][m]f64) (c: [n][m]f64) =
  vjp (\\(a, b) -> map (\\x -> map (\\y -> f64.sum (map2 (*) x y)) (transpose b)) a)
      (a, b) c
"""
    program = stages.to_core(stages.check(Source("test.fut", text)))
    for step in ("differentiate", "simplify", "fuse", "simplify", "accumulate"):
        program = run_pass(step, program, names_after(program))
    assert operations(program) == {"map": 4, "redomap": 2}
    random = np.random.default_rng(1)
    a, b, c = (random.random(shape) for shape in ((2, 3), (3, 4), (2, 4)))
    in_a, in_b = run(program, "main", [a, b, c])[-2:]
    np.testing.assert_allclose(in_a, c @ b.T)
    np.testing.assert_allclose(in_b, a.T @ c)


@pytest.mark.parametrize("down", [-7, -1, 0, 2])
@pytest.mark.parametrize("shape", [(0, 3), (4, 5), (6, 3)])
def test_gathered_values_are_those_sent(down: int, shape: tuple[int, int]) -> None:
    text = f"""
def main [n] [m] (xs: *[n][4]i32) (ys: [m][3]i32) : *[n][4]i32 =
  intrinsics.hist_stream xs (map2 (+)) (replicate 4 0)
    (\\(acc: *acc ([n][4]i32)) (i, y) ->
       if y[0] > 5 then acc else write acc (i + ({down})) [y[2], 1, y[0], i32.i64 i])
    (zip (iota m) ys)
"""
    n, m = shape
    random = np.random.default_rng(1)
    xs = random.integers(9, size=(n, 4), dtype=np.int32)
    ys = random.integers(9, size=(m, 3), dtype=np.int32)
    after = accumulated(text)
    (wanted,) = run(core(text), "main", [xs.copy(), ys])
    (found,) = run(after, "main", [xs.copy(), ys])
    np.testing.assert_array_equal(found, wanted)
    expected = xs.copy()
    for i, y in enumerate(ys):
        if y[0] <= 5 and 0 <= i + down < n:
            expected[i + down] += [y[2], 1, y[0], i]
    np.testing.assert_array_equal(found, expected)


def test_the_adjoint_of_a_stencil_is_a_stencil() -> None:
    text = """
entry main [n] (xs: [n]f64) (c: [n]f64) =
  vjp (\\xs -> tabulate n (\\i ->
            let at j = if j < 0 || j >= n then 0 else xs[j]
            in 2 * xs[i] + 3 * at (i - 1) + 5 * at (i + 2))) xs c
"""
    program = stages.to_core(stages.check(Source("test.fut", text)))
    for step in ("differentiate", "simplify", "fuse", "simplify", "accumulate"):
        program = run_pass(step, program, names_after(program))
    assert operations(program) == {"map": 1}
    c = np.random.default_rng(1).random(6)
    (found,) = run(program, "main", [c, c])[-1:]
    wanted = 2 * c
    wanted[:-1] += 3 * c[1:]
    wanted[2:] += 5 * c[:-2]
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_nothing_is_read_for_indices_of_no_points(n: int) -> None:
    text = """
def main [n] [m] (xs: *[m]i64) (ys: [n]i64) (places: [n]i64) : *[m]i64 =
  intrinsics.hist_stream xs (+) 0
    (\\(acc: *acc ([m]i64)) y -> let k = #[unsafe] places[n - 1]
                                 in write acc k y)
    ys
"""
    after = accumulated(text)
    ys, places = np.arange(n) + 1, np.arange(n) % 3
    (found,) = run(after, "main", [np.zeros(3, np.int64), ys, places])
    expected = np.zeros(3, np.int64)
    if n:
        expected[places[-1]] = ys.sum()
    np.testing.assert_array_equal(found, expected)
    reductions = [s for s in walk(after) if isinstance(s, Screma) and not s.is_map]
    assert len(reductions) == 1


@pytest.mark.parametrize("n", [0, 1, 3])
def test_values_that_may_fail_do_so_where_there_are_points(n: int) -> None:
    text = """
def main [n] [m] (xs: *[m]i32) (ys: [n]i32) (k: i64) (at: i64) : *[m]i32 =
  intrinsics.hist_stream xs (*) 1
    (\\(acc: *acc ([m]i32)) _ -> write acc at (if k < 3 then 6 else 6 %% 0)) ys
"""
    after = accumulated(text)
    xs, ys = np.ones(2, np.int32), np.zeros(n, np.int32)
    (found,) = run(after, "main", [xs.copy(), ys, np.int64(2), np.int64(1)])
    np.testing.assert_array_equal(found, [1, 6**n])
    arguments = [xs.copy(), ys, np.int64(3), np.int64(1)]
    if n == 0:
        (found,) = run(after, "main", arguments)
        np.testing.assert_array_equal(found, xs)
    else:
        with pytest.raises(ProgramError, match="division by zero"):
            run(after, "main", arguments)
