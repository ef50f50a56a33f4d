"""The interpreter as a backend takes and refuses what the OpenCL runtime does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minifut
from minifut.errors import UsageError

BACKENDS = ["interpreter", pytest.param("opencl", marks=pytest.mark.device)]
PROGRAM = """
entry bytes (xs: []u8) = map (+ 1) xs
entry small (x: i8) = x
entry half (x: f16) = x / 2
entry truth (x: bool) = !x
"""


@pytest.fixture(scope="module", params=BACKENDS)
def program(request: pytest.FixtureRequest) -> minifut.Program:
    return minifut.compile(PROGRAM, backend=request.param)


@pytest.mark.parametrize(
    ("entry", "argument", "result"),
    [
        ("bytes", [1, 2, 254], [2, 3, 255]),
        ("bytes", [], []),
        ("small", -128, -128),
        ("half", 3, 1.5),
        ("truth", False, True),
    ],
)
def test_numbers_of_python(
    program: minifut.Program, entry: str, argument: Any, result: Any
) -> None:
    assert program.entry(entry)(argument).tolist() == result


@pytest.mark.parametrize(
    ("entry", "argument"),
    [
        ("bytes", [1, 256]),
        ("bytes", [-1]),
        ("bytes", [1.5]),
        ("bytes", [[1], [1, 2]]),
        ("bytes", np.arange(3)),
        ("small", 128),
        ("small", 1.0),
        ("small", True),
        ("small", None),
        ("small", 10**30),
        ("truth", 1),
        ("half", "1"),
    ],
)
def test_wrong_arguments(program: minifut.Program, entry: str, argument: Any) -> None:
    with pytest.raises(UsageError, match="expected"):
        program.entry(entry)(argument)


def test_the_interpreter_has_no_device() -> None:
    program = minifut.compile(PROGRAM, backend="interpreter")
    with pytest.raises(UsageError, match="no device"):
        program.small(1, device=True)
