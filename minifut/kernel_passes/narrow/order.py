"""Which sizes are at least as great as others, so that fewer have to be compared.

    n, n + 256, max(n, m)        n + 256, max(n, m)
    a // max(1, b), a            a

All names of these sizes stand for numbers that are not negative, all divisors are at
least 1, and no coefficient is negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from minifut.ir.sizes import (
    ONE,
    ZERO,
    Extreme,
    Monomial,
    Quotient,
    Size,
    SizeFactor,
    ceil_div,
    maximum,
    product,
    without_factors,
)
from minifut.names import Name

Terms = dict[int, int]
MOST_CASES = 8
"""of the sizes that a greatest one may be"""


def greatest(sizes: Iterable[Size]) -> tuple[Size, ...]:
    """The sizes without those that others are at least as great as."""
    numbers: dict[Monomial, int] = {}
    found: list[ComparedSize] = []
    for size in sizes:
        new = ComparedSize(size, numbers)
        if not any(new.is_at_most(other) for other in found):
            found = [other for other in found if not other.is_at_most(new)]
            found.append(new)
    return tuple(each.size for each in found)


def is_at_most(size: Size, other: Size) -> bool:
    """Whether it is clear that a size is at most another."""
    numbers: dict[Monomial, int] = {}
    return ComparedSize(size, numbers).is_at_most(ComparedSize(other, numbers))


class ComparedSize:
    """A size, its cases and those of sizes that are at least as great. The terms have
    numbers, which are quicker to compare."""

    def __init__(self, size: Size, numbers: dict[Monomial, int]) -> None:
        self.size = size
        above: list[Size] = []
        waiting = [size]
        while waiting and len(above) < MOST_CASES:
            current = waiting.pop(0)
            above.append(current)
            waiting += _above(current)
        self.above = [_cases(each, numbers) for each in above]

    def is_at_most(self, other: ComparedSize) -> bool:
        """Whether that is clear."""
        others = other.above[0]
        return any(
            all(any(_is_part(case, whole) for whole in others) for case in cases)
            for cases in self.above
        )


def _cases(size: Size, numbers: dict[Monomial, int]) -> list[Terms]:
    """The sizes whose maximum a size is; itself if they are too many."""
    waiting: list[Size] = [size]
    done: list[Size] = []
    while waiting:
        current = waiting.pop()
        parts = _split(current)
        waiting += parts
        done += [] if parts else [current]
        if len(waiting) + len(done) > MOST_CASES:
            done = [size]
            break
    return [
        {numbers.setdefault(m, len(numbers)): count for m, count in each.terms}
        for each in done
    ]


def _split(size: Size) -> list[Size]:
    """The cases by the first maximum among the factors."""
    for monomial, coefficient in size.terms:
        for atom in monomial:
            if isinstance(atom, Extreme) and atom.greatest:
                rest = Size(tuple(t for t in size.terms if t[0] != monomial))
                factor = Size(((_but(monomial, atom), coefficient),))
                return [rest + factor * operand for operand in atom.operands]
    return []


def _is_part(size: Terms, other: Terms) -> bool:
    """Whether the other has all terms of a size, none less often."""
    return all(other.get(monomial, 0) >= count for monomial, count in size.items())


def _above(size: Size) -> tuple[Size, ...]:
    """Sizes that are at least as great, by a first factor that can be replaced."""
    for monomial, coefficient in size.terms:
        for atom in monomial:
            above = _factors_above(atom, _but(monomial, atom))
            if above:
                rest = Size(tuple(t for t in size.terms if t[0] != monomial))
                return tuple(rest + each * coefficient for each in above)
    return ()


def _but(monomial: Monomial, atom: SizeFactor) -> Monomial:
    others = without_factors(monomial, (atom,))
    assert others is not None
    return others


def _factors_above(atom: SizeFactor, others: Monomial) -> list[Size]:
    """Products that are at least that of an atom and others: a quotient is at most its
    dividend, also times its divisor; the smallest of several at most each."""
    match atom:
        case Quotient(dividend, divisor, up):
            left = _left_over(others, _without_one(divisor))
            if left is not None:
                more = _without_one(divisor) if up else ZERO
                return [(dividend + more) * product_of(left)]
            return [dividend * product_of(others)]
        case Extreme(operands, False):
            return [each * product_of(others) for each in operands]
    return []


def _without_one(divisor: Size) -> Size:
    """What `max(1, size)` guards."""
    match divisor.terms:
        case (((Extreme(operands, True),), 1),) if ONE in operands:
            others = [each for each in operands if each != ONE]
            return others[0] if len(others) == 1 else divisor
    return divisor


def _left_over(factors: Monomial, divisor: Size) -> Monomial | None:
    """The factors without those of a divisor; None if it has others."""
    match divisor.terms:
        case ((monomial, 1),):
            return without_factors(factors, monomial)
    return None


def product_of(factors: Iterable[SizeFactor]) -> Size:
    """The product of atoms."""
    return product(tuple(map(Size.of, factors)))


def greatest_value(size: Size, most: Mapping[Name, int]) -> int | None:
    """The greatest number that a size may be; None if that is not known."""
    total = 0
    for monomial, coefficient in size.terms:
        factors = [_greatest_of(atom, most) for atom in monomial]
        known = [factor for factor in factors if factor is not None]
        if len(known) < len(factors):
            return None
        total += coefficient * prod(known)
    return total


def _greatest_of(atom: SizeFactor, most: Mapping[Name, int]) -> int | None:
    match atom:
        case Name():
            return most.get(atom)
        case Quotient(dividend, _, _):
            return greatest_value(dividend, most)
        case Extreme(operands, greatest):
            found = [greatest_value(each, most) for each in operands]
            known = [number for number in found if number is not None]
            if not known or (greatest and len(known) < len(found)):
                return None
            return max(known) if greatest else min(known)


def quotient(size: Size, divisor: Size) -> Size:
    """The quotient, rounded up."""
    whole, rest = size.divided(divisor)
    return ceil_div(size, maximum(ONE, divisor)) if rest.terms else whole
