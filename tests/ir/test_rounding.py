"""Numbers as values of types: rounded floats, wrapped integers, the fewest digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minifut.ir.rounding import digits, rounded
from minifut.ir.scalar_meaning import dtype_of
from minifut.ir.types import BOOL, FLOATS, INTEGERS, ScalarType


@pytest.mark.parametrize("type_", FLOATS, ids=str)
@given(number=st.floats(allow_nan=False))
@example(number=65520.0)
@example(number=3.4028236e38)
@example(number=-0.0)
@example(number=1e-320)
def test_the_nearest_float_is_that_of_numpy(type_: ScalarType, number: float) -> None:
    with np.errstate(all="ignore"):
        wanted = dtype_of(type_).type(number).item()
    found = type_.nearest(number)
    assert found == wanted
    assert math.copysign(1, found) == math.copysign(1, wanted)


@pytest.mark.parametrize("type_", FLOATS, ids=str)
def test_nan_stays_nan(type_: ScalarType) -> None:
    assert math.isnan(type_.nearest(math.nan))


@pytest.mark.parametrize("type_", INTEGERS, ids=str)
@given(number=st.integers(-(2**70), 2**70))
def test_integers_wrap(type_: ScalarType, number: int) -> None:
    found = type_.nearest(number)
    limits = np.iinfo(dtype_of(type_))
    assert (found - number) % 2**type_.bits == 0
    assert limits.min <= found <= limits.max


def test_every_number_but_zero_is_true() -> None:
    assert BOOL.nearest(2) is True
    assert BOOL.nearest(0) is False


@pytest.mark.parametrize("type_", FLOATS, ids=str)
@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_the_digits_of_a_float_give_it_again(type_: ScalarType, number: float) -> None:
    value = rounded(number, type_.bits)
    if math.isinf(value):
        return
    text = digits(value, type_.bits)
    assert rounded(float(text), type_.bits) == value
    assert "." in text or "e" in text
    assert len(text) <= len(repr(value))


def test_the_digits_are_the_fewest() -> None:
    assert digits(rounded(0.1, 32), 32) == "0.1"
    assert digits(rounded(0.1, 16), 16) == "0.1"
    assert digits(0.1, 64) == "0.1"
    assert digits(1.0, 32) == "1.0"
