"""What a second worker gains, and what a task costs, on a cluster of dask.

    python benchmarks/cluster.py

Workers are processes with one thread each, for dask and for kernels. The work is
k-means with more arithmetic than memory traffic, on points that workers make
themselves, so that nothing is read or sent; each configuration is warmed up first. The
overhead of a task is the time of a sum over many chunks of one element each, over the
number of its tasks. What two workers can gain at most is what they gain with as many
tasks of the same length that only compute with NumPy, in the cache of a core.
"""

from __future__ import annotations

import os
import time
import timeit
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import minifut
from minifut.dask import distribute

ONE_THREAD = {"POCL_MAX_PTHREAD_COUNT": "1"}
EXAMPLE = Path(__file__).parent.parent / "examples" / "clusters.fut"
TOTAL = "entry total [n] (xs: [n]f32): f32 = f32.sum xs"
CHUNKS, POINTS, DIMENSIONS, CENTRES, ROUNDS = 6, 3 << 19, 16, 128, 2
TINY, TURNS = 256, 2


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=None,
            env=ONE_THREAD,
        ) as made,
        Client(made) as client,
    ):
        yield client


def random_points(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((POINTS, DIMENSIONS), np.float32)


def points(client: Any) -> Any:
    """The array, held by the workers, each of which has as many chunks: tasks run where
    their chunks are, so that other shares would measure how dask places data."""
    workers = list(client.scheduler_info()["workers"])
    held = [
        client.submit(random_points, seed, workers=workers[seed % len(workers)])
        for seed in range(CHUNKS)
    ]
    shape = (POINTS, DIMENSIONS)
    parts = [da.from_delayed(part, shape, np.float32) for part in held]
    return dask.persist(da.concatenate(parts))[0]


def seconds(function: Any, *arguments: Any) -> float:
    """The least of several calls, after one that builds kernels everywhere."""
    function(*arguments)
    times = []
    for _ in range(TURNS):
        begun = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - begun)
    return min(times)


def busy(seed: int, sweeps: int) -> float:
    """Arithmetic by NumPy alone. Arrays are small: dask has its workers map memory
    anew for every array of more than 128 KiB, which takes longer than to fill it."""
    xs = np.random.default_rng(seed).random(1 << 12)
    for _ in range(sweeps):
        xs = np.sqrt(xs * xs + 1.0) - 0.5
    return float(xs.sum())


def sweeps_of(length: float) -> int:
    """How many of them take so many seconds, here."""
    trial = 8000
    taken = min(timeit.repeat(partial(busy, 0, trial), number=1, repeat=3))
    return round(trial * length / taken)


def in_numpy(client: Any, sweeps: int) -> None:
    """As many such tasks as k-means has over chunks, in rounds like its own."""
    for at in range(ROUNDS):
        seeds = range(at * CHUNKS, (at + 1) * CHUNKS)
        client.gather(client.map(busy, seeds, sweeps=sweeps, pure=False))


def main() -> None:
    os.environ.update(ONE_THREAD)
    kmeans = distribute(minifut.compile(EXAMPLE).kmeans, over="n")
    total = distribute(minifut.compile(TOTAL).total, over="n")
    centres = np.random.default_rng(2).random((CENTRES, DIMENSIONS), np.float32)
    taken: dict[str, list[float]] = {"k-means": [], "NumPy": []}
    sweeps = 0
    for workers in (1, 2):
        with cluster(workers) as client:
            taken["k-means"].append(seconds(kmeans, points(client), centres, ROUNDS))
            length = taken["k-means"][0] / (CHUNKS * ROUNDS)
            sweeps = sweeps or sweeps_of(length)
            taken["NumPy"].append(seconds(in_numpy, client, sweeps))
            tiny = dask.persist(da.ones(TINY, chunks=1, dtype=np.float32))[0]
            overhead = seconds(total, tiny) / (2 * TINY - 1)
            print(
                f"{workers} workers: k-means {taken['k-means'][-1]:.2f} s in tasks of "
                f"{1e3 * length:.0f} ms, tasks of NumPy {taken['NumPy'][-1]:.2f} s, "
                f"{1e3 * overhead:.2f} ms a task",
                flush=True,
            )
    for name, (one, two) in taken.items():
        print(f"speed-up of {name}: {one / two:.2f}")


if __name__ == "__main__":
    main()
