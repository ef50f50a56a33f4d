"""Tiled kernels on the device, validated as in the thesis on block and register tiles.

    python benchmarks/tiling_validation.py [--schedule cpu|gpu] [--program NAME]
                                           [--tiles FIRST:LAST] [--quick]

Its 13 input sizes (each combination of what is left over in rows, columns and common
dimension), its 7 sets of tile sizes (threads that divide the depth of a block, that do
not, that are more), its 3 programs: a matrix product; integer division in place of the
multiplication, on operands without zeros; i16 and f64 operands, reduced by logical and.
Beyond those a product with code after the sum (GEMM), one for each of two pairs of
matrices, the masked batch of the lecture, shortest paths (min-plus), and the position
and value of the largest term (tuples).
Results are compared with NumPy's. Each set of tile sizes is one build of the kernels.
Prints a line per program and set, and ends with a failure if any result is wrong.

Source: "Teaching the Futhark compiler block and register tiled matrix multiplication",
section 5.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

import minifut

SIZES = (
    (2, 3, 4), (15, 29, 27), (128, 32, 64), (128, 103, 64), (512, 32, 1024),
    (512, 128, 1024), (513, 128, 1024), (512, 129, 1024), (512, 128, 1025),
    (513, 129, 1024), (513, 128, 1025), (512, 129, 1025), (513, 129, 1025),
)  # fmt: skip
"""rows, common dimension, columns"""
TILES = (
    (16, 16, 32, 8, 4), (13, 16, 16, 8, 4), (16, 13, 16, 8, 4), (13, 13, 16, 8, 4),
    (19, 16, 16, 8, 4), (16, 19, 16, 8, 4), (19, 19, 16, 8, 4),
)  # fmt: skip
"""threads of rows and columns, depth of a block, registers of rows and columns"""
NAMES = (
    "block_rows",
    "block_columns",
    "block_depth",
    "register_rows",
    "register_columns",
)
PROGRAM = """
def main [n][m][p] (a: [n][m]{0}) (b: [m][p]{1}): [n][p]{2} =
  map (\\r -> map (\\c -> reduce {3} (map2 {4} r c)) (transpose b)) a"""
GEMM = """
def main [n][m][p] (a: [n][m]f32) (b: [m][p]f32) (c: [n][p]f32): [n][p]f32 =
  map2 (\\r cs -> map2 (\\col x -> 2 * reduce (+) 0 (map2 (*) r col) - 3 * x)
                      (transpose b) cs) a c"""
BATCHED = """
def main [q][n][m][p] (as: [q][n][m]f32) (bs: [q][m][p]f32): [q][n][p]f32 =
  map2 (\\a b -> map (\\r -> map (\\c -> reduce (+) 0 (map2 (*) r c)) (transpose b)) a)
       as bs"""
MASKED = """
def main [n][k][q] (a: [k][q]f32) (b: [q][k]f32) (x: [n][q]f32): [n][k][k]f32 =
  map (\\xs -> map (\\as -> map (\\bs ->
        reduce (+) 0 (map3 (\\a b x -> if x != 0 then a * b else 0) as bs xs))
      (transpose b)) a) x"""
LARGEST = """
def more (x: i32, i: i64) (y: i32, j: i64): (i32, i64) =
  if x > y || (x == y && i < j) then (x, i) else (y, j)
def main [n][m][p] (a: [n][m]i32) (b: [m][p]i32): ([n][p]i32, [n][p]i64) =
  map (\\r -> map (\\c -> reduce_comm more (i32.lowest, i64.highest)
                              (map3 (\\x y i -> (x * y, i)) r c (iota m)))
                 (transpose b)) a |> map unzip |> unzip"""
ROWS_OF_MASKED = 8

Arguments = tuple[np.ndarray, ...]
Results = tuple[np.ndarray, ...]


def numbers(n: int, m: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Small whole numbers other than zero."""
    random = np.random.default_rng(n + m + p)

    def draw(*shape: int) -> np.ndarray:
        return random.integers(1, 9, shape) * random.choice([-1, 1], shape)

    return draw(n, m), draw(m, p)


def product(a: np.ndarray, b: np.ndarray) -> tuple[Arguments, Results]:
    x, y = a.astype(np.float32), b.astype(np.float32)
    return (x, y), (x @ y,)


def division(a: np.ndarray, b: np.ndarray) -> tuple[Arguments, Results]:
    x, y = a.astype(np.int32), b.astype(np.int32)
    total = np.zeros((len(x), y.shape[1]), np.int32)
    for k in range(x.shape[1]):
        total += x[:, k, None] // y[k]
    return (x, y), (total,)


def mixed(a: np.ndarray, b: np.ndarray) -> tuple[Arguments, Results]:
    x, y = a.astype(np.int16), np.maximum(b + 14.5, 8.0)
    found = np.ones((len(x), y.shape[1]), np.bool_)
    for k in range(x.shape[1]):
        found &= x[:, k, None] < y[k]
    return (x, y), (found,)


def gemm(a: np.ndarray, b: np.ndarray) -> tuple[Arguments, Results]:
    x, y = a.astype(np.float32), b.astype(np.float32)
    c = np.add.outer(a[:, 0], b[0]).astype(np.float32)
    return (x, y, c), (2 * (x @ y) - 3 * c,)


def batched(a: np.ndarray, b: np.ndarray) -> tuple[Arguments, Results]:
    x = np.stack([a, -a - 1]).astype(np.float32)
    y = np.stack([b, b + 1]).astype(np.float32)
    return (x, y), (x @ y,)


def masked(a: np.ndarray, b: np.ndarray) -> tuple[Arguments, Results]:
    """The rows of `a` are masks, which drop about half of the common dimension."""
    mask = np.maximum(a, 0).astype(np.float32)
    y = np.resize(b, (a.shape[1], ROWS_OF_MASKED)).astype(np.float32)
    x = np.ascontiguousarray((y + 1).T)
    return (x, y, mask), (np.einsum("kq,nq,ql->nkl", x, (mask != 0) * 1.0, y),)


def shortest(a: np.ndarray, b: np.ndarray) -> tuple[Arguments, Results]:
    x, y = a.astype(np.float32), b.astype(np.float32)
    terms = (x[:, k, None] + y[k] for k in range(x.shape[1]))
    return (x, y), (reduce(np.minimum, terms),)


def largest(a: np.ndarray, b: np.ndarray) -> tuple[Arguments, Results]:
    x, y = a.astype(np.int32), b.astype(np.int32)
    best = x[:, 0, None] * y[0]
    where = np.zeros(best.shape, np.int64)
    for k in range(1, x.shape[1]):
        term = x[:, k, None] * y[k]
        where[term > best] = k
        best = np.maximum(best, term)
    return (x, y), (best, where)


CASES: dict[str, tuple[str, Callable[..., tuple[Arguments, Results]]]] = {
    "product": (PROGRAM.format("f32", "f32", "f32", "(+) 0", "(*)"), product),
    "division": (PROGRAM.format("i32", "i32", "i32", "(+) 0", "(/)"), division),
    "mixed": (
        PROGRAM.format("i16", "f64", "bool", "(&&) true", "(\\x y -> f64.i16 x < y)"),
        mixed,
    ),
    "gemm": (GEMM, gemm),
    "batched": (BATCHED, batched),
    "masked": (MASKED, masked),
    "min-plus": (
        PROGRAM.format("f32", "f32", "f32", "f32.min f32.inf", "(+)"),
        shortest,
    ),
    "tuples": (LARGEST, largest),
}


def chosen_by(program: Any, tiles: tuple[int, ...]) -> dict[str, int]:
    """The parameters that make the program use tiles of these sizes."""
    wanted = dict(zip(NAMES, tiles, strict=True))
    found: dict[str, int] = {}
    for name in program.tuning:
        last = name.rpartition(".")[2]
        if last in wanted:
            found[name] = wanted[last]
        elif last == "tiled":
            found[name] = 0
        elif last in ("split", "outer"):
            found[name] = NEVER if last == "split" else 0
    return found


NEVER = 1 << 62


def validate(schedule: str, name: str, sizes: Any, tiles: Any) -> int:
    """The number of wrong results of a program."""
    text, expect = CASES[name]
    program = minifut.compile(text, schedule=schedule)
    known = [expect(*numbers(*size)) for size in sizes]
    wrong = 0
    for each in tiles:
        program.tuning.update(chosen_by(program, each))
        start = time.perf_counter()
        with program.tuning.watch() as seen:
            results = [program.main(*given) for given, _ in known]
        # of all sizes of tiles those of registers are constants of any kernel
        tiled = any(use.endswith("register_columns") for use in seen.uses)
        bad = [
            size
            for size, result, (_, wanted) in zip(sizes, results, known, strict=True)
            if not equal(result, wanted)
        ]
        wrong += len(bad) + (not tiled)
        seconds = time.perf_counter() - start
        told = f"wrong at {bad}" if bad else "all sizes agree"
        told = told if tiled else f"{told}, but not tiled"
        print(f"{schedule}  {name:9}  {each}  {told}  {seconds:.1f} s", flush=True)
    return wrong


def equal(result: Any, wanted: Results) -> bool:
    """Whether all results are, to the last bit."""
    given = result if isinstance(result, tuple) else (result,)
    return all(np.array_equal(g, w) for g, w in zip(given, wanted, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--schedule", choices=("cpu", "gpu"))
    parser.add_argument("--program", choices=tuple(CASES))
    parser.add_argument("--tiles", default=":", help="which sets, as in 0:4")
    parser.add_argument("--quick", action="store_true", help="few sizes and tiles")
    options = parser.parse_args()
    first, _, last = options.tiles.partition(":")
    tiles = TILES[int(first or 0) : int(last or len(TILES))]
    sizes = SIZES
    if options.quick:
        tiles, sizes = tiles[::3], SIZES[:4]
    wrong = sum(
        validate(schedule, name, sizes, tiles)
        for schedule in ([options.schedule] if options.schedule else ["cpu", "gpu"])
        for name in ([options.program] if options.program else CASES)
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
