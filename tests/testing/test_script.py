"""FutharkScript makes arguments from a program's entry points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minifut.errors import UsageError
from minifut.program import Program
from minifut.testing.script import script_arguments
from minifut.values.text import format_value

from .fake import entry, program


class Hidden:
    """A value that only the program understands."""

    def __init__(self, number: int) -> None:
        self.number = number


@pytest.fixture
def fake() -> Program:
    return program(
        entry("iota", ["n: i64"], ["[]i64"], lambda n: np.arange(n)),
        entry("seven", [], ["i32"], lambda: np.int32(7)),
        entry("sub", ["x: f32", "y: f32"], ["f32"], lambda x, y: x - y),
        entry("pair", ["x: i64"], ["i64", "i64"], lambda x: (x, x + 1)),
        entry("hide", ["x: i64"], ["hidden"], lambda x: Hidden(int(x))),
        entry("show", ["h: hidden"], ["i64"], lambda h: np.int64(h.number)),
        entry("main", ["x: i64"], ["i64"], lambda x: x),
        entry("two", ["x: i64", "y: f64"], ["i64"], lambda x, y: x),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", "3i64"),
        ("show (hide 5)", "5i64"),
        ("let h = hide 0x10 in show h", "16i64"),
        ("let (a, b) = pair 3 in b", "4i64"),
        ("(iota 4)[2]", "2i64"),
        ("let xs = iota 4 in xs[3]", "3i64"),
        ("{a = 1i64, b = 2i64}.b", "2i64"),
        ("(1i64, 2i64).1", "2i64"),
        ("-5", "-5i64"),
        ("[1i64, 2][1]", "2i64"),
    ],
)
def test_one_value(fake: Program, text: str, expected: str) -> None:
    (value,) = script_arguments(fake, fake.entries["main"], text, Path())
    assert format_value(value) == expected


def test_values_have_types_of_their_own(fake: Program) -> None:
    def make(text: str) -> Any:
        (value,) = script_arguments(fake, opaque, text, Path())
        return format_value(value)

    opaque = entry("any", ["x: anything"], [], lambda x: x)
    assert make("seven") == "7i32"
    assert make("sub 3.5 1") == "2.5f32"
    assert make("sub (3.5, 1)") == "2.5f32"
    assert make("let f = sub 3.5 in f 1") == "2.5f32"
    assert make("[1.5, 2.5]") == "[1.5f64, 2.5f64]"
    assert make('"ab"') == "[97u8, 98u8]"
    assert make("empty([0][2]f32)") == "empty([0][2]f32)"
    assert make("true") == "true"
    assert make("f32.inf") == "f32.inf"


def test_a_tuple_is_spread(fake: Program) -> None:
    x, y = script_arguments(fake, fake.entries["two"], "(1, 2)", Path())
    assert (format_value(x), format_value(y)) == ("1i64", "2.0f64")


def test_data_files(fake: Program, tmp_path: Path) -> None:
    (tmp_path / "a.in").write_text("5i64 [1, 2]")
    text = 'let (n, xs) = $loaddata "a.in" in n'
    assert script_arguments(fake, fake.entries["main"], text, tmp_path) == [5]
    text = 'let bs = $loadbytes "a.in" in bs[0]'
    assert script_arguments(fake, fake.entries["main"], text, tmp_path) == [ord("5")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("iot 3", "did you mean 'iota'"),
        ("sub 1", "too few arguments"),
        ("1.5", "1.5 is not of type i64"),
        ("1 2", "byte 2: only functions can be applied"),
        ("(1, 2", "byte 5: ',' was expected"),
        ("1 ; 2", "byte 1: '; 2' was not expected"),
        ("(iota 3)[3]", "out of bounds"),
        ("(1i64, 2i64)", "takes 1 values"),
        ('$loaddata "missing"', "no such file"),
        ("$run 1", "no procedure $run"),
        ("[1i64, 2.5]", "rows of one type"),
    ],
)
def test_mistakes(fake: Program, text: str, message: str, tmp_path: Path) -> None:
    target = fake.entries["main"]
    if text == "(1i64, 2i64)":
        target = entry("three", ["a: i64"] * 3, [], lambda *a: a)
        message = "takes 3 values, the script gives 2"
    with pytest.raises(UsageError) as caught:
        script_arguments(fake, target, text, tmp_path)
    assert message in str(caught.value)
