"""Programs whose nests are tiled, with arguments of given sizes.

All numbers are small and whole, so that sums are exact in whatever order they are done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Sizes = tuple[int, int, int]
"""rows, the common dimension, columns"""


@dataclass(frozen=True)
class Tiled:
    """A program; the name of its nest; and arguments for given sizes."""

    text: str
    nest: str
    arguments: Callable[[np.random.Generator, int, int, int], list[Any]]


def whole(random: np.random.Generator, *shape: int, dtype: type = np.float32) -> Any:
    """Small whole numbers."""
    return random.integers(-4, 5, shape).astype(dtype)


def nonzero(random: np.random.Generator, *shape: int, dtype: type = np.int32) -> Any:
    """Whole numbers without zero."""
    numbers = random.integers(1, 9, shape) * random.choice([-1, 1], shape)
    return numbers.astype(dtype)


def product(
    map_operator: str, reduce_operator: str, types: tuple[str, str, str]
) -> str:
    """A program like a matrix product with other operators."""
    left, right, result = types
    return f"""
def main [n][m][p] (a: [n][m]{left}) (b: [m][p]{right}): [n][p]{result} =
  map (\\r -> map (\\c -> reduce {reduce_operator} (map2 {map_operator} r c))
                 (transpose b)) a"""


def two(dtype: type = np.float32, other: type | None = None) -> Any:
    return lambda g, n, m, p: [
        whole(g, n, m, dtype=dtype),
        whole(g, m, p, dtype=other or dtype),
    ]


MATMUL = product("(*)", "(+) 0", ("f32", "f32", "f32"))
DIVISION = product("(/)", "(+) 0", ("i32", "i32", "i32"))
MIXED = product("(\\x y -> f64.i16 x < y)", "(&&) true", ("i16", "f64", "bool"))

PROGRAMS: dict[str, Tiled] = {
    "product": Tiled(MATMUL, "main.map_map_redomap", two()),
    "division": Tiled(
        DIVISION,
        "main.map_map_redomap",
        lambda g, n, m, p: [nonzero(g, n, m), nonzero(g, m, p)],
    ),
    "mixed types": Tiled(MIXED, "main.map_map_redomap", two(np.int16, np.float64)),
    "shortest paths": Tiled(
        product("(+)", "f32.min f32.inf", ("f32", "f32", "f32")),
        "main.map_map_redomap",
        two(),
    ),
    "gemm": Tiled(
        """
def main [n][m][p] (alpha: f32) (beta: f32) (a: [n][m]f32) (b: [m][p]f32)
                   (c: [n][p]f32): [n][p]f32 =
  map2 (\\r cs -> map2 (\\col x -> alpha * reduce (+) 0 (map2 (*) r col) + beta * x)
                      (transpose b) cs) a c""",
        "main.map_map_redomap",
        lambda g, n, m, p: [
            np.float32(2),
            np.float32(-3),
            whole(g, n, m),
            whole(g, m, p),
            whole(g, n, p),
        ],
    ),
    "transposed": Tiled(
        """
def main [n][m][p] (a: [m][n]f32) (b: [p][m]f32): [n][p]f32 =
  map (\\r -> map (\\c -> reduce (+) 0 (map2 (*) r c)) b) (transpose a)""",
        "main.map_map_redomap",
        lambda g, n, m, p: [whole(g, m, n), whole(g, p, m)],
    ),
    "batched": Tiled(
        """
def main [q][n][m][p] (as: [q][n][m]f32) (bs: [q][m][p]f32): [q][n][p]f32 =
  map2 (\\a b -> map (\\r -> map (\\c -> reduce (+) 0 (map2 (*) r c)) (transpose b)) a)
       as bs""",
        "main.map_map_map_redomap",
        lambda g, n, m, p: [whole(g, 3, n, m), whole(g, 3, m, p)],
    ),
    "one matrix for the whole batch": Tiled(
        """
def main [q][n][m][p] (as: [q][n][m]f32) (b: [m][p]f32): [q][n][p]f32 =
  map (map (\\r -> map (\\c -> reduce (+) 0 (map2 (*) r c)) (transpose b))) as""",
        "main.map_map_map_redomap",
        lambda g, n, m, p: [whole(g, 2, n, m), whole(g, m, p)],
    ),
    "masked": Tiled(
        """
def main [n][k][q] (a: [k][q]f32) (b: [q][k]f32) (x: [n][q]f32): [n][k][k]f32 =
  map (\\xs -> map (\\as -> map (\\bs ->
        reduce (+) 0 (map3 (\\a b x -> if x != 0 then a * b else 0) as bs xs))
      (transpose b)) a) x""",
        "main.map_map_map_redomap",
        lambda g, n, m, p: [whole(g, 3, m), whole(g, m, 3), whole(g, n + p, m)],
    ),
    "nearest": Tiled(
        """
def less (x: f32, i: i64) (y: f32, j: i64): (f32, i64) =
  if x < y || (x == y && i < j) then (x, i) else (y, j)
def main [n][m][p] (a: [n][m]f32) (b: [p][m]f32): ([n][p]f32, [n][p]i64) =
  map (\\r -> map (\\c ->
        reduce_comm less (f32.inf, i64.highest)
                    (map3 (\\x y i -> ((x - y) * (x - y), i)) r c (iota m))) b) a
  |> map unzip |> unzip""",
        "main.map_map_redomap",
        lambda g, n, m, p: [whole(g, n, m), whole(g, p, m)],
    ),
    "an operator that does not commute": Tiled(
        """
def after (a: i32, b: i32) (c: i32, d: i32) = (a * c, b * c + d)
def main [n][m][p] (a: [n][m]i32) (b: [m][p]i32): ([n][p]i32, [n][p]i32) =
  map (\\r -> map (\\c -> reduce after (1, 0) (zip r c)) (transpose b)) a
  |> map unzip |> unzip""",
        "main.map_map_redomap",
        two(np.int32),
    ),
    "two reductions": Tiled(
        """
def main [n][m][p] (a: [n][m]f32) (b: [m][p]f32): ([n][p]f32, [n][p]f32) =
  map (\\r -> map (\\c ->
        let s = reduce (+) 0 (map2 (*) r c)
        let t = reduce f32.max f32.lowest (map2 (\\x y -> x + y - s) r c)
        in (s, t)) (transpose b)) a
  |> map unzip |> unzip""",
        "main.map_map_redomap_redomap",
        two(),
    ),
    "two sums that are used afterwards": Tiled(
        """
def main [n][m][p] (a: [n][m]f32) (b: [m][p]f32) (c: [n][p]f32)
                   : ([n][p]f32, [n][p]f32, [n][p]f32) =
  map2 (\\r cs -> map2 (\\col x ->
         let s = reduce (+) 0 (map2 (*) r col)
         let t = reduce (+) 0 (map2 (-) r col)
         in (s + x, t, s - t)) (transpose b) cs) a c
  |> map unzip3 |> unzip3""",
        "main.map_map_redomap",
        lambda g, n, m, p: [whole(g, n, m), whole(g, m, p), whole(g, n, p)],
    ),
    "two reductions of different lengths": Tiled(
        """
def main [n][m][p][l] (a: [n][m]f32) (b: [m][p]f32) (c: [n][l]f32) (d: [p][l]f32)
                      : [n][p]f32 =
  map2 (\\r u -> map2 (\\s v ->
        reduce (+) 0 (map2 (*) r s) - reduce (+) 1 (map2 (\\x y -> x - y) u v))
      (transpose b) d) a c""",
        "main.map_map_redomap_redomap",
        lambda g, n, m, p: [
            whole(g, n, m),
            whole(g, m, p),
            whole(g, n, m + 3),
            whole(g, p, m + 3),
        ],
    ),
    "indices": Tiled(
        """
def main [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 =
  tabulate_2d n p (\\i j -> reduce (+) 0 (tabulate m (\\k -> a[i, k] * b[k, j])))""",
        "main.map_map_redomap",
        two(),
    ),
    "parts of matrices": Tiled(
        """
def main [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [][]f32 =
  let c = a[1:, 1:]
  let d = b[1:, :p - 1]
  in map (\\r -> map (\\s -> reduce (+) 0 (map2 (*) r s)) (transpose d)) c""",
        "main.map_map_redomap",
        lambda g, n, m, p: [whole(g, n + 1, m + 1), whole(g, m + 1, p + 1)],
    ),
    "every other, backwards": Tiled(
        """
def main [n][m][p] (a: [n][m]f32) (b: [p][m]f32): [][]f32 =
  let h = (m + 1) / 2
  in map (\\r -> map (\\s ->
        reduce (+) 0 (map2 (*) (r[::2] :> [h]f32) (s[::2] :> [h]f32))) b) a[::-1]""",
        "main.map_map_redomap",
        lambda g, n, m, p: [whole(g, n, m), whole(g, p, m)],
    ),
    "something read once": Tiled(
        """
def main [n][m][p] (a: [n][m]f32) (b: [m][p]f32) (w: [n][p][m]f32): [n][p]f32 =
  map2 (\\r ws -> map2 (\\c w -> reduce (+) 0 (map3 (\\x y z -> x * y + z) r c w))
                      (transpose b) ws) a w""",
        "main.map_map_redomap",
        lambda g, n, m, p: [whole(g, n, m), whole(g, m, p), whole(g, n, p, m)],
    ),
    "columns and a scalar per row": Tiled(
        """
def main [n][m][p] (s: [n]f32) (b: [m][p]f32): [n][p]f32 =
  map (\\x -> map (\\c -> reduce (+) 0 (map (\\y -> f32.max x y) c)) (transpose b)) s""",
        "main.map_map_redomap",
        lambda g, n, m, p: [whole(g, n), whole(g, m, p)],
    ),
    "forces": Tiled(
        """
def main [n][m] (xs: [n]f32) (ys: [m]f32) (ws: [m]f32): [n]f32 =
  map (\\x -> reduce (+) 0 (map2 (\\y w -> w * (y - x)) ys ws)) xs""",
        "main.map_redomap",
        lambda g, n, m, p: [whole(g, n), whole(g, m), whole(g, m)],
    ),
    "matrix and vector": Tiled(
        """
def main [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 =
  map (\\r -> reduce (+) 0 (map2 (*) r x)) a""",
        "main.map_redomap",
        lambda g, n, m, p: [whole(g, n, m), whole(g, m)],
    ),
    "a check before": Tiled(
        """
def main [n][m][p] (a: [n][m]i32) (b: [m][p]i32) (is: [n]i64): [n][p]i32 =
  map (\\i -> map (\\c -> let r = a[i] in reduce (+) 0 (map2 (*) r c)) (transpose b))
      is""",
        "main.map_map_redomap",
        lambda g, n, m, p: [
            whole(g, n, m, dtype=np.int32),
            whole(g, m, p, dtype=np.int32),
            g.integers(0, max(n, 1), n),
        ],
    ),
}
