"""Matrix products against OpenBLAS and a kernel written by hand.

    python benchmarks/matmul.py [--sizes square] [--seconds 4] [--processor-time]

The competitors run in interleaved rounds of a few runs: NumPy's OpenBLAS, the
hand-written OpenCL kernel of `hand_written/` (f32 only), the program through the whole
compiler, tiled, and for small sizes not tiled. Before each round there is a rest, since
the threads of OpenBLAS look for more work for a while, and take half of a machine of
two cores. Operands are aligned and used in place, results reuse memory. A ratio is
speed over speed, from medians and from the best rounds.

`--processor-time` counts the time of all cores instead of the clock on the wall, with
OpenBLAS on one thread: what to use on a machine that others use too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

if "--processor-time" in sys.argv:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from minifut import stages
from minifut.benchmarking.hand_written import hand_written as written
from minifut.benchmarking.kernel_file import KernelFileError, read_kernel_file
from minifut.errors import Source
from minifut.ir.parser import names_after
from minifut.passes.pipeline import PipelineOptions
from minifut.passes.pipelines import DEFAULT, find_pass, run_steps

PRODUCT = """
entry main [n][k][m] (a: [n][k]{t}) (b: [k][m]{t}): [n][m]{t} =
  map (\\u -> map (\\v -> {reduce} (map2 {map} u v)) (transpose b)) a
"""
TRANSPOSED = """
entry main [n][m][p] (a: [m][n]f32) (b: [p][m]f32): [n][p]f32 =
  map (\\u -> map (\\v -> reduce (+) 0 (map2 (*) u v)) b) (transpose a)
"""
GEMM = """
entry main [n][m][p] (a: [n][m]f32) (b: [m][p]f32) (c: [n][p]f32): [n][p]f32 =
  map2 (\\u r -> map2 (\\v x -> 1.5 * reduce (+) 0 (map2 (*) u v) + 0.5 * x)
                     (transpose b) r) a c
"""
BATCHED = """
entry main [k][n][m][p] (a: [k][n][m]f32) (b: [k][m][p]f32): [k][n][p]f32 =
  map2 (\\x y -> map (\\u -> map (\\v -> reduce (+) 0 (map2 (*) u v))
                               (transpose y)) x) a b
"""
MASKED = """
entry main [n][k][m] (a: [k][m]f32) (b: [m][k]f32) (xs: [n][m]u8): [n][k][k]f32 =
  map (\\x -> map (\\u -> map (\\v ->
        reduce (+) 0 (map3 (\\u v x -> u * v * f32.bool (x != 0)) u v x))
      (transpose b)) a) xs
"""
SUM = {"reduce": "reduce (+) 0", "map": "(*)"}
TEXTS = {
    "f32": PRODUCT.format(t="f32", **SUM),
    "f64": PRODUCT.format(t="f64", **SUM),
    "min-plus": PRODUCT.format(t="f32", reduce="reduce f32.min f32.inf", map="(+)"),
    "transposed": TRANSPOSED,
    "gemm": GEMM,
    "batched": BATCHED,
    "masked": MASKED,
}

SIZES = {
    "square": [(1024, 1024, 1024), (2048, 2048, 2048)],
    "near": [(432 + 64 * i, 415 + 61 * i, 456 + 57 * i) for i in range(16)],
    "small": [(64, 64, 64), (128, 128, 128), (256, 256, 256), (512, 512, 512)],
    "narrow": [(16, 1 << 20, 16), (4, 1 << 21, 4), (2, 1 << 23, 2)],
    "masks": [(16384, 256, 8)],
}
"""rows, common dimension, columns; of the lecture's masked batch: masks, common
dimension, and rows, which are as many as columns"""

HAND_WRITTEN = Path(__file__).parent / "hand_written" / "matmul_cpu.cl"
UNTILED = 1 << 62
UNSPLIT = {"tiled": 0, "split": UNTILED}
LARGEST_UNTILED = 512**3
FEWEST_POINTS = 1024
"""results with fewer are narrow: compared is the split version with the unsplit one"""


def tiled_kernels(text: str) -> Any:
    """The program after the pipeline, with tiling if that is not part of it yet."""
    steps = list(DEFAULT)
    if all(step.name != "tile" for step in steps):
        at = [step.name for step in steps].index("sequentialise")
        steps.insert(at, find_pass("tile"))
    program = stages.to_core(stages.check(Source("matmul.fut", text)))
    with stages.deep_recursion():
        return run_steps(steps, program, names_after(program), PipelineOptions())


def load(text: str, parameters: Mapping[str, int]) -> Any:
    """The program on the device; parameters are given by their last word."""
    namespace: dict[str, Any] = {}
    exec(stages.to_host_module(tiled_kernels(text), "cpu", "matmul"), namespace)
    program = namespace["program"]
    chosen = {
        p.name: parameters[last]
        for p in program.parameters
        if (last := p.name.rpartition(".")[2]) in parameters
    }
    return program.load(parameters=chosen)


def aligned(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """An array on a page of its own, so that the device can work in it."""
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(nbytes + 4096, np.uint8)
    start = -raw.ctypes.data % 4096
    return raw[start : start + nbytes].view(dtype).reshape(shape)


def filled(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    array = aligned(*shape, dtype=dtype)
    array[...] = np.random.default_rng(1).random(shape)
    return array


def hand_written(program: Any, a: np.ndarray, b: np.ndarray) -> Any:
    """The OpenCL kernel on the same operands, as a call that gives seconds."""
    call = program.timed("main", (a, b))
    call()
    return written(read_kernel_file(HAND_WRITTEN), call)


REST = 0.12
"""seconds, after which OpenBLAS' threads sleep, for matrices of any size"""
WARM = 2
"""runs of a round that do not count: after a rest the machine is slow at first"""
ROUND = 6
"""runs that count"""


def measure(
    runs: Mapping[str, Callable[[], Any]], seconds: float, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Times of each, in interleaved rounds of a few runs."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(next(iter(times.values()))) < 5:
        for name, run in runs.items():
            time.sleep(REST)
            for _ in range(WARM):
                run()
            for _ in range(ROUND):
                start = clock()
                run()
                times[name].append(clock() - start)
    return times


def operands(what: str, size: tuple[int, int, int]) -> tuple[np.ndarray, ...]:
    """What the program takes."""
    n, m, p = size
    match what:
        case "transposed":
            return filled(m, n), filled(p, m)
        case "gemm":
            return filled(n, m), filled(m, p), filled(n, p)
        case "batched":
            return filled(64, n, m), filled(64, m, p)
        case "masked":
            kept = np.random.default_rng(2).random((n, m)) < 0.7
            return filled(p, m), filled(m, p), kept.astype(np.uint8)
        case "f64":
            return filled(n, m, dtype=np.float64), filled(m, p, dtype=np.float64)
    return filled(n, m), filled(m, p)


def expected(what: str, given: tuple[np.ndarray, ...]) -> np.ndarray | None:
    """What NumPy gives; None where it has nothing of the kind."""
    match what:
        case "transposed":
            return np.asarray(given[0].T @ given[1].T)
        case "gemm":
            return np.asarray(1.5 * (given[0] @ given[1]) + 0.5 * given[2])
        case "masked":
            return np.asarray((given[0] * given[2][:, None, :]) @ given[1])
        case "min-plus":
            return None
    return np.asarray(given[0] @ given[1])


def compete(
    what: str, size: tuple[int, int, int], options: argparse.Namespace
) -> dict[str, list[float]]:
    """Measure one program on one size."""
    given = operands(what, size)
    parameters = dict(pair.split("=") for pair in options.param)
    numbers = {name: int(value) for name, value in parameters.items()}
    narrow = size[0] * size[2] < FEWEST_POINTS
    generated = load(TEXTS[what], numbers if narrow else {**UNSPLIT, **numbers})
    wanted = expected(what, given)
    if wanted is not None:
        np.testing.assert_allclose(generated.main(*given), wanted, rtol=1e-3)
    runs: dict[str, Callable[[], Any]] = {}
    runs["generated"] = lambda: generated.main(*given, device=True)
    if what in ("f32", "f64"):
        out = np.empty((size[0], size[2]), given[0].dtype)
        runs["OpenBLAS"] = lambda: np.matmul(*given, out=out)
    elif what != "masked":
        plain = load(TEXTS["f32"], {**UNSPLIT, **numbers})
        pair = operands("f32", size)
        runs["f32"] = lambda: plain.main(*pair, device=True)
    if narrow:
        unsplit = load(TEXTS[what], {**UNSPLIT, **numbers})
        runs["unsplit"] = lambda: unsplit.main(*given, device=True)
    elif what == "f32":
        try:
            by_hand = hand_written(generated, *given)
            np.testing.assert_allclose(by_hand.results()[0], wanted, rtol=1e-3)
            runs["hand-written"] = by_hand
        except KernelFileError as error:  # its tiles are for larger caches
            print(error)
    small = size[0] * size[1] * size[2] <= LARGEST_UNTILED
    if small and what != "batched":
        untiled = load(TEXTS[what], {"tiled": UNTILED, "narrow": UNTILED})
        runs["untiled"] = lambda: untiled.main(*given, device=True)
    clock = time.process_time if options.processor_time else time.perf_counter
    return measure(runs, options.seconds, clock)


def main() -> None:
    """Measure and print a line per program and size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--programs", default="f32", help=", ".join(TEXTS))
    parser.add_argument("--sizes", default="square", help=", ".join(SIZES) + ", NxMxP")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--param", action="append", default=[], metavar="NAME=INT",
                        help="such as block_depth=192")  # fmt: skip
    parser.add_argument("--processor-time", action="store_true")
    options = parser.parse_args()
    for what in options.programs.split(","):
        for word in options.sizes.split(","):
            for size in SIZES.get(word) or [tuple(int(s) for s in word.split("x"))]:
                report(what, size, compete(what, size, options))


def report(what: str, size: tuple[int, ...], times: Mapping[str, list[float]]) -> None:
    """One line: best and ratios of the generated program to the others."""
    own = times["generated"]
    batch = {"batched": 64, "masked": size[2]}.get(what, 1)
    work = 2 * batch * np.prod([float(s) for s in size])
    text = f"{what:10} {'x'.join(map(str, size)):15} {min(own) * 1e3:8.2f} ms "
    text += f"{work / min(own) / 1e9:6.1f} GF/s"
    for name, others in times.items():
        if name == "generated":
            continue
        scale = batch if name == "f32" else 1
        best = scale * min(others) / min(own)
        median = scale * statistics.median(others) / statistics.median(own)
        text += f"   of {name} {best:.2f} (median {median:.2f})"
    print(text, flush=True)


if __name__ == "__main__":
    main()
