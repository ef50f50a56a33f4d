"""Errors as objects: they travel between processes, and suggest names."""

from __future__ import annotations

import pickle

import pytest

import minifut
from minifut.errors import (
    CompileError,
    InternalError,
    MinifutError,
    ParameterError,
    ProgramError,
    UsageError,
)


def compile_error() -> CompileError:
    with pytest.raises(CompileError) as caught:
        minifut.compile("def f (x: i32) = x + true\ndef g = y\nentry main = z")
    return caught.value


@pytest.mark.parametrize(
    "error",
    [
        compile_error(),
        ProgramError("too small", ("a.fut:1:2", "a.fut:3:4")),
        InternalError("pass fuse", "lost", "x = y"),
        ParameterError("main.tile", "0 is no size"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_can_be_pickled(error: MinifutError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    assert vars(again).keys() == vars(error).keys()


def test_causes_are_pickled_where_a_library_wants_them() -> None:
    tblib = pytest.importorskip("tblib.pickling_support")
    error = compile_error()
    assert error.__context__ is not None
    tblib.install(error, error.__context__)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("most", ["2GiB", -1, 0, 1.5])
def test_a_memory_limit_is_a_number_of_bytes(most: object) -> None:
    with pytest.raises(UsageError, match="max_memory is a positive number of bytes"):
        minifut.compile("def main = 1i32", max_memory=most)  # type: ignore[arg-type]


def test_an_attribute_that_is_no_entry_point_suggests_one() -> None:
    program = minifut.compile("entry total (x: i32) = x", backend="interpreter")
    with pytest.raises(AttributeError, match="'totl'; did you mean 'total'"):
        program.totl(1)
