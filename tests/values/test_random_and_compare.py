"""Random values keep their bounds and seeds; comparison follows the judging rules."""

from __future__ import annotations

import numpy as np
import pytest

from minifut.errors import UsageError
from minifut.values.compare import compare_value, compare_values
from minifut.values.random import parse_bounds, random_value
from minifut.values.types import DTYPES, ShapedType, shaped_type


@pytest.mark.parametrize("element", DTYPES)
def test_random_values_have_their_type(element: str) -> None:
    type_ = ShapedType(element, (20, 30))
    value = np.asarray(random_value(type_))
    assert shaped_type(value) == type_
    np.testing.assert_array_equal(value, random_value(type_))
    assert (value != np.asarray(random_value(type_, seed=2))).any()
    assert len(np.unique(value)) > (1 if element == "bool" else 50)
    if element[0] == "f":
        assert value.min() >= 0 and value.max() <= 1


def test_bounds_are_inclusive() -> None:
    value = random_value(ShapedType("i32", (1000,)), bounds={"i32": (-2, 3)})
    assert set(np.asarray(value).tolist()) == {-2, -1, 0, 1, 2, 3}
    assert random_value(ShapedType("u8", ()), bounds={"u8": (7, 7)}) == 7


def test_bounds_are_checked() -> None:
    assert parse_bounds("f32", "-1.5:2") == (-1.5, 2.0)
    for text in ("1", "a:b", "3:2", "1:300", "1:2:3"):
        with pytest.raises(UsageError):
            parse_bounds("u8", text)


def f32(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


def test_floats_within_tolerance() -> None:
    assert compare_value(f32(1.0019), f32(1)) is None
    assert compare_value(f32(1.0021), f32(1)) is not None
    assert compare_value(f32(1000, 1.9), f32(1000, 0)) is None
    assert compare_value(f32(1000, 2.1), f32(1000, 0)) is not None
    # The largest number counts with its sign.
    assert compare_value(f32(-1000, 0.1), f32(-1000, 0)) is not None


def test_special_floats() -> None:
    inf, nan = np.inf, np.nan
    assert compare_value(f32(inf, -inf, nan), f32(inf, -inf, nan)) is None
    assert compare_value(f32(-inf), f32(inf)) is not None
    assert compare_value(f32(nan), f32(1)) is not None
    assert compare_value(f32(1), f32(nan)) is not None
    assert compare_value(f32(inf), f32(1)) is not None
    assert compare_value(f32(1), f32(inf)) is not None


def test_messages_say_where() -> None:
    got, expected = np.zeros((2, 3), np.int32), np.zeros((2, 3), np.int32)
    got[1, 2] = 7
    message = compare_values([np.int32(1), got], [np.int32(1), expected])
    assert message == "result #1: 0i32 expected at index [1][2], got 7i32"
    got[0, 1] = 5
    message = compare_value(got, expected)
    assert message == "0i32 expected at index [0][1], got 5i32 (1 more of 6 differ)"


def test_types_shapes_and_counts_are_exact() -> None:
    assert compare_value(np.int32(1), np.int64(1)) == "type i64 expected, got i32"
    assert compare_value(np.empty((0, 3)), np.empty((0, 4))) is not None
    assert compare_values([], [np.int32(1)]) == "1 result expected, the program gave 0"
    assert compare_value(np.uint64(2**64 - 1), np.uint64(2**64 - 2)) is not None


def test_large_arrays_are_compared_to_their_end() -> None:
    expected = np.linspace(0, 10, 200_000, dtype=np.float32).reshape(1000, 200)
    assert compare_values([expected.copy()], [expected]) is None
    got = expected.copy()
    got[999, 199] += np.float32(0.03)
    assert "[999][199]" in (compare_values([got], [expected]) or "")
    # The tolerance follows from the largest number, wherever it stands.
    got = expected.copy()
    got[0, 0] += np.float32(0.015)
    assert compare_values([got], [expected]) is None
