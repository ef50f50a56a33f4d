"""The comparison of the thesis: a matrix product by every kind of kernel, in
interleaved rounds.

    python benchmarks/tiles.py [--largest 2200] [--seconds 2] [--processor-time]
                               [--plot FILE.svg]

    naive       a thread for each element
    block       tiles of both operands in local memory, a thread for each element
    registers   the same with a tile of the result in the registers of each thread
    split       the same with the common dimension in parts, reduced in parallel
    written     the kernel of `hand_written/` by hand
    OpenBLAS    NumPy's

All but the last two are versions of one program, chosen by its parameters, and all take
rounds. Sizes are the 16 of Table 6 to 11 in "Block and register tiling" (2020); what is
compared are speeds, and the generated kernels with the one by hand (the thesis reached
0.41 of it).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import matmul
import numpy as np

SIZES = [
    (214, 272, 263), (432, 415, 456), (704, 702, 807), (1058, 1073, 991),
    (1307, 1318, 1298), (1648, 1640, 1550), (1831, 1932, 1823), (2122, 2110, 2124),
    (2256, 2354, 2289), (2713, 2642, 2627), (2939, 2884, 2777), (3135, 3196, 3141),
    (3453, 3478, 3457), (3579, 3594, 3759), (3859, 3851, 3789), (4294, 4220, 4229),
]  # fmt: skip
"""rows, common dimension, columns"""

TILED = {"tiled": 0, "split": matmul.UNTILED}
VERSIONS = {
    "naive": {"tiled": matmul.UNTILED, "narrow": matmul.UNTILED, "outer": 0},
    "block": {**TILED, "register_rows": 1, "register_columns": 1},
    "registers": TILED,
    "split": {"tiled": 0, "split": 0, "split_depth": 512},
}


def competitors() -> dict[str, Any]:
    """Every version of the program, loaded."""
    text = matmul.TEXTS["f32"]
    return {name: matmul.load(text, chosen) for name, chosen in VERSIONS.items()}


def compete(
    programs: Mapping[str, Any],
    size: tuple[int, int, int],
    seconds: float,
    clock: Callable[[], float],
) -> dict[str, float]:
    """The best time of each kind on one size; all must agree with NumPy."""
    a, b = matmul.operands("f32", size)
    out = np.empty((size[0], size[2]), np.float32)
    wanted = a @ b
    for program in programs.values():
        np.testing.assert_allclose(program.main(a, b), wanted, rtol=1e-3)
    runs: dict[str, Callable[[], Any]] = {
        name: lambda program=program: program.main(a, b, device=True)
        for name, program in programs.items()
    }
    runs["written"] = written = matmul.hand_written(programs["registers"], a, b)
    np.testing.assert_allclose(written.results()[0], wanted, rtol=1e-3)
    runs["OpenBLAS"] = lambda: np.matmul(a, b, out=out)
    times = matmul.measure(runs, seconds, clock)
    return {name: min(each) for name, each in times.items()}


def plot(rates: list[dict[str, float]], names: list[str], path: str) -> None:
    """The speeds over the sizes."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 5))
    for kind in rates[0]:
        axes.plot(names, [each[kind] for each in rates], marker="o", label=kind)
    axes.set_yscale("log")
    axes.set_ylabel("GFlop/s")
    axes.set_xlabel("rows x common dimension x columns")
    axes.tick_params(axis="x", labelrotation=30)
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Measure, print a line per size, plot."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--largest", type=int, default=2200, metavar="ROWS")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--plot", metavar="FILE")
    options = parser.parse_args()
    clock = time.process_time if options.processor_time else time.perf_counter
    programs = competitors()
    kinds = [*programs, "written", "OpenBLAS"]
    heads = "".join(f"{kind:>11}" for kind in kinds)
    print(f"{'GFlop/s':16}{heads}  registers: of written, of block", flush=True)
    rates, names = [], []
    for size in SIZES:
        if size[0] > options.largest:
            break
        times = compete(programs, size, options.seconds, clock)
        work = 2.0 * size[0] * size[1] * size[2]
        rates.append({kind: work / times[kind] / 1e9 for kind in kinds})
        names.append("x".join(map(str, size)))
        cells = "".join(f"{rates[-1][kind]:11.1f}" for kind in kinds)
        own = rates[-1]["registers"]
        ratios = f"{own / rates[-1]['written']:8.2f} {own / rates[-1]['block']:8.2f}"
        print(f"{names[-1]:16}{cells}  {ratios}", flush=True)
        if options.plot:
            plot(rates, names, options.plot)


if __name__ == "__main__":
    main()
