"""Parts of device arrays that are not contiguous: arguments, and arrays of NumPy."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minifut

pytestmark = pytest.mark.device

SOURCE = """
entry more1 [n] (x: [n]i16): [n]i16 = map (+ 1) x
entry more2 [n][m] (x: [n][m]i16): [n][m]i16 = map (map (+ 1)) x
"""
X = np.arange(35, dtype=np.int16).reshape(5, 7)

PARTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: x.T,
    "columns": lambda x: x[:, 2:5],
    "a column": lambda x: x[:, 3],
    "steps": lambda x: x[1::2, ::3],
    "backwards": lambda x: x[::-1, ::-2],
    "a row backwards": lambda x: x[4, ::-1],
    "the transposed of a part": lambda x: x[2:, 1:6].T,
    "nothing": lambda x: x[:, 3:3],
    "nothing transposed": lambda x: x[2:2].T,
    "an element": lambda x: x[3, 5],
    "one": lambda x: x[3:4, 6:],
}


@pytest.fixture(scope="module")
def program() -> minifut.Program:
    return minifut.compile(SOURCE)


DIMENSIONAL = {name: part for name, part in PARTS.items() if part(X).ndim}


@pytest.mark.parametrize("part", DIMENSIONAL.values(), ids=DIMENSIONAL)
def test_parts_are_arguments(
    program: minifut.Program, part: Callable[[Any], Any]
) -> None:
    wanted = part(X)
    more = program[f"more{wanted.ndim}"]
    device = program.to_device(X)
    np.testing.assert_array_equal(more(part(device)), wanted + 1)
    np.testing.assert_array_equal(more(part(more2(program, device))), wanted + 2)
    np.testing.assert_array_equal(np.asarray(device), X)


def more2(program: minifut.Program, array: Any) -> Any:
    return program.more2(array, device=True)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_parts_are_arrays_of_numpy(
    program: minifut.Program, part: Callable[[Any], Any]
) -> None:
    wanted, given = part(X), part(program.to_device(X))
    for found in (
        np.asarray(given),
        np.array(given),
        given.get(),
        np.from_dlpack(given),
        pickle.loads(pickle.dumps(given)),
    ):
        np.testing.assert_array_equal(found, wanted)


def test_what_the_user_has_queued_comes_first(program: minifut.Program) -> None:
    device = program.to_device(X)
    device += np.int16(10)
    np.testing.assert_array_equal(program.more2(device.T), X.T + 11)
