"""Everything that is measured when a GPU is there, in one command:

    python -m benchmarks.gpu.device [--device WORDS] [--size 4096] [--quick]

    correctness   the test blocks of tests/programs in the GPU schedule
    bandwidth     benchmarks/memory_bound.py: maps, reductions, scans, transpositions
                  and histograms against plain copies, and NumPy's results
    products      multiply-adds a second of products of f32 and f64, each with the tiles
                  of the device's family and with those of other GPUs, right to 1e-4;
                  beside them the vendor's library (0.8 of it is wanted), and what the
                  cost model says of the tiles
    predictions   the newest table of `benchmarks/results/gpu-predictions-*`

The report is printed and written to benchmarks/results/gpu-DEVICE-DATE.txt, with the
date, the device and its driver, to be put beside the predictions there.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import minifut
from benchmarks.gpu.cases import PRODUCT, TILED, product_text
from benchmarks.gpu.model import ARCHITECTURES, product_share, step_of
from benchmarks.gpu.vendor_blas import vendor_product
from minifut.opencl.runtime.device import Device, open_device
from minifut.passes.tiling.parameters import GPU_TILES

ROOT = Path(__file__).parents[2]
RUNS = 5
ROWS, COLUMNS = f"{PRODUCT}.register_rows", f"{PRODUCT}.register_columns"
TILES: dict[str, dict[str, int]] = {
    "own": {},
    "8x8": {ROWS: 8, COLUMNS: 8},
    "8x4": {ROWS: 8, COLUMNS: 4},
}
"""tiles of products; `own` are the defaults of the device's family"""
TOLERANCE = 1e-4


def main() -> int:
    """Measure; the exit code is 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.device")
    parser.add_argument("--device", help="words of its description")
    parser.add_argument("--size", type=int, default=4096, help="of products")
    parser.add_argument("--quick", action="store_true", help="products alone")
    options = parser.parse_args()
    device = open_device(options.device)
    lines = [
        f"{datetime.date.today()}, {device}, {device.version}, "
        f"{device.cores} compute units, family {device.family or 'unknown'}"
    ]
    failed = False
    for part in () if options.quick else commands():
        done = subprocess.run(
            [sys.executable, *part],
            cwd=ROOT,
            env={**os.environ, "MINIFUT_DEVICE": f"#{device.number}"},
            capture_output=True,
            text=True,
        )
        failed |= bool(done.returncode)
        output = (done.stdout + done.stderr).strip().splitlines()
        lines += ["", f"$ python {' '.join(part)}", *output[-40:]]
    lines += ["", *products(device, options.size)]
    lines += ["", *predictions()]
    failed |= any("WRONG" in line for line in lines)
    print("\n".join(lines))
    write_report(device, lines)
    return 1 if failed else 0


def commands() -> Iterator[list[str]]:
    """What is run in processes of their own."""
    yield ["-m", "minifut", "test", "tests/programs", "--schedule", "gpu"]
    yield ["benchmarks/memory_bound.py", "--schedule", "gpu"]


def products(device: Device, size: int) -> Iterator[str]:
    """A line for each type and tile: the best of some runs on arrays of the device."""
    random = np.random.default_rng(1)
    for type_, dtype in (("f32", np.float32), ("f64", np.float64)):
        a, b = (random.random((size, size)).astype(dtype) for _ in range(2))
        rows = random.integers(0, size, 16)
        wanted = a[rows].astype(np.float64) @ b
        vendor, label = vendor_product(device.family, a, b)
        program = minifut.compile(
            product_text(type_), schedule="gpu", device=f"#{device.number}"
        )
        for name, tiles in TILES.items():
            program.tuning.reset()
            program.tuning.update({**TILED, **tiles})
            seconds, found = best_time(program, a, b)
            error = np.abs(found[rows] - wanted).max() / wanted.max()
            right = "right" if error < TOLERANCE else f"WRONG by {error:.1e}"
            rate = 2 * size**3 / seconds / 1e9
            what = f"product {type_} {size} tiles {name:<4}"
            ratio = f"{rate / vendor:5.2f} of {label}"
            yield f"{what} {rate:10.1f} GFLOP/s  {ratio}  {right}"
        yield f"product {type_} {size} {label} {vendor:.1f} GFLOP/s"
        yield f"product {type_} predicted: {predicted(device.family, type_)}"


def predicted(family: str | None, type_: str) -> str:
    """What the cost model says of the default tile, at best."""
    size = {"f32": 4, "f64": 8}[type_]
    if family not in ARCHITECTURES:
        return f"nothing for family {family or 'unknown'}"
    tile = GPU_TILES[size].get(family, GPU_TILES[size]["gpu"])
    step = step_of(tile.rows, tile.columns, size)
    share = product_share(ARCHITECTURES[family], step, size=size)
    return f"{share} of the peak with tiles of {tile.rows} x {tile.columns}"


def predictions() -> Iterator[str]:
    """The newest table of predictions, to be put beside the measurements."""
    *_, newest = sorted((ROOT / "benchmarks" / "results").glob("gpu-predictions-*"))
    yield f"{newest.name}:"
    yield from newest.read_text().splitlines()


def best_time(program: Any, a: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray]:
    """The least time of a call whose arguments are on the device, after a first one;
    its result."""
    call = program.main.prepare((a, b))
    call()
    seconds = min(call() for _ in range(RUNS))
    return seconds, np.asarray(call.results()[0])


def write_report(device: Device, lines: list[str]) -> None:
    """Keep the report beside the predictions."""
    name = re.sub(r"\W+", "-", device.name.lower()).strip("-")
    folder = ROOT / "benchmarks" / "results"
    path = folder / f"gpu-{name}-{datetime.date.today()}.txt"
    path.write_text("\n".join(lines) + "\n")
    print(f"written to {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
