"""Programs of the report and of the lecture, and programs in which layouts meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from minifut import stages
from minifut.errors import Source
from minifut.ir.core import Program
from minifut.rewrite.trace import Trace

ROWS = "map (\\row -> #[sequential] scan (\\acc x -> f32.sqrt acc + x * x) 0 row)"
FOLD = "map (\\row -> loop acc = 0 for x in row do f32.sqrt acc + x * x)"


@dataclass(frozen=True)
class Example:
    """A program and what makes arguments for it."""

    text: str
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]


def matrix(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.random(shape or (35, 19), np.float32)


EXAMPLES = {
    "columns_in_parts": Example(
        """
def parts [n] (r: [n]f32) =
  let half = n / 2
  let sums = map (\\j -> r[2 * j] + r[2 * j + 1]) (iota half)
  let rest = map (\\j -> r[2 * j] - r[2 * j + 1]) (iota half)
  in sums ++ rest

entry main [h][w] (image: [h][w]f32) = map parts (transpose (map parts image))
""",
        lambda r: (matrix(r, 34, 20),),
    ),
    "report": Example(
        """
entry main [n][m][k] (xs: [m][n]f32) (muls: [k]f32) (bias: [k][n][m]f32) =
  tabulate_3d n m k (\\i j q -> xs[j,i] * muls[q] + bias[q,i,j])
""",
        lambda r: (matrix(r, 5, 7), matrix(r, 3), matrix(r, 3, 7, 5)),
    ),
    "rows_in_and_out": Example(
        f"entry main [n][m] (a: [n][m]f32): [n][m]f32 = {ROWS} a",
        lambda r: (matrix(r),),
    ),
    "rows_folded": Example(
        f"entry main [n][m] (a: [n][m]f32): [n]f32 = {FOLD} a",
        lambda r: (matrix(r),),
    ),
    "columns_folded": Example(
        f"entry main [n][m] (a: [n][m]f32): [m]f32 = {FOLD} (transpose a)",
        lambda r: (matrix(r),),
    ),
    "orthogonal_columns": Example(
        """
def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

entry main [n] [m] (a: [n][m]f64): [n][m]f64 =
  let q = loop q = copy (transpose a) for j < m do
    let v = loop v = copy q[j] for k < j do
      let s = dot q[k] v
      in map2 (\\x y -> x - s * y) v q[k]
    let l = f64.sqrt (dot v v)
    in q with [j] = map (/ l) v
  in transpose q
""",
        lambda r: (r.random((19, 7)),),
    ),
    "sum_with_transpose": Example(
        """
entry main [n][m] (a: [m][n]f32) (b: [n][m]f32): [n][m]f32 =
  map2 (map2 (+)) (transpose a) b
""",
        lambda r: (matrix(r, 35, 19), matrix(r, 19, 35)),
    ),
    "products_by_columns": Example(
        """
entry main [n][k][d] (a: [k][d][d]f32) (xs: [n][k][d]f32): [n][k][d]f32 =
  let product m x =
    let y = map f32.sqrt x
    in map (\\column -> f32.sum (map2 (*) column y)) (transpose m)
  in map (map2 product a) xs
""",
        lambda r: (matrix(r, 3, 21, 21), matrix(r, 5, 3, 21)),
    ),
    "steps_of_best_columns": Example(
        """
entry main [n] (steps: i64) (a: [n][n]f32) (x: [n]f32): [n]f32 =
  loop x for _i < steps do
    map (\\j -> (reduce_comm (\\(p, i) (q, k) -> if p > q then (p, i) else (q, k))
                            (-f32.inf, 0) (map (\\i -> (x[i] + a[i, j], i)) (iota n))).0)
        (iota n)
""",
        lambda r: (3, matrix(r, 19, 19), matrix(r, 19)),
    ),
    "both_transposed": Example(
        """
entry main [n][m] (a: [m][n]f32) (b: [m][n]f32): [n][m]f32 =
  map2 (map2 (+)) (transpose a) (transpose b)
""",
        lambda r: (matrix(r), matrix(r)),
    ),
    "producer_and_consumer": Example(
        f"entry main [n][m] (a: [n][m]f32): [n]f32 = {FOLD} (opaque ({ROWS} a))",
        lambda r: (matrix(r),),
    ),
    "loop": Example(
        f"""
entry main [n][m] (k: i32) (a: *[n][m]f32) (w: [n][m]f32): [n]f32 =
  let b = loop b = a for _i < k do
    map2 (\\row own -> #[sequential] scan (\\acc x -> f32.sqrt acc + x) 0
                        (#[sequential] map2 (*) row own)) b w
  in {FOLD} b
""",
        lambda r: (3, matrix(r), matrix(r)),
    ),
    "branch": Example(
        f"""
entry main [n][m] (c: bool) (a: [n][m]f32): [n]f32 =
  let b = if c then {ROWS} a else map (map (+1)) a
  in {FOLD} (opaque b)
""",
        lambda r: (bool(r.integers(2)), matrix(r)),
    ),
    "updated": Example(
        f"""
entry main [n][m] (k: i64) (a: [n][m]f32): ([n][m]f32, [n]f32) =
  let b = loop b = {ROWS} a for i < k do b with [i % n] = map (+1) b[(i + 1) % n]
  in (b, {FOLD} b)
""",
        lambda r: (5, matrix(r)),
    ),
    "sums": Example(
        """
entry main [n][m] (a: [n][m]f32): ([m]f32, [n]f32) =
  (map f32.sum (transpose a), map f32.sum a)
""",
        lambda r: (matrix(r),),
    ),
    "three_dimensions": Example(
        """
entry main [p][n][m] (k: i32) (a: [p][n][m]f32): [p][n]f32 =
  loop s = replicate p (replicate n 0) for _i < k do
    map2 (map2 (\\xs z -> loop acc = z for x in xs do f32.sqrt acc + x)) a s
""",
        lambda r: (3, matrix(r, 7, 11, 19)),
    ),
    "stencil": Example(
        """
entry main [n][m] (a: [n][m]f32): [n][m]f32 =
  tabulate_2d n m (\\i j -> a[i, i64.max 0 (j - 1)] + a[i, i64.min (m - 1) (j + 1)]
                           + a[(i + 1) % n, j])
""",
        lambda r: (matrix(r),),
    ),
    "gathered": Example(
        """
entry main [n][m] (a: [n][m]f32) (at: [n]i64): [n]f32 =
  map (\\i -> loop acc = 0 for j < m do f32.sqrt acc + a[i % n, j]) at
""",
        lambda r: (matrix(r), r.integers(0, 35, 35)),
    ),
    "pairs_of_columns": Example(
        """
entry main [n][m] (a: [n][m]f32): [n][m / 2]f32 =
  map (\\r -> map (\\j -> r[2 * j] + r[2 * j + 1]) (iota (m / 2))) a
""",
        lambda r: (matrix(r),),
    ),
    "small_vectors": Example(
        """
entry main [n][m] (a: [n][m][3]f32): [n][m]f32 =
  map (map (\\v -> v[0] * v[1] + v[2])) a
""",
        lambda r: (r.random((30, 70, 3), dtype=np.float32),),
    ),
    "planes_summed": Example(
        """
entry main [n][m][k] (a: [n][m][k]f32): [m]f32 =
  map (\\plane -> f32.sum (flatten plane) / 2) (transpose a)
""",
        lambda r: (matrix(r, 7, 11, 19),),
    ),
    "parts_summed": Example(
        """
entry main [n][m][k] (a: [n][m][k]i32): [n]i32 =
  map (\\part -> i32.maximum (flatten part) / 2) a[:, 2:, 3:]
""",
        lambda r: (r.integers(0, 100, (7, 11, 19)).astype(np.int32),),
    ),
    "spread_of_rows": Example(
        """
entry main [n][m] (a: [n][m]f32): [n]f32 =
  let spread r =
    let mean = f32.sum r / f32.i64 m
    in f32.sum (map (\\x -> (x - mean) * (x - mean)) r) / 2
  in map spread a
""",
        lambda r: (matrix(r),),
    ),
    "largest_of_rows": Example(
        """
entry main [n][m] (a: [n][m]f32): [n]f32 = map (\\row -> f32.maximum row / 2) a
""",
        lambda r: (matrix(r),),
    ),
    "exponentials_summed": Example(
        """
entry main [n][m] (a: [n][m]f32): [n]f32 =
  map (\\row -> f32.sum (map f32.exp row) / 2) a
""",
        lambda r: (matrix(r),),
    ),
    "short_rows_added": Example(
        """
entry main [n][m] (a: [n][m][8]i32): [n]i32 =
  let add row = loop acc = 0 for x in row do acc + x
  in map (\\rows -> loop acc = 0 for row in rows do acc ^ add row) a
""",
        lambda r: (r.integers(0, 100, (35, 19, 8)).astype(np.int32),),
    ),
    "rows_added": Example(
        """
entry main [n][m] (a: [n][m]i32): [n]i32 =
  map (\\row -> loop acc = 0 for x in row do acc + x) a
""",
        lambda r: (r.integers(0, 100, (35, 19)).astype(np.int32),),
    ),
    "envelopes_of_rows": Example(
        """
entry main [n][m] (a: [n][m]f32): [n]f32 =
  map (\\row -> loop s = 0 for x in row do
    if x > s then s + 0.5 * (x - s) else s + 0.25 * (x - s)) a
""",
        lambda r: (matrix(r),),
    ),
    "falls_from_peaks": Example(
        """
entry main [n][m] (a: [n][m]f32): [n]f32 =
  map (\\row -> (loop (p, d) = (0, 0) for x in row do
    let p = f32.max p x in (p, f32.max d (p - x))).1) a
""",
        lambda r: (matrix(r),),
    ),
    "sum_and_recurrence": Example(
        """
entry main [n][m] (a: [n][m]f32): [n]f32 =
  map (\\row -> f32.sum row + loop acc = 0 for x in row do f32.sqrt acc + x * x) a
""",
        lambda r: (matrix(r),),
    ),
    "states_by_weights": Example(
        """
entry main [n] [k] (steps: i64) (w: [2][k][k]f32) (s: [n][k]f32): [n][k]f32 =
  loop s for _i < steps do
    map (\\r -> map (\\c -> f32.tanh (f32.sum (map2 (*) r c))) w[1]) s
""",
        lambda r: (3, matrix(r, 2, 19, 19), matrix(r, 5, 19)),
    ),
    "state_by_weights": Example(
        """
entry main [k] (steps: i64) (w: [k][k]f32) (s: [k]f32): [k]f32 =
  loop s for _i < steps do
    map (\\c -> f32.tanh (f32.sum (map2 (*) s c))) w
""",
        lambda r: (3, matrix(r, 19, 19), matrix(r, 19)),
    ),
    "nearest_of_many": Example(
        """
entry main [n][k][d] (points: [n][d]f32) (centres: [k][d]f32): [n]f32 =
  let distance p c = f32.sum (map2 (\\x y -> (x - y) * (x - y)) p c)
  in map (\\p -> f32.minimum (map (distance p) centres) / 2) points
""",
        lambda r: (matrix(r, 35, 19), matrix(r, 5, 19)),
    ),
}


@cache
def kernels_of(name: str) -> Program:
    """The program as the pass finds it."""
    source = Source("test.fut", EXAMPLES[name].text)
    return stages.to_kernels(stages.to_core(stages.check(source)))


def laid_out(name: str, schedule: str) -> tuple[Program, list[str]]:
    """The program after the pass, and the rules that fired."""
    from minifut.passes.pipeline import PipelineOptions

    options = PipelineOptions(trace=Trace())
    program = stages.to_schedule(kernels_of(name), schedule, options)
    assert options.trace is not None
    return program, options.trace.fired()
