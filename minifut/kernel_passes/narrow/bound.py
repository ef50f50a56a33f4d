"""A bound of an integer, and those of quotients, remainders and extremes."""

from __future__ import annotations

from minifut.ir.node import immutable
from minifut.ir.sizes import ONE, Size, ceil_div, maximum, minimum

LIMIT = 1 << 31


@immutable
class Bound:
    """No value is farther from 0 than `size`; none is negative if `natural`. `exact`:
    the value is that size."""

    size: Size
    natural: bool = True
    exact: bool = False


def short(bound: Bound) -> Bound | None:
    """The bound, if it is of use."""
    size = bound.size
    large = any(coefficient >= LIMIT for _, coefficient in size.terms)
    return None if large or not size.is_short else bound


def of_quotient(a: Bound, b: Bound, natural: bool, up: bool = False) -> Bound | None:
    """Of a division whose divisor is not 0."""
    if not b.exact:
        return Bound(a.size, natural)
    divisor = b.size if b.size.as_constant else maximum(ONE, b.size)
    size = ceil_div(a.size, divisor) if up else a.size // divisor
    return short(Bound(size, natural))


def of_remainder(a: Bound, b: Bound) -> Bound:
    """Of what a division of natural numbers leaves."""
    return Bound(b.size if b.exact else a.size)


def of_extreme(name: str, a: Bound | None, b: Bound | None) -> Bound | None:
    """Of the smaller or greater of two."""
    if a is None or b is None:
        return None
    if name == "min" and a.natural and b.natural:
        return short(Bound(minimum(a.size, b.size)))
    natural = a.natural or b.natural if name == "max" else False
    return short(Bound(maximum(a.size, b.size), natural))


def of_any(found: list[Bound | None]) -> Bound | None:
    """The bound of one of several values."""
    known = [each for each in found if each is not None]
    if len(known) < len(found) or not known:
        return None
    sizes = dict.fromkeys(each.size for each in known)
    natural = all(each.natural for each in known)
    return short(Bound(maximum(*sizes), natural))
