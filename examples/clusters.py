"""Statistics of more points than the memory of a cluster holds.

Writes chunks of random points to disk, starts two worker processes with little memory,
and runs the entry points of `clusters.fut` over all chunks: k-means, a histogram, a
running mean and a logistic regression. One worker is killed while k-means runs. The
results are checked against NumPy, and the density and the centres are saved as a
picture.

    python examples/clusters.py --memory 600MB --times 10

A worker that has compiled kernels takes up to 360 MB: dask, and the driver with its
compiler; dask pauses one that takes four fifths of its memory. Chunks repeat after
`DISTINCT`, so that little is written, and NumPy has less to check; they are read and
computed one by one. What the scan of the running mean keeps of each chunk does not fit
the workers' memory either: dask writes it to the disk.
"""

from __future__ import annotations

import argparse
import operator
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.utils import parse_bytes
from distributed import Client, LocalCluster

import minifut
from minifut.dask import distribute

HERE = Path(__file__).parent
DIMENSIONS, CENTRES, CELLS, ROUNDS = 8, 6, 96, 2
CHUNK = 1 << 19
"""points in a chunk: 16 MiB"""
DISTINCT = 8
"""chunks that differ, each a file"""


def chunk(number: int) -> np.ndarray:
    """Points around the corners of a hexagon, the same for every run."""
    random = np.random.default_rng(number)
    points = random.random((CHUNK, DIMENSIONS), np.float32) * np.float32(0.35)
    angle = random.integers(0, CENTRES, CHUNK) * (2 * np.pi / CENTRES)
    points[:, 0] += np.float32(0.32) + np.float32(0.3) * np.cos(angle, dtype=np.float32)
    points[:, 1] += np.float32(0.32) + np.float32(0.3) * np.sin(angle, dtype=np.float32)
    return points


def on_disk(folder: Path, count: int) -> da.Array:
    """All chunks as one array that reads them from files."""
    for number in range(min(count, DISTINCT)):
        np.save(folder / f"{number}.npy", chunk(number))
    parts = []
    for number in range(count):
        part = dask.delayed(np.load)(folder / f"{number % DISTINCT}.npy")
        parts.append(da.from_delayed(part, (CHUNK, DIMENSIONS), np.float32))
    return da.concatenate(parts)


def distinct(folder: Path, count: int) -> Iterator[tuple[np.ndarray, int]]:
    """Each chunk that is a file, and how often it is among all."""
    for number in range(min(count, DISTINCT)):
        yield np.load(folder / f"{number}.npy"), len(range(number, count, DISTINCT))


def kmeans_in_numpy(folder: Path, count: int, centres: np.ndarray) -> np.ndarray:
    """The same iterations, each distinct chunk once."""
    for _ in range(ROUNDS):
        sums = np.zeros((CENTRES, DIMENSIONS))
        counts = np.zeros(CENTRES)
        for points, often in distinct(folder, count):
            distances = [((points - c) ** 2).sum(1) for c in centres]
            own = np.argmin(distances, axis=0)
            counts += often * np.bincount(own, minlength=CENTRES)
            for axis in range(DIMENSIONS):
                sums[:, axis] += often * np.bincount(own, points[:, axis], CENTRES)
        centres = (sums / counts[:, None]).astype(np.float32)
    return centres


def others_in_numpy(folder: Path, count: int) -> tuple[np.ndarray, float, np.ndarray]:
    """The histogram, the last running mean, and the weights of the regression."""
    density, total = np.zeros((CELLS, CELLS), int), 0.0
    for points, often in distinct(folder, count):
        cell = (
            np.clip(points[:, :2], 0, np.float32(0.999)) * np.float32(CELLS)
        ).astype(int)
        flat = cell[:, 1] * CELLS + cell[:, 0]
        density += often * np.bincount(flat, minlength=CELLS**2).reshape(CELLS, CELLS)
        total += often * points[:, 0].sum(dtype=np.float64)
    weights = np.zeros(DIMENSIONS)
    for _ in range(ROUNDS):
        slope = np.zeros(DIMENSIONS)
        for points, often in distinct(folder, count):
            score = 1 / (1 + np.exp(-((points - 0.5) @ weights)))
            slope += often * ((score - (points[:, 0] > 0.5)) @ (points - 0.5))
        weights -= 20 * slope / (count * CHUNK)
    return density, total / (count * CHUNK), weights


def kill_one(client: Any, after: float) -> None:
    """Kill a worker process some seconds from now."""
    process = next(iter(client.run(os.getpid).values()))
    threading.Timer(after, os.kill, (process, signal.SIGKILL)).start()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--memory", default="800MB", help="of each worker")
    parser.add_argument("--times", type=float, default=0.3, help="data over memory")
    parser.add_argument(
        "--kill", type=float, default=1.0, help="a worker, after SECONDS"
    )
    options = parser.parse_args()
    memory = 2 * parse_bytes(options.memory)
    count = max(4, round(options.times * memory / (CHUNK * DIMENSIONS * 4)))
    program = minifut.compile(HERE / "clusters.fut")
    first = chunk(0)[:CENTRES].copy()
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=options.memory,
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        points = on_disk(Path(folder), count)
        share = points.nbytes / memory
        print(f"{len(points)} points: {share:.1f} times the memory of both workers")
        kmeans = distribute(program.kmeans, over="n")
        print(kmeans.plan)
        kill_one(client, options.kill)
        started = time.perf_counter()
        centres = kmeans(points, first, ROUNDS)
        seconds = time.perf_counter() - started
        print(f"k-means: {ROUNDS} rounds in {seconds:.1f} s, a worker was killed")
        expected = kmeans_in_numpy(Path(folder), count, first)
        error = float(np.abs(centres - expected).max())
        print(f"centres against NumPy: within {error:.1e}", flush=True)
        started = time.perf_counter()
        density = distribute(program.density, over="n")(points, CELLS)
        means = distribute(program.running_mean, over="n")(points)
        weights = distribute(program.separate, over="n")(
            points, np.zeros(DIMENSIONS, np.float32), ROUNDS
        )
        last = float(means[-1].compute())
        seconds = time.perf_counter() - started
        print(f"histogram, running mean and regression: {seconds:.1f} s")
        wanted = others_in_numpy(Path(folder), count)
    others = (density, last, weights)
    errors = [float(np.abs(a - b).max()) for a, b in zip(others, wanted, strict=True)]
    print(
        f"against NumPy: histogram within {errors[0]:.0f} of {density.max()} points, "
        f"mean within {errors[1]:.1e}, weights within {errors[2]:.1e}"
    )
    save(density, centres)
    limits = (0, 1e-5, 1e-3)
    right = error < 1e-3 and all(map(operator.le, errors, limits))
    return 0 if right else 1


def save(density: np.ndarray, centres: np.ndarray) -> None:
    """The picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 4.4))
    image = axes.imshow(density, origin="lower", extent=(0, 1, 0, 1), cmap="magma")
    axes.plot(centres[:, 0], centres[:, 1], "o", mfc="none", mec="white", ms=12, mew=2)
    axes.set(xlabel="first coordinate", ylabel="second coordinate")
    figure.colorbar(image, label="points in a cell")
    figure.tight_layout()
    figure.savefig(HERE / "clusters.png", dpi=90)
    print(f"saved {HERE / 'clusters.png'}")


if __name__ == "__main__":
    sys.exit(main())
