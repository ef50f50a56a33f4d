"""The programs, compiled once, and a scheduler of dask without threads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import minifut
from tests.distributed.programs import SOURCE


@pytest.fixture(scope="session")
def program() -> minifut.Program:
    return minifut.compile(SOURCE)


@pytest.fixture
def one_thread() -> Iterator[None]:
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="sync"):
        yield
