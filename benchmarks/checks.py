"""What bounds checks cost: programs full of indices with and without `#[unsafe]`.

    python benchmarks/checks.py [--schedule cpu|gpu] [--seconds 4] [--only REGEX]

All indices depend on the data, so that no check is proved away. Both forms run in turn,
each in every round; results must be equal. Prints the median times and the median of
the rounds' ratios for each program, and the geometric mean of these; the exit code is
1 if that is above 1.05.
"""

from __future__ import annotations

import argparse
import itertools
import math
import operator
import re
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import minifut

MOST = 1.05
Arguments = Callable[[np.random.Generator], tuple[Any, ...]]
COUNT = 1 << 20


@dataclass(frozen=True, slots=True)
class Case:
    """A program; `UNSAFE` is the place of its attribute."""

    name: str
    text: str
    arguments: Arguments


def floats(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.random(shape, dtype=np.float32)


def indices(random: np.random.Generator, most: int, *shape: int) -> np.ndarray:
    return random.integers(0, most, shape)


def sparse_rows(random: np.random.Generator) -> tuple[Any, ...]:
    """About 16 elements in each of 2^16 rows: values, columns, starts, a vector."""
    rows = 1 << 16
    starts = np.concatenate([[0], np.cumsum(random.integers(8, 25, rows))])
    total = int(starts[-1])
    columns = indices(random, rows, total)
    return floats(random, total), columns, starts, floats(random, rows)


CASES = (
    Case(
        "gather",
        "entry main (xs: []f32) (is: []i64) = UNSAFE map (\\i -> xs[i] + 1) is",
        lambda r: (floats(r, COUNT), indices(r, COUNT, 4 * COUNT)),
    ),
    Case(
        "gather in two dimensions",
        "entry main (xss: [][]f32) (is: []i64) (js: []i64) =\n"
        "  UNSAFE map2 (\\i j -> xss[i, j] - xss[j, i]) is js",
        lambda r: (
            floats(r, 1024, 1024),
            indices(r, 1024, 2 * COUNT),
            indices(r, 1024, 2 * COUNT),
        ),
    ),
    Case(
        "sparse matrix-vector product",
        "entry main [r] (vs: []f32) (cs: []i64) (starts: [r]i64) (xs: []f32) =\n"
        "  UNSAFE tabulate (r - 1) (\\i ->\n"
        "    loop s = 0 for k < starts[i + 1] - starts[i] do\n"
        "      s + vs[starts[i] + k] * xs[cs[starts[i] + k]])",
        sparse_rows,
    ),
    Case(
        "chains of 16 links",
        "entry main (next: []i64) (is: []i64) =\n"
        "  UNSAFE map (\\i -> loop i for _k < 16i32 do next[i]) is",
        lambda r: (indices(r, COUNT, COUNT), indices(r, COUNT, COUNT // 4)),
    ),
    Case(
        "binary search",
        "entry main [n] (xs: [n]f32) (vs: []f32) =\n"
        "  UNSAFE map (\\v -> (loop (a, b) = (0, n) while a < b do\n"
        "    let m = (a + b) / 2 in if xs[m] < v then (m + 1, b) else (a, m)).0) vs",
        lambda r: (np.sort(floats(r, COUNT)), floats(r, COUNT)),
    ),
    Case(
        "bilinear interpolation",
        "entry main (xss: [][]f32) (xs: []f32) (ys: []f32) =\n"
        "  UNSAFE map2 (\\x y ->\n"
        "    let (i, j) = (i64.f32 x, i64.f32 y)\n"
        "    let (a, b) = (x - f32.i64 i, y - f32.i64 j)\n"
        "    in (1 - a) * ((1 - b) * xss[i, j] + b * xss[i, j + 1])\n"
        "       + a * ((1 - b) * xss[i + 1, j] + b * xss[i + 1, j + 1])) xs ys",
        lambda r: (floats(r, 512, 512), *(510 * floats(r, 2, COUNT))),
    ),
)


def times_in_turn(
    ways: Mapping[str, Callable[[], Any]], rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Seconds of each way, all in turn in every round, in changing order: so many
    rounds at least, and more until that much time is over."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    until = time.perf_counter() + seconds
    for number in itertools.count():
        if number > rounds and time.perf_counter() > until:
            return times
        for name in list(ways)[:: 1 if number % 2 else -1]:
            begun = time.perf_counter()
            ways[name]()
            if number:
                times[name].append(time.perf_counter() - begun)
    raise AssertionError


def ratio(case: Case, options: argparse.Namespace) -> float:
    """Checked over unchecked: the median of the ratios of all rounds, since the speed
    of memory changes from one second to the next."""
    arguments = case.arguments(np.random.default_rng(1))
    texts = {"checked": "", "unchecked": "#[unsafe]"}
    programs = {
        name: minifut.compile(
            case.text.replace("UNSAFE", text), schedule=options.schedule
        )
        for name, text in texts.items()
    }
    one, other = (program.main(*arguments) for program in programs.values())
    if not np.array_equal(one, other):
        sys.exit(f"{case.name}: results differ")
    ways = {name: partial(p.main, *arguments) for name, p in programs.items()}
    found = times_in_turn(ways, options.rounds, options.seconds)
    checked, unchecked = (statistics.median(times) for times in found.values())
    result: float = statistics.median(map(operator.truediv, *found.values()))
    print(
        f"{case.name:30}{checked * 1e3:9.2f} ms{unchecked * 1e3:9.2f} ms"
        f"{len(found['checked']):8}{result:8.3f}",
        flush=True,
    )
    return result


def main() -> int:
    """Measure and print a table; 1 if the checks cost too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--schedule", choices=("cpu", "gpu"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=4, help="for each program")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print(f"{'':30}{'checked':>12}{'unchecked':>12}{'rounds':>8}{'ratio':>8}")
    found = [
        ratio(case, options) for case in CASES if re.search(options.only, case.name)
    ]
    mean = math.prod(found) ** (1 / len(found))
    print(f"{'geometric mean':62}{mean:8.3f}")
    return 1 if mean > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
