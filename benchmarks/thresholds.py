"""Where outer parallelism is enough: what the default thresholds rest on.

    python benchmarks/thresholds.py [--only REGEX] [--schedule cpu|gpu] [--runs N]

For small nests of each kind, in several shapes: the time of the version for outer
parallelism over that of the one that exploits all of it (`flatten/defaults.py` states
what follows). Below 1 the outer version is the faster one; runs are interleaved.
"""

from __future__ import annotations

import argparse
import re

import numpy as np

from minifut import compiler, stages
from minifut.benchmarking.compare import forced
from minifut.benchmarking.measure import Candidate, RunPlan, measure_together
from minifut.benchmarking.ratios import ratio
from minifut.errors import Source
from minifut.ir.kernels import NEVER
from minifut.program import Program

PRODUCT = """
entry main [n] [k] [m] (a: [n][k]f32) (b: [k][m]f32): [n][m]f32 =
  map (\\row -> map (\\col -> f32.sum (map2 (*) row col)) (transpose b)) a
"""
NESTS = {
    "row sums": (
        "entry main [n][m] (a: [n][m]f32) = map f32.sum a",
        [((1 << n, 1 << (22 - n)),) for n in (2, 4, 8, 12, 16, 18, 20)],
    ),
    "column sums": (
        "entry main [n][m] (a: [n][m]f32) = map f32.sum (transpose a)",
        [((1 << n, 1 << (22 - n)),) for n in (2, 6, 10, 14, 18, 20)],
    ),
    "sums of rows of matrices": (
        "entry main [l][n][m] (a: [l][n][m]f32) = map (map f32.sum) a",
        [((1 << n, 1 << n, 1 << (22 - 2 * n)),) for n in (1, 2, 4, 6, 8, 9)],
    ),
    "sums of columns of matrices": (
        "entry main [l][n][m] (a: [l][n][m]f32) = "
        "map (\\x -> map f32.sum (transpose x)) a",
        [((1 << (20 - 2 * n), 1 << n, 1 << (n + 2)),) for n in (2, 4, 6, 8)],
    ),
    "products": (
        PRODUCT,
        [
            ((1 << n, 1 << k), (1 << k, 1 << n))
            for n, k in ((1, 18), (2, 16), (3, 14), (3, 17), (4, 12), (4, 16), (5, 8))
        ],
    ),
    "narrow products": (
        PRODUCT,
        [
            ((1 << n, 1 << k), (1 << k, m))
            for n, k, m in ((10, 10, 1), (10, 10, 4), (10, 10, 8), (4, 12, 64))
        ],
    ),
    "outer products": (
        PRODUCT,
        [((1 << n, k), (k, 1 << n)) for n, k in ((9, 1), (9, 2), (9, 4), (7, 16))],
    ),
    "folds of shared rows": (
        "entry main [n][m] (a: [n]f32) (b: [m]f32) = "
        "map (\\x -> f32.sum (map (\\y -> 1 / (1 + (x - y) * (x - y))) b)) a",
        [((1 << n,), (1 << (20 - n),)) for n in (4, 5, 6, 8, 10, 12, 14, 16, 18)],
    ),
    "nearest of shared rows": (
        "entry main [n][m] (a: [n]f32) (b: [m]f32) = map (\\x -> reduce "
        "(\\(s, i) (t, j) -> if s < t || s == t && i < j then (s, i) else (t, j)) "
        "(1, -1) (zip (map (\\y -> f32.abs (x - y)) b) (iota m))) a",
        [((1 << n,), (1 << (20 - n),)) for n in (4, 5, 6, 8, 10, 12, 14, 16, 18)],
    ),
    "functions of shared rows": (
        "entry main [n][m] (a: [n]f32) (b: [m]f32) = "
        "map (\\x -> f32.sum (map (\\y -> f32.exp (x - y)) b)) a",
        [((1 << n,), (1 << (18 - n),)) for n in (4, 5, 6, 8, 10, 12, 14, 16)],
    ),
    "row scans": (
        "entry main [n][m] (a: [n][m]f32) = map (scan (+) 0) a",
        [((1 << n, 1 << (22 - n)),) for n in (2, 4, 8, 12, 16, 18, 20)],
    ),
    "column scans": (
        "entry main [n][m] (a: [n][m]f32) = transpose (map (scan (+) 0) (transpose a))",
        [((1 << n, 1 << (22 - n)),) for n in (2, 6, 10, 14, 18, 20)],
    ),
    "norms": (
        "entry main [n][m] (a: [n][m]f32) = "
        "map (\\r -> let s = f32.sum r in map (/ s) r) a",
        [((1 << n, 1 << (22 - n)),) for n in (1, 2, 4, 8, 12, 16, 20)],
    ),
    "sums of scans": (
        "entry main [n][m] (a: [n][m]f32) = "
        "map (\\r -> f32.maximum (map2 (*) (scan (+) 0 r) r)) a",
        [((1 << n, 1 << (22 - n)),) for n in (1, 2, 4, 8, 12, 16, 20)],
    ),
    "folds of sums": (
        "entry main [n][m] (a: [n][m]f32) = f32.maximum (map f32.sum a)",
        [((1 << n, 1 << (22 - n)),) for n in (1, 2, 4, 8, 12, 16, 20)],
    ),
}
"""programs by name, and the shapes of their arguments"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="nests whose name matches")
    parser.add_argument("--schedule", choices=stages.SCHEDULES)
    parser.add_argument("--runs", type=int, default=9)
    given = parser.parse_args()
    plan = RunPlan(runs=given.runs, seconds=0, converge=False)
    for name, (text, shapes) in NESTS.items():
        if re.search(given.only, name):
            options = stages.Options(schedule=given.schedule, use_tuning=False)
            program = compiler.compile_program(Source(name, text), options)
            print(f"{name}: outer version over the other one", flush=True)
            for shape in shapes:
                measure_shape(program, shape, plan)


def measure_shape(
    program: Program, shapes: tuple[tuple[int, ...], ...], plan: RunPlan
) -> None:
    """A line for one shape; tiled versions are left out."""
    names = list(program.tuning)
    outer = next(name for name in names if name.endswith(".outer"))
    others = dict.fromkeys(
        (n for n in names if n.endswith((".tiled", ".intra")) or n == outer), NEVER
    )
    entry = program.entries["main"]
    assert entry.prepare is not None
    call = entry.prepare(tuple(np.ones(shape, np.float32) for shape in shapes))
    first, last = (
        Candidate(forced(call, program.tuning, {**others, outer: value}))
        for value in (0, NEVER)
    )
    measure_together([first, last], plan, slow=1e9, repeats=3)
    shown = " x ".join("".join(f"[{n}]" for n in shape) for shape in shapes)
    times = f"{first.best * 1e6:9.0f} {last.best * 1e6:9.0f} us"
    print(f"{ratio(first, last).value:10.2f} {times}  {shown}", flush=True)


if __name__ == "__main__":
    main()
