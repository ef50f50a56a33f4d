"""The text form: what is read, what is refused and where; writing inverts reading."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minifut.errors import UsageError
from minifut.values import bulk
from minifut.values.reader import read_literal, read_values
from minifut.values.text import format_value, read_scalar_or_type, read_value
from minifut.values.types import DTYPES, ShapedType, value_type

READ = [
    ("5", "i32", 5),
    ("-100i8", "i8", -100),
    ("0xffi8", "i8", -1),
    ("0b101u16", "u16", 5),
    ("-1u32", "u32", 2**32 - 1),
    ("123_456i64", "i64", 123456),
    ("18446744073709551615u64", "u64", 2**64 - 1),
    ("3f32", "f32", 3.0),
    ("1.5", "f64", 1.5),
    ("1e5", "f64", 1e5),
    ("-2.5e-3f32", "f32", np.float32(-2.5e-3)),
    ("0x1f32", "i32", 0x1F32),
    ("0x1.8p1f64", "f64", 3.0),
    ("-f32.inf", "f32", -np.inf),
    ("f64.inf", "f64", np.inf),
    ("true", "bool", True),
    ("false", "bool", False),
]


@pytest.mark.parametrize(("text", "element", "value"), READ)
def test_scalars(text: str, element: str, value: object) -> None:
    got = read_literal(text, "x")
    assert got.dtype == DTYPES[element]
    assert got == value


def test_nan() -> None:
    got = read_literal("f16.nan", "x")
    assert got.dtype == np.float16 and np.isnan(got)


ARRAYS = [
    ("[1, 2, 3]", np.array([1, 2, 3], np.int32)),
    ("[1f32, 2, 3.5]", np.array([1, 2, 3.5], np.float32)),
    ("[[1i64,2],[3,4,],]", np.array([[1, 2], [3, 4]], np.int64)),
    ("[ true , false ]", np.array([True, False])),
    ("[1, -- one\n 2]", np.array([1, 2], np.int32)),
    ("empty([0]i32)", np.empty(0, np.int32)),
    ("empty( [3] [0] f64 )", np.empty((3, 0), np.float64)),
    ("[empty([0]i32)]", np.empty((1, 0), np.int32)),
    ("[empty([0][2]f32), empty([0][2]f32)]", np.empty((2, 0, 2), np.float32)),
    ('["XO", "OX"]', np.array([[88, 79], [79, 88]], np.uint8)),
    ('["a", [98u8]]', np.array([[97], [98]], np.uint8)),
    ('[[""], [empty([0]u8)]]', np.empty((2, 1, 0), np.uint8)),
    ('"aé\\n\\x41\\66\\&\\""', np.frombuffer('aé\nAB"'.encode(), np.uint8)),
]


@pytest.mark.parametrize(("text", "expected"), ARRAYS)
def test_arrays(text: str, expected: np.ndarray) -> None:
    got = read_literal(text, "x")
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


REFUSED = [
    ("", "one value was expected, not 0"),
    ("[]", "byte 1: an empty array is written"),
    ("[1, 2", "byte 5"),
    ("[1 2]", "byte 3: a comma"),
    ("[[1, 2], [3]]", "byte 11: a row of 1 elements among rows of 2"),
    ("[1, [2]]", "byte 4: an array among scalars"),
    ("[[1], 2]", "byte 6: a scalar among arrays"),
    ("[1i32, 2i64]", "byte 7: a value of type i64 in an array of i32"),
    ("[1, 2.5]", "byte 4"),
    ("300u8", "byte 0: 300 is out of the range of u8"),
    ("128i8", "out of the range of i8"),
    ("1.5i32", "byte 0"),
    ("12abc", "byte 0: a value was expected, not '12abc'"),
    ("empty([2]i32)", "a dimension that is 0"),
    ("[empty([2]i32)]", "byte 1: an empty array needs a dimension that is 0"),
    ('["a", "bc"]', "byte 6: a row of 2 elements among rows of 1"),
    ('["a", 1u8]', "byte 6: a scalar among arrays"),
    ('[1u8, "a"]', "byte 6: an array of rank 1 among scalars"),
    ('[["a"], "b"]', "byte 8: an array of rank 1 among arrays of rank 2"),
    ('[1, "a"]', "byte 4: an array of u8 in an array of i32"),
    ("[empty([0]i32), empty([0]i64)]", "byte 16: an array of i64 in an array of i32"),
    ("empty([0]i31)", "'i31' is not an element type"),
    ('"abc', "byte 0: the string has no end"),
    ('"\\q"', "byte 1"),
    ("[" * 100, "byte 64"),
    ("1 2", "one value was expected, not 2"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_mistakes_have_an_offset(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_literal(text, "x")
    assert message in str(caught.value)


def test_test_files_may_wrap() -> None:
    (got,) = read_values(b"[0i8, 255i8, 32767i8]", "x", wrap=True)
    assert got.tolist() == [0, -1, -1]


def arrays(smallest: int) -> st.SearchStrategy[np.ndarray]:
    """Arrays of every element type, of up to three dimensions."""
    shapes = hnp.array_shapes(max_dims=3, min_side=smallest, max_side=5)
    return st.sampled_from(list(DTYPES.values())).flatmap(
        lambda dtype: hnp.arrays(dtype, shapes)
    )


@settings(max_examples=60)
@given(arrays(smallest=0))
def test_writing_reads_back(array: np.ndarray) -> None:
    (got,) = read_values(format_value(array).encode(), "x")
    assert value_type(got) == value_type(array)
    np.testing.assert_array_equal(got, array)


@settings(max_examples=60)
@given(arrays(smallest=1), st.booleans())
def test_bulk_and_definition_agree(array: np.ndarray, with_suffixes: bool) -> None:
    text = format_value(array).encode()
    if not with_suffixes and array.dtype.kind in "iu":
        suffix = next(n for n, d in DTYPES.items() if d == array.dtype).encode()
        first, second = text.split(suffix, 1)
        text = first + suffix + second.replace(suffix, b"")
    small, bulk.SMALL = bulk.SMALL, 0
    try:
        quick = bulk.read_bulk(text, 0)
    finally:
        bulk.SMALL = small
    slow, end = read_value(text, 0)
    if quick is not None:
        assert quick[1] == end == len(text)
        np.testing.assert_array_equal(quick[0], slow)
        assert quick[0].dtype == slow.dtype


def large(text: str) -> bytes:
    """A text large enough for the quick reader, with a part in its middle."""
    return b"[" + b"1i32, " * 300 + text.encode() + b", 3" * 300 + b"]"


@pytest.mark.parametrize(
    ("part", "offset"), [("2 2", 1803), ("[2]", 1801), ("2i8", 1801), ("2,,2", 1803)]
)
def test_large_arrays_are_checked_as_strictly(part: str, offset: int) -> None:
    with pytest.raises(UsageError) as caught:
        read_values(large(part), "x")
    assert f"byte {offset}:" in str(caught.value)


def test_large_arrays_are_read_in_bulk() -> None:
    text = large("2")
    found = bulk.read_bulk(text, 0)
    assert found is not None and found[1] == len(text)
    assert found[0].tolist() == [1] * 300 + [2] + [3] * 300
    assert bulk.read_bulk(large("0x2"), 0) is None
    (got,) = read_values(large("0x2 -- odd\n"), "x")
    assert got.shape == (601,) and got[300] == 2


def test_several_values_of_both_forms() -> None:
    from minifut.values.binary import write_binary

    data = b"1 " + write_binary(np.float32(2.5)) + b"\n[3u8] -- end\n"
    values = read_values(data, "x")
    assert [format_value(v) for v in values] == ["1i32", "2.5f32", "[3u8]"]


def test_types_and_literals_for_dataset() -> None:
    assert read_scalar_or_type("[10][2]f32") == ShapedType("f32", (10, 2))
    assert read_scalar_or_type("10i64") == np.int64(10)
    with pytest.raises(UsageError, match="larger than"):
        read_scalar_or_type("[100000000][100000000]i8")
