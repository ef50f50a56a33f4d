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
entry dot [n] (xs: [n]i64) (ys: [n]i64) = i64.sum (map2 (*) xs ys)
entry three (xs: [3]i64) = i64.sum xs
entry apart [n] (ps: [n]{x: i64, y: i64}): [n]i64 = map (\\p -> p.x - p.y) ps
module m : { type t val make: i64 -> t val use: t -> i64 } =
  { type t = (i64, bool) def make x = (x, true) def use (x: t) = x.0 }
entry make (x: i64): m.t = m.make x
entry use (x: m.t) = m.use x
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


@pytest.mark.parametrize(
    ("entry", "arguments", "message"),
    [
        (
            "dot",
            ([1], [1, 2]),
            "ys: dimension 0 must be 1 (n, from argument xs), got 2",
        ),
        ("three", ([1],), "xs: dimension 0 must be 3, got 1"),
        (
            "apart",
            ({"x": np.arange(2), "y": np.arange(3)},),
            "ps.y: dimension 0 must be 2 (n, from argument ps.x), got 3",
        ),
    ],
)
def test_sizes_that_do_not_agree(
    program: minifut.Program, entry: str, arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(minifut.ArgumentError) as raised:
        program.entry(entry)(*arguments)
    assert str(raised.value) == f"{entry}: argument {message}"


def test_values_of_abstract_types_stay_with_what_made_them() -> None:
    program = minifut.compile(PROGRAM, backend="interpreter")
    assert program.use(program.make(3)) == 3
    with pytest.raises(minifut.ArgumentError, match=r"use: argument x: .*interpreter"):
        program.use(3)


def test_the_interpreter_has_no_device() -> None:
    program = minifut.compile(PROGRAM, backend="interpreter")
    with pytest.raises(UsageError, match="no device"):
        program.small(1, device=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.5], "f: parameter xs: "),
        ({"a": 1}, "f: parameter xs: "),
        ("text", "f: parameter xs: "),
        ([[1], [2, 3]], "f: parameter xs: "),
    ],
)
def test_messages_name_the_entry_point(given: Any, message: str) -> None:
    program = minifut.compile("entry f (xs: []i32) = xs", backend="interpreter")
    with pytest.raises(minifut.ArgumentError) as caught:
        program.f(given)
    assert str(caught.value).startswith(message)
    with pytest.raises(UsageError, match=r"^f: the interpreter has no device"):
        program.f([1], device=True)
