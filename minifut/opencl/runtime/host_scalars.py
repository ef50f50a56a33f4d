"""Scalar arithmetic of host functions: Python's ints made to wrap, total division.

Floats are NumPy scalars; callers of host functions that compute with them ignore
NumPy's warnings (`quiet`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

f16, f32, f64 = np.float16, np.float32, np.float64
sqrt = np.sqrt


def fmin(x: Any, y: Any) -> Any:
    """The lesser float, the other one of a NaN, the first of two equal ones."""
    return y if y < x or x != x else x


def fmax(x: Any, y: Any) -> Any:
    """As `fmin`, the greater one."""
    return y if x < y or x != x else x


def _signed(bits: int) -> Callable[[int], int]:
    half, mask = 1 << (bits - 1), (1 << bits) - 1

    def wrap(number: int) -> int:
        if -half <= number < half:
            return number
        return ((number + half) & mask) - half

    return wrap


def _unsigned(bits: int) -> Callable[[int], int]:
    mask = (1 << bits) - 1
    return lambda number: number & mask


wrap_i8, wrap_i16, wrap_i32, wrap_i64 = (_signed(bits) for bits in (8, 16, 32, 64))
wrap_u8, wrap_u16, wrap_u32, wrap_u64 = (_unsigned(bits) for bits in (8, 16, 32, 64))


def covering(wanted: int, most: int) -> int:
    """The smallest of `most`, its half, its quarter .. that is at least `wanted`."""
    while most % 2 == 0 and most // 2 >= wanted:
        most //= 2
    return most


def equal_parts(total: int, most: int) -> int:
    """The length of the fewest equal parts of `total` of at most `most` each; `most`
    unless that saves a quarter: each length is a build of a kernel."""
    length = max(1, ceil_div(total, max(1, ceil_div(total, most))))
    return length if 4 * length <= 3 * most else most


def floor_div(a: int, b: int) -> int:
    """Towards minus infinity; 0 for division by 0."""
    return a // b if b else 0


def floor_mod(a: int, b: int) -> int:
    """With the sign of b; 0 for division by 0."""
    return a % b if b else 0


def quotient(a: int, b: int) -> int:
    """Towards zero; 0 for division by 0."""
    if not b:
        return 0
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def remainder(a: int, b: int) -> int:
    """With the sign of a; 0 for division by 0."""
    return a - b * quotient(a, b) if b else 0


def sign(a: int) -> int:
    """-1, 0 or 1."""
    return (a > 0) - (a < 0)


def shift_left(a: int, places: int, bits: int) -> int:
    """0 for as many places as there are bits, or more; a negative number is more."""
    return a << places if 0 <= places < bits else 0


def shift_right(a: int, places: int, bits: int) -> int:
    """With the sign; all bits are shifted out by as many places as there are, or more,
    or a negative number."""
    return a >> places if 0 <= places < bits else -(a < 0)


def power(a: int, exponent: int, bits: int) -> int:
    """The last bits of the power; 0 for a negative exponent."""
    return pow(a, exponent, 1 << bits) if exponent >= 0 else 0


def trailing_zeros(a: int, bits: int) -> int:
    """The zeros behind the last one; all bits of 0."""
    return (a & -a).bit_length() - 1 if a else bits


def truncate(a: Any, bits: int, signed: bool) -> int:
    """A float to an integer: towards zero, saturated; 0 for what is not finite. A
    negative number becomes an unsigned one by way of the signed type as wide."""
    if not np.isfinite(a):
        return 0
    number, low = int(a), -(1 << (bits - 1))
    if signed:
        return min(max(number, low), -1 - low)
    number = max(number, low) + (1 << bits) if number < 0 else number
    return min(number, (1 << bits) - 1)


def ceil_div(a: int, b: int) -> int:
    """The quotient rounded up."""
    return -(-a // b)


def quiet() -> Any:
    """NumPy's warnings about overflow and division by zero are off inside."""
    return np.errstate(all="ignore")
