"""What a second worker gains, and what a task costs, on a cluster of dask.

    python benchmarks/cluster.py

Workers are processes with one thread each, for dask and for kernels. The work is
k-means with more arithmetic than memory traffic, on points that workers make
themselves, so that nothing is read or sent; each configuration is warmed up first. The
overhead of a task is the time of a sum over many chunks of one element each, over the
number of its tasks. What two workers can gain at most is what the machine gives two
processes that share nothing, each with the same kernels on the same points.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
CHUNKS, POINTS, DIMENSIONS, CENTRES, ROUNDS = 8, 1 << 18, 16, 64, 3
TINY, ROUNDS = 256, 3


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


def points() -> Any:
    """The array, held by the workers."""
    shape, chunks = (CHUNKS * POINTS, DIMENSIONS), (POINTS, DIMENSIONS)
    array = da.random.default_rng(1).random(shape, chunks=chunks)
    return dask.persist(array.astype(np.float32))[0]


def seconds(function: Any, *arguments: Any) -> float:
    """The least of several calls, after one that builds kernels everywhere."""
    function(*arguments)
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - begun)
    return min(times)


ALONE = f"""
import sys, time, numpy, minifut
program = minifut.compile({str(EXAMPLE)!r})
points = numpy.random.default_rng(1).random(({POINTS}, {DIMENSIONS}), numpy.float32)
centres = points[:{CENTRES}].copy()
program.kmeans(points, centres, 1)
print(flush=True)
sys.stdin.readline()
begun = time.perf_counter()
program.kmeans(points, centres, {CHUNKS * ROUNDS})
print(time.perf_counter() - begun, flush=True)
"""
"""a process that waits for the others before it begins"""


def independent(processes: int) -> float:
    """The time that k-means takes in processes that share nothing."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = [
        subprocess.Popen([sys.executable, "-c", ALONE], **pipes)  # type: ignore[call-overload]
        for _ in range(processes)
    ]
    for process in started:
        process.stdout.readline()
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    return max(float(process.communicate()[0]) for process in started)


def main() -> None:
    os.environ.update(ONE_THREAD)
    kmeans = distribute(minifut.compile(EXAMPLE).kmeans, over="n")
    total = distribute(minifut.compile(TOTAL).total, over="n")
    centres = np.random.default_rng(2).random((CENTRES, DIMENSIONS), np.float32)
    taken = {}
    for workers in (1, 2):
        with cluster(workers):
            taken[workers] = seconds(kmeans, points(), centres, ROUNDS)
            tiny = dask.persist(da.ones(TINY, chunks=1, dtype=np.float32))[0]
            overhead = seconds(total, tiny) / (2 * TINY - 1)
            print(
                f"{workers} workers: k-means {taken[workers]:.2f} s, "
                f"{1e3 * overhead:.2f} ms a task"
            )
    print(f"speed-up: {taken[1] / taken[2]:.2f}")
    alone = min(independent(1) for _ in range(2))
    both = min(independent(2) for _ in range(2))
    print(f"of processes that share nothing: {2 * alone / both:.2f}")


if __name__ == "__main__":
    main()
