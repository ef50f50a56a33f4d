"""Arrays above what the driver allows for one buffer, and indices above 2^31."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import minifut
from minifut.opencl.runtime.memory import available_memory, host_memory
from minifut.opencl.runtime.sessions import open_session

pytestmark = [pytest.mark.device, pytest.mark.optimised]

PROGRAM = """
entry mapped (xs: []i32) = map (+ 1) xs
entry summed (xs: []i32) = i32.sum xs
entry scanned (xs: []i32) = scan (+) 0 xs
entry joined (xs: []i32) (ys: []i32) = xs ++ ys
entry filled (n: i64) : []i16 = replicate n 7
entry sent [n] (xs: *[n]i32) (is: [n]i64) (ys: [n]i32) = scatter xs is ys
entry counted [n] (xs: [n]i32) = hist (+) 0 n (map i64.i32 xs) (replicate n 1i32)
entry turned [n][m] (xs: [n][m]i32) = transpose xs
entry kept (xs: []i32) = filter (> 50) xs
entry repeated [n] (k: i64) (xs: *[n]i32) = loop xs for i < k do xs with [i] = xs[i] * 2
"""


@functools.cache
def compiled() -> minifut.Program:
    return minifut.compile(PROGRAM)


@pytest.fixture
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A driver that allows buffers of one kilobyte only."""
    session = open_session()
    if not session.device.shares_memory:
        pytest.skip("a device with memory of its own")
    device = replace(session.device, largest_buffer=1024)
    session.pool.empty()
    monkeypatch.setattr(session, "device", device)
    monkeypatch.setattr(session.pool, "_device", device)
    yield
    session.pool.empty()


@pytest.mark.parametrize("n", [100, 1000, 20_000])
def test_all_commands_take_arrays_above_the_limit(small_buffers: None, n: int) -> None:
    program = compiled()
    rng = np.random.default_rng(n)
    xs = rng.integers(0, 100, n).astype(np.int32)
    read_only = xs.copy()
    read_only.flags.writeable = False
    order = rng.permutation(n)
    expected = [
        (program.mapped(read_only), xs + 1),
        (program.summed(xs), xs.sum()),
        (program.scanned(xs), np.cumsum(xs)),
        (program.joined(xs, read_only), np.concatenate([xs, xs])),
        (program.filled(n), np.full(n, 7)),
        (program.sent(np.zeros(n, np.int32), order, xs), xs[np.argsort(order)]),
        (program.counted(xs), np.bincount(xs, minlength=n)),
        (program.turned(xs.reshape(-1, 10)), xs.reshape(-1, 10).T),
        (program.kept(xs), xs[xs > 50]),
        (program.repeated(5, xs), np.append(xs[:5] * 2, xs[5:])),
    ]
    for found, wanted in expected:
        np.testing.assert_array_equal(found, wanted)
    assert not np.shares_memory(expected[3][0], xs)


def test_the_machine_has_memory() -> None:
    free = available_memory()
    assert host_memory() > 1 << 28
    assert free is None or 0 < free <= host_memory()


def large_enough(nbytes: int) -> None:
    """Skip where so much memory would not be had, with room for others."""
    session = open_session()
    free = available_memory()
    if not session.device.shares_memory or free is None or free < 1.5 * nbytes:
        pytest.skip("too little memory")


N = 2_200_000_000

LARGE = """
entry mapped (xs: []i8) = map (+ 1) xs
entry summed (xs: []i8) = reduce (+) 0 (map i64.i8 xs)
entry last_odd (xs: []i8) =
  reduce i64.max 0 (map2 (\\i x -> if x & 1 == 1 then i else 0) (indices xs) xs)
entry scanned (xs: []i8) = scan (+) 0 xs
entry counted [n] (xs: [n]i8) = hist (+) 0 4 (map (\\x -> i64.i8 (x & 3)) xs) (replicate n 1i64)
entry gathered [n] (xs: [n]i8) (is: []i64) = map (\\i -> xs[i]) is
entry sent [n] (xs: *[n]i8) (is: []i64) = scatter xs is (map i8.i64 is)
entry wide (n: i64) : (i64, i64) =
  let xs = opaque (map (\\i -> i * 3) (iota n))
  in (xs[n - 1], reduce (+) 0 xs)
"""


def test_indices_above_two_to_the_31st() -> None:
    """Values repeat every 128 elements, so that results are known for a part."""
    large_enough(3 * N)
    program = minifut.compile(LARGE)
    part = np.arange(128, dtype=np.int8)
    xs = np.resize(part, N)
    whole, rest = divmod(N, 128)
    assert program.summed(xs) == whole * part.sum() + part[:rest].sum()
    assert program.last_odd(xs) == N - 1
    np.testing.assert_array_equal(program.counted(xs), [N // 4] * 4)
    places = N - 1 - np.arange(1000) * (N // 1000)
    np.testing.assert_array_equal(program.gathered(xs, places), places & 127)
    mapped = program.mapped(xs)
    np.testing.assert_array_equal(mapped[-1000:], xs[-1000:] + np.int8(1))
    del mapped
    scanned = program.scanned(xs)
    sums = np.cumsum(part, dtype=np.int8)
    assert sums[-1] == -64  # so that they repeat every 512 elements
    for start in (0, N // 512 // 2 * 512, N // 512 * 512):
        np.testing.assert_array_equal(
            scanned[start : start + 64], sums[:64][: N - start]
        )
    del scanned
    changed = program.sent(xs, places)
    np.testing.assert_array_equal(changed[places], places.astype(np.int8))
    open_session().pool.empty()


def test_an_array_above_the_limit_for_one_buffer() -> None:
    limit = open_session().device.largest_buffer
    n = limit // 8 + 1000
    large_enough(8 * n)
    last, total = minifut.compile(LARGE).wide(n)
    assert last == (n - 1) * 3 and total == 3 * n * (n - 1) // 2
    open_session().pool.empty()
