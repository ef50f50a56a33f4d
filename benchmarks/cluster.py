"""What a second worker gains, and what a task costs, on a cluster of dask.

    python benchmarks/cluster.py

Workers are processes with one thread each, for dask and for kernels. The work is
k-means with more arithmetic than memory traffic, on points that workers make
themselves, so that nothing is read or sent; each configuration is warmed up first. The
overhead of a task is the time of a sum over many chunks of one element each, over the
number of its tasks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import minifut
from minifut.dask import distribute

ONE_THREAD = {"POCL_MAX_PTHREAD_COUNT": "1"}
SOURCE = """
entry kmeans [n][d][k] (points: [n][d]f32) (centres: [k][d]f32) (rounds: i32) =
  let distance x c = f32.sum (map2 (\\a b -> (a - b) ** 2) x c)
  let closer (i, a) (j, b) = if b < a || (a == b && j < i) then (j, b) else (i, a)
  in loop cs = centres for _i < rounds do
    let nearest =
      map (\\x -> (reduce closer (k, f32.inf) (zip (iota k) (map (distance x) cs))).0)
          points
    let counts = hist (+) 0 k nearest (replicate n 1)
    let zeros = replicate k (replicate d 0)
    let sums = reduce_by_index zeros (map2 (+)) (replicate d 0) nearest points
    in map2 (\\s c -> map (/ f32.i64 (i64.max c 1)) s) sums counts
entry total [n] (xs: [n]f32): f32 = f32.sum xs
"""
CHUNKS, POINTS, DIMENSIONS, CENTRES, ROUNDS = 8, 1 << 17, 8, 48, 3
TINY, TURNS = 256, 3


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
    for _ in range(TURNS):
        begun = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - begun)
    return min(times)


def main() -> None:
    os.environ.update(ONE_THREAD)
    program = minifut.compile(SOURCE)
    kmeans = distribute(program.kmeans, over="n")
    total = distribute(program.total, over="n")
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


if __name__ == "__main__":
    main()
