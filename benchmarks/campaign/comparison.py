"""Whether two runs agree: integers and bools by their bits, floats within rounding.

Programs of the generator add and multiply small numbers that floats hold exactly, so
most results are equal bit by bit. Some grow beyond what a float holds; then reductions
may differ, which are grouped in other ways, by a few roundings of their largest number:

    |got - expected| <= 64 * epsilon * max |expected|     for each array
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minifut.values.compare import compare_values
from minifut.values.text import format_value
from minifut.values.types import shaped_type

ROUNDINGS = 64

Results = Sequence[Any]


class Disagreement(Exception):
    """What is wrong with a run."""


def compare(expected: Results, got: Results, what: str) -> bool:
    """Whether all bits are equal. Raises `Disagreement` if results differ by more than
    rounding."""
    if len(expected) != len(got):
        raise Disagreement(
            f"{what}: {len(expected)} results expected, {len(got)} given"
        )
    equal = True
    for number, (one, other) in enumerate(zip(expected, got, strict=True)):
        one, other = np.asarray(one), np.asarray(other)
        if one.dtype != other.dtype or one.shape != other.shape:
            raise Disagreement(
                f"{what}: result {number}: {shaped_type(one)} expected, "
                f"{shaped_type(other)} given"
            )
        if np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
            continue
        equal = False
        if not within_rounding(one, other):
            detail = compare_values([other], [one]) or "floats differ"
            raise Disagreement(f"{what}: result {number}: {detail}{both(one, other)}")
    return equal


def within_rounding(expected: np.ndarray, got: np.ndarray) -> bool:
    """Equal floats but for a few roundings of the largest one."""
    if expected.dtype.kind != "f":
        return False
    finite = np.isfinite(expected)
    if not np.array_equal(expected[~finite], got[~finite], equal_nan=True):
        return False
    wide, other = (a[finite].astype(np.float64) for a in (expected, got))
    largest = np.abs(wide).max(initial=1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        most = ROUNDINGS * float(np.finfo(expected.dtype).eps) * largest
        return bool((np.abs(wide - other) <= most).all())


def both(expected: np.ndarray, got: np.ndarray) -> str:
    """The values, if they are few."""
    if expected.size > 40:
        return ""
    return f"\nexpected {format_value(expected)}\ngiven    {format_value(got)}"
