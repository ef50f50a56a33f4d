"""A cluster of two worker processes: plans, pickled programs, a worker that is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minifut

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

pytestmark = pytest.mark.device

SOURCE = """
-- | One of Lloyd's iterations: the new centres, and the distance of points to the old.
entry kmeans [n][d][k] (points: [n][d]f32) (centres: [k][d]f32) (rounds: i32): [k][d]f32 =
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

entry running [n] (xs: [n]f32): [n]f32 = scan (+) 0 xs
entry frequent [n] (k: i64) (xs: [n]i32): [k]i64 =
  hist (+) 0 k (map i64.i32 xs) (replicate n 1)
"""
RANDOM = np.random.default_rng(11)
POINTS = RANDOM.normal(size=(4000, 3)).astype(np.float32)
CENTRES = POINTS[:5].copy()
NUMBERS = RANDOM.integers(0, 9, 4000).astype(np.int32)


@pytest.fixture(scope="module")
def program() -> minifut.Program:
    return minifut.compile(SOURCE)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def results(program: minifut.Program) -> tuple[np.ndarray, ...]:
    from minifut.dask import distribute

    points = da.from_array(POINTS, chunks=(700, 3))
    centres = distribute(program.kmeans, over="n")(points, CENTRES, 4)
    running = distribute(program.running, over="n")(points[:, 0])
    frequent = distribute(program.frequent, over="n")(9, NUMBERS)
    return centres, running.compute(), frequent


def test_results_have_the_same_bits_for_any_number_of_workers(
    program: minifut.Program, client: Any
) -> None:
    import dask

    two = results(program)
    with dask.config.set(scheduler="sync"):
        none = results(program)
    for one, other in zip(two, none, strict=True):
        assert one.tobytes() == other.tobytes()
    np.testing.assert_allclose(
        two[0], program.kmeans(POINTS, CENTRES, 4), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(two[1], program.running(POINTS[:, 0].copy()), atol=1e-3)
    np.testing.assert_array_equal(two[2], np.bincount(NUMBERS, minlength=9))


def test_entry_points_are_mapped_over_futures(
    program: minifut.Program, client: Any
) -> None:
    parts = np.split(NUMBERS, 4)
    futures = [client.submit(program.frequent, 9, part) for part in parts]
    total = sum(client.gather(futures))
    np.testing.assert_array_equal(total, np.bincount(NUMBERS, minlength=9))


def test_steps_over_chunks_in_memory_are_requested_early(
    program: minifut.Program, client: Any
) -> None:
    from minifut.dask import distribute
    from minifut.distributed.on_dask import is_in_memory

    stored = da.from_array(POINTS, chunks=(700, 3))
    kept = stored.persist()
    assert is_in_memory(kept)
    assert not is_in_memory(stored)
    assert not is_in_memory(kept + 1)
    assert not is_in_memory(POINTS)
    kmeans = distribute(program.kmeans, over="n")
    early, late = (kmeans(points, CENTRES, 5) for points in (kept, stored))
    assert early.tobytes() == late.tobytes()


def test_what_a_killed_worker_stored_is_computed_again(
    program: minifut.Program, client: Any
) -> None:
    from minifut.dask import distribute

    points = da.from_array(POINTS, chunks=(300, 3))
    running = distribute(program.running, over="n")(points[:, 1])
    holders = {w for held in client.who_has().values() for w in held}
    pids = client.run(os.getpid)
    os.kill(pids[min(holders)], signal.SIGKILL)
    wanted = program.running(POINTS[:, 1].copy())
    np.testing.assert_allclose(running.compute(), wanted, atol=1e-3)
    centres = distribute(program.kmeans, over="n")(points, CENTRES, 2)
    wanted = program.kmeans(POINTS, CENTRES, 2)
    np.testing.assert_allclose(centres, wanted, rtol=1e-4, atol=1e-5)
