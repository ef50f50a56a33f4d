"""Judge results: counts, shapes and element types exactly, numbers within tolerance.

Integers and bools must be equal. For floats the tolerance is absolute and one per
array: the larger of 0.002 and 0.002 times the largest finite expected number; NaN
equals NaN, an infinity equals one of its sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minifut.errors import counted
from minifut.values.text import format_value
from minifut.values.types import Value, shaped_type, value_type

TOLERANCE = 0.002
PART = 1 << 16
"""floats compared at once: what stays in a cache"""


def compare_values(got: Sequence[Value], expected: Sequence[Value]) -> str | None:
    """None if the results are right, else what is wrong with the first wrong one."""
    if len(got) != len(expected):
        return (
            f"{counted(len(expected), 'result')} expected, the program gave {len(got)}"
        )
    for number, (one, other) in enumerate(zip(got, expected, strict=True)):
        wrong = compare_value(one, other)
        if wrong is not None:
            return wrong if len(got) == 1 else f"result #{number}: {wrong}"
    return None


def compare_value(got: Value, expected: Value) -> str | None:
    """None if the two agree, else the first difference."""
    if value_type(got) != value_type(expected) or got.shape != expected.shape:
        return f"type {shaped_type(expected)} expected, got {shaped_type(got)}"
    mine, other = np.asarray(got), np.asarray(expected)
    if mine.dtype.kind == "f":
        wrong = _floats_differ(mine, other)
    else:
        wrong = mine != other
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    at = f" at index {''.join(f'[{i}]' for i in index)}" if index else ""
    more = int(wrong.sum()) - 1
    tail = f" ({more} more of {wrong.size} differ)" if more else ""
    one, two = format_value(mine[index]), format_value(other[index])
    return f"{two} expected{at}, got {one}{tail}"


def _floats_differ(
    got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    one, other = got.reshape(-1), expected.reshape(-1)
    parts = [slice(i, i + PART) for i in range(0, max(one.size, 1), PART)]
    largest = max(_largest_finite(other[part].astype(np.float64)) for part in parts)
    tolerance = max(TOLERANCE, TOLERANCE * largest)
    wrong = np.empty(one.shape, bool)
    for part in parts:
        wrong[part] = _part_differs(one[part], other[part], tolerance)
    return wrong.reshape(got.shape)


def _largest_finite(wide: np.ndarray[Any, Any]) -> float:
    return float(wide.max(initial=0.0, where=np.isfinite(wide)))


def _part_differs(
    got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], tolerance: float
) -> np.ndarray[Any, Any]:
    wide_got, wide = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(wide_got - wide) <= tolerance
    same = (wide_got == wide) | (np.isnan(wide_got) & np.isnan(wide))
    return np.asarray(~(np.where(np.isfinite(wide), close, False) | same))
