"""Tiled kernels on the device, validated as in the thesis on block and register tiles.

    python benchmarks/tiling_validation.py [--schedule cpu|gpu] [--quick]

Its 13 input sizes (each combination of what is left over in rows, columns and common
dimension), its 7 sets of tile sizes (threads that divide the depth of a block, that do
not, that are more), its 3 programs: a matrix product; integer division in place of the
multiplication, on operands without zeros; i16 and f64 operands, reduced by logical and.
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
NEST = "main.map_map_redomap"
PROGRAM = """
def main [n][m][p] (a: [n][m]{0}) (b: [m][p]{1}): [n][p]{2} =
  map (\\r -> map (\\c -> reduce {3} (map2 {4} r c)) (transpose b)) a"""

Arguments = tuple[np.ndarray, np.ndarray]


def numbers(n: int, m: int, p: int) -> Arguments:
    """Small whole numbers other than zero."""
    random = np.random.default_rng(n + m + p)

    def draw(*shape: int) -> np.ndarray:
        return random.integers(1, 9, shape) * random.choice([-1, 1], shape)

    return draw(n, m), draw(m, p)


def product(a: np.ndarray, b: np.ndarray) -> tuple[Arguments, np.ndarray]:
    x, y = a.astype(np.float32), b.astype(np.float32)
    return (x, y), x @ y


def division(a: np.ndarray, b: np.ndarray) -> tuple[Arguments, np.ndarray]:
    x, y = a.astype(np.int32), b.astype(np.int32)
    total = np.zeros((len(x), y.shape[1]), np.int32)
    for k in range(x.shape[1]):
        total += x[:, k, None] // y[k]
    return (x, y), total


def mixed(a: np.ndarray, b: np.ndarray) -> tuple[Arguments, np.ndarray]:
    x, y = a.astype(np.int16), np.maximum(b + 14.5, 8.0)
    return (x, y), _all_less(x, y)


def _all_less(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    found = np.ones((len(x), y.shape[1]), np.bool_)
    for k in range(x.shape[1]):
        found &= x[:, k, None] < y[k]
    return found


CASES: dict[str, tuple[str, Callable[..., Any]]] = {
    "product": (PROGRAM.format("f32", "f32", "f32", "(+) 0", "(*)"), product),
    "division": (PROGRAM.format("i32", "i32", "i32", "(+) 0", "(/)"), division),
    "mixed types": (
        PROGRAM.format("i16", "f64", "bool", "(&&) true", "(\\x y -> f64.i16 x < y)"),
        mixed,
    ),
}


def validate(schedule: str, quick: bool) -> int:
    """The number of wrong results."""
    wrong = 0
    tiles = TILES[::3] if quick else TILES
    sizes = SIZES[:4] if quick else SIZES
    for name, (text, expect) in CASES.items():
        program = minifut.compile(text, schedule=schedule)
        known = [expect(*numbers(*size)) for size in sizes]
        for chosen in tiles:
            named = dict(zip(NAMES, chosen, strict=True))
            for parameter, value in named.items():
                program.tuning[f"{NEST}.{parameter}"] = value
            program.tuning[f"{NEST}.tiled"] = 0
            program.tuning[f"{NEST}.split"] = 1 << 62
            start = time.perf_counter()
            bad = [
                size
                for size, (given, wanted) in zip(sizes, known, strict=True)
                if not np.array_equal(program.main(*given), wanted)
            ]
            wrong += len(bad)
            seconds = time.perf_counter() - start
            told = f"wrong at {bad}" if bad else "all sizes agree"
            line = f"{schedule}  {name:12}  {chosen}  {told}  {seconds:.1f} s"
            print(line, flush=True)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--schedule", choices=("cpu", "gpu"))
    parser.add_argument("--quick", action="store_true", help="few sizes and tiles")
    options = parser.parse_args()
    schedules = (options.schedule,) if options.schedule else ("cpu", "gpu")
    sys.exit(bool(sum(validate(s, options.quick) for s in schedules)))


if __name__ == "__main__":
    main()
