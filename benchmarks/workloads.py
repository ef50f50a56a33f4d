"""Programs as a user would write them, against NumPy and, where it is installed, Numba.

    python -m benchmarks.workloads [NAME...] [--rounds 9] [--scale 1.0] [--versions]

`workloads/*.fut` are written without the compiler in mind. Each result is compared with
NumPy's; then all contenders run in interleaved rounds, called from Python on arrays in
memory. A ratio is the median of the fastest peer over that of minifut: above 1, minifut
wins. `--scale` multiplies the lengths of the larger dimensions. `--versions` compares
the default with each forced version of minifut in the place of peers."""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import minifut
from benchmarks import array_peers as arrays
from benchmarks import indexing_peers as indexing
from benchmarks import point_peers as points
from benchmarks import row_peers as rows
from benchmarks import workload_peers as peers

try:
    from numba import njit
except ImportError:
    njit = None

FOLDER = Path(__file__).with_suffix("")
Arguments = tuple[Any, ...]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Work:
    """A program by its name, its arguments for a scale, and peers."""

    arguments: Callable[[np.random.Generator, float], Arguments]
    numpy: Function
    loops: Function | None = None
    """for Numba to compile, with `prange`"""
    slack: float = 1e-4
    """the part of the elements that may differ: where rounding decides"""


# --- the programs ---------------------------------------------------------------------


def _floats(random: np.random.Generator, *shape: int) -> Any:
    return random.normal(size=shape).astype(np.float32)


def _bytes(random: np.random.Generator, most: int, *shape: int) -> Any:
    return random.integers(0, most, shape).astype(np.uint8)


def _words(random: np.random.Generator, count: int) -> Any:
    return random.integers(0, 1 << 63, count).astype(np.uint64)


WORKS: dict[str, Work] = {
    "mandelbrot": Work(
        lambda _, s: (int(768 * s), 128),
        peers.mandelbrot,
        peers.mandelbrot_loops,
        slack=0.01,
    ),
    "sobel": Work(
        lambda r, s: (_bytes(r, 256, int(1500 * s), 2000),),
        peers.sobel,
        peers.sobel_loops,
    ),
    "slopes": Work(
        lambda r, s: (_floats(r, int(1500 * s), 2000),),
        peers.slopes,
        peers.slopes_loops,
    ),
    "waves": Work(
        lambda r, s: (30, *(_floats(r, int(700 * s), int(700 * s)) for _ in "ab")),
        peers.waves,
        peers.waves_loops,
    ),
    "heat": Work(
        lambda r, s: (20, r.random((int(128 * s),) * 3)), peers.heat, peers.heat_loops
    ),
    "medians": Work(
        lambda r, s: (_floats(r, int(2e6 * s)),), peers.medians, peers.medians_loops
    ),
    "matches": Work(
        lambda r, s: (_bytes(r, 4, int(1e6 * s)), _bytes(r, 4, 24)),
        peers.matches,
        peers.matches_loops,
    ),
    "distances": Work(
        lambda r, s: tuple(_bytes(r, 4, int(8000 * s), 32) for _ in "ab"),
        peers.distances,
        peers.distances_loops,
    ),
    "search": Work(
        lambda r, s: (np.sort(_floats(r, int(1e6 * s))), _floats(r, int(1e6 * s))),
        np.searchsorted,
        peers.search_loops,
    ),
    "softmax": Work(
        lambda r, s: (_floats(r, int(4000 * s), 500),),
        peers.softmax,
        peers.softmax_loops,
    ),
    "moments": Work(lambda r, s: (_floats(r, int(20000 * s), 200),), peers.moments),
    "bits": Work(
        lambda r, s: (_words(r, int(500_000 * s)), _words(r, 32)),
        peers.nearest,
        peers.nearest_loops,
    ),
    "power": Work(
        lambda r, s: (50, r.random((int(512 * s),) * 2, np.float32)),
        peers.power,
        peers.power_loops,
    ),
    "subsequence": Work(
        lambda r, s: tuple(_bytes(r, 4, int(4000 * s)) for _ in "ab"),
        peers.subsequence,
        peers.subsequence_loops,
    ),
    "knapsack": Work(
        lambda r, s: (
            int(30_000 * s),
            r.integers(1, 50, 100),
            r.integers(1, 100, 100, np.int32),
        ),
        peers.knapsack,
        peers.knapsack_loops,
    ),
    "lattice": Work(
        lambda r, s: (10, 1 + r.random((9, int(256 * s), 256), np.float32) / 10),
        peers.lattice,
        peers.lattice_loops,
    ),
    "blur": Work(
        lambda r, s: (5, r.random((int(1000 * s), 1000), np.float32)),
        peers.blur,
        peers.blur_loops,
    ),
    "warp": Work(
        lambda r, s: (
            r.random((int(1000 * s), 1000), np.float32),
            np.array([0.9, 0.3, -50, -0.3, 0.9, 120], np.float32),
        ),
        indexing.warp,
        indexing.warp_loops,
        slack=0.01,
    ),
    "density": Work(
        lambda r, s: tuple(r.random((2, int(2_000_000 * s)), np.float32)),
        indexing.density,
        indexing.density_loops,
    ),
    "overlaps": Work(
        lambda r, s: (_words(r, 16 * int(700 * s)).reshape(-1, 16),),
        indexing.overlaps,
        indexing.overlaps_loops,
    ),
    "seams": Work(
        lambda r, s: (r.random((int(600 * s), 2000), np.float32),),
        indexing.seams,
        indexing.seams_loops,
    ),
    "tracks": Work(
        lambda r, s: (
            np.float32(0.01),
            np.float32(0.5),
            r.random((int(10_000 * s), 100), np.float32),
        ),
        rows.tracks,
        rows.tracks_loops,
    ),
    "tridiagonal": Work(
        lambda r, s: tuple(
            more + r.random((int(4000 * s), 100), np.float32) for more in (0, 4, 0, 0)
        ),
        rows.tridiagonal,
        rows.tridiagonal_loops,
    ),
    "neighbours": Work(
        lambda r, s: tuple(
            r.random(n, np.float32) for n in 2 * (4000,) + 2 * (int(2000 * s),)
        ),
        rows.neighbours,
        rows.neighbours_loops,
    ),
    "warping": Work(
        lambda r, s: (
            r.random(64, np.float32),
            r.random((int(2000 * s), 64), np.float32),
        ),
        rows.warping,
        rows.warping_loops,
    ),
    "filter": Work(
        lambda r, s: (
            r.random(9, np.float32) / 4,
            r.random((int(1000 * s), 1200), np.float32),
        ),
        rows.filtered,
        rows.filtered_loops,
    ),
    "pooling": Work(
        lambda r, s: (_floats(r, int(16 * s), 32, 64, 64),),
        arrays.pooling,
        arrays.pooling_loops,
    ),
    "kronecker": Work(
        lambda r, s: (r.normal(size=(int(32 * s), 32)), r.normal(size=(40, 40))),
        np.kron,
    ),
    "similarities": Work(
        lambda r, s: (_floats(r, int(1500 * s), 64),),
        arrays.similarities,
    ),
    "entropy": Work(
        lambda r, s: (
            _floats(r, int(20_000 * s), 100),
            r.integers(0, 100, int(20_000 * s)).astype(np.int32),
        ),
        arrays.entropy,
        arrays.entropy_loops,
    ),
    "escape": Work(
        lambda _, s: (int(512 * s), 100),
        peers.mandelbrot,
        peers.mandelbrot_loops,
        slack=0.01,
    ),
    "sandpile": Work(
        lambda r, s: (r.integers(0, 7, (128, int(128 * s))).astype(np.int32),),
        arrays.sandpile,
        arrays.sandpile_loops,
    ),
    "areas": Work(
        lambda r, s: (
            _floats(r, 100_000, 3),
            r.integers(0, 100_000, (int(400_000 * s), 3)).astype(np.int32),
        ),
        arrays.areas,
        arrays.areas_loops,
    ),
    "rotary": Work(
        lambda r, s: tuple(_floats(r, int(4096 * s), n) for n in (128, 64, 64)),
        arrays.rotary,
        arrays.rotary_loops,
    ),
    "rotations": Work(
        lambda r, s: (
            20,
            np.array([0, 1, 0, -1, 0, 1, -1, -1, 1]),
            np.array([0, 0, 1, 0, -1, 1, 1, -1, -1]),
            _floats(r, 9, int(200 * s), 200),
        ),
        arrays.rotations,
        arrays.rotations_loops,
    ),
    "substitution": Work(
        lambda r, s: (
            np.tril(r.random((256, 256))) + 16 * np.eye(256),
            r.random((256, int(256 * s))),
        ),
        arrays.substitution,
        arrays.substitution_loops,
    ),
    "documents": Work(
        lambda r, s: (_floats(r, int(500 * s), 64), _floats(r, 5000, 64)),
        arrays.documents,
    ),
    "paths": Work(
        lambda r, s: (*r.normal(size=(2, int(5000 * s), 100)), 1.0),
        points.paths,
        points.paths_loops,
    ),
    "resize": Work(
        lambda r, s: (_floats(r, 480, 640), int(1080 * s), 1920),
        points.resize,
        points.resize_loops,
    ),
    "leaders": Work(
        lambda r, s: (_floats(r, int(4000 * s), 256), 5),
        points.leaders,
        points.leaders_loops,
    ),
    "polynomials": Work(
        lambda r, s: (r.normal(size=int(4000 * s)), r.normal(size=int(3000 * s))),
        np.convolve,
        rows.polynomials_loops,
    ),
    "causal": Work(
        lambda r, s: (_floats(r, 64), _floats(r, int(200_000 * s))),
        lambda taps, xs: np.convolve(xs, taps)[: len(xs)],
        rows.causal_loops,
    ),
    "lags": Work(
        lambda r, s: (r.normal(size=int(4000 * s)),),
        lambda xs: np.correlate(xs, xs, "full")[len(xs) - 1 :],
        rows.lags_loops,
    ),
}


def agree(found: Any, wanted: Any, slack: float) -> bool:
    """Whether all but a few elements are equal or nearly so."""
    pairs = [(found, wanted)]
    if isinstance(wanted, tuple):
        pairs = list(zip(found, wanted, strict=True))
    return all(
        np.mean(~np.isclose(np.asarray(f), w, rtol=1e-3, atol=2e-3)) <= slack
        for f, w in pairs
    )


def measured(
    name: str, rounds: int, scale: float, versions: bool
) -> tuple[dict[str, float], bool]:
    """The median seconds of each contender, and whether the result is right."""
    work = WORKS[name]
    arguments = work.arguments(np.random.default_rng(7), scale)
    program = minifut.compile(str(FOLDER / f"{name}.fut"))
    contenders: dict[str, Function] = {"minifut": program.main, "numpy": work.numpy}
    if versions:
        contenders |= forced(program)
    elif njit is not None and work.loops is not None:
        contenders["numba"] = njit(parallel=True)(work.loops)
    results = {who: call(*arguments) for who, call in contenders.items()}
    times: dict[str, list[float]] = {who: [] for who in contenders}
    for _ in range(rounds):
        for who, call in contenders.items():
            call(*arguments)
            start = time.perf_counter()
            call(*arguments)
            times[who].append(time.perf_counter() - start)
    right = agree(results["minifut"], results["numpy"], work.slack)
    return {who: statistics.median(found) for who, found in times.items()}, right


def forced(program: minifut.Program) -> dict[str, Function]:
    """A call of each version of the program, by the version's name."""
    default = dict(program.tuning)

    def call(settings: Mapping[str, int]) -> Function:
        def run(*arguments: Any) -> Any:
            program.tuning.update(settings)
            try:
                return program.main(*arguments)
            finally:
                program.tuning.update(default)

        return run

    return {v.name: call(v.settings) for v in program.versions("main")}


def main() -> int:
    """Measure the programs, print a line for each and the geometric mean."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *WORKS], help="all by default")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--versions", action="store_true")
    options = parser.parse_args()
    ratios, all_right = [], True
    names = ("minifut", "best") if options.versions else ("minifut", "numpy", "numba")
    print(f"{'ms':12}" + "".join(f"{who:>10}" for who in names) + f"{'ratio':>8}")
    for name in options.names or WORKS:
        times, right = measured(name, options.rounds, options.scale, options.versions)
        if options.versions:
            del times["numpy"]
        best = min(t for who, t in times.items() if who != "minifut")
        times["best"] = best
        ratios.append(best / times["minifut"])
        cells = "".join(
            f"{1e3 * times[who]:10.2f}" if who in times else f"{'-':>10}"
            for who in names
        )
        print(
            f"{name:12}{cells}{ratios[-1]:8.2f}{'' if right else '  WRONG'}", flush=True
        )
        all_right &= right
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of the ratios: {mean:.2f}")
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
