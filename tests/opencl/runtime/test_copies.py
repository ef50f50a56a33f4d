"""Copies between blocks, large ones by a kernel: any bytes, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.opencl.runtime import open_session
from minifut.opencl.runtime.copies import AROUND_CACHES, CHUNK, LEAST

AROUND = 200
"""bytes before and behind the copy"""


@pytest.mark.device
@pytest.mark.parametrize("nbytes", [LEAST - 1, LEAST, LEAST + CHUNK + 77])
@pytest.mark.parametrize(("to", "source"), [(0, 0), (4, 129), (64, 3), (63, 64)])
def test_bytes_are_copied(nbytes: int, to: int, source: int) -> None:
    session = open_session()
    given = np.random.default_rng(nbytes).integers(0, 256, nbytes + AROUND, np.uint8)
    target = session.upload(np.full(nbytes + AROUND, 7, np.uint8))
    session.copy(target, to, session.upload(given), source, nbytes)
    session.wait()
    found = np.zeros(nbytes + AROUND, np.uint8)
    session.fetch(target, found)
    assert np.array_equal(found[to : to + nbytes], given[source : source + nbytes])
    assert np.all(found[:to] == 7)
    assert np.all(found[to + nbytes :] == 7)


@pytest.mark.device
def test_stores_around_the_caches() -> None:
    session = open_session()
    given = np.arange(AROUND_CACHES // 8 + 5)
    target = session.pool.allocate(given.nbytes)
    session.copy(target, 3, session.upload(given), 0, given.nbytes - 3)
    session.wait()
    found = np.empty(given.nbytes, np.uint8)
    session.fetch(target, found)
    assert np.array_equal(found[3:], given.view(np.uint8)[:-3])


@pytest.mark.device
def test_only_large_copies_build_a_kernel() -> None:
    session = open_session()
    kept, session.copies._kernel = session.copies._kernel, None
    block = session.pool.allocate(4 * LEAST)
    session.copy(block, 0, block, 2 * LEAST, LEAST - 1)
    assert session.copies._kernel is None
    session.copy(block, 0, block, 2 * LEAST, LEAST)
    assert (session.copies._kernel is not None) == session.has_batches
    session.wait()
    session.copies._kernel = kept
