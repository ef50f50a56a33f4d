"""One algebra of sizes, for array types, thresholds, tile counts and generated text.

A size is a polynomial with integer coefficients, kept in a normal form, over atoms:
names (i64 variables of the program), ceiling divisions, floor divisions, minima and
maxima. Two sizes with the same normal form are equal, so `n * m` is `m * n` and
`(n + 1) - 1` is `n`, and a `Size` works as a dictionary key.

    Size.constant(3) * Size.of(n) + 1          -> "3 * n + 1"
    (Size.of(n) + 3) // 4                       floor division
    ceil_div(Size.of(n), Size.constant(64))     -> "ceil_div(n, 64)"

Sizes are mathematical integers; the program's i64 arithmetic wraps, but a size that
would overflow cannot be allocated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import TypeAlias

from minifut.ir.node import immutable
from minifut.names import Name


@immutable
class Quotient:
    """`ceil_div(a, b)` if `up`, else floor division; b is positive."""

    dividend: Size
    divisor: Size
    up: bool

    def __str__(self) -> str:
        function = "ceil_div" if self.up else "floor_div"
        return f"{function}({self.dividend}, {self.divisor})"


@immutable
class Extreme:
    """The minimum or maximum of two or more sizes, in a canonical order."""

    operands: tuple[Size, ...]
    greatest: bool

    def __str__(self) -> str:
        inner = ", ".join(str(o) for o in self.operands)
        return f"{'max' if self.greatest else 'min'}({inner})"


SizeFactor: TypeAlias = Name | Quotient | Extreme
Monomial: TypeAlias = tuple[SizeFactor, ...]
"""atoms in canonical order, repeated for powers; () is the constant term"""


def _atom_key(atom: SizeFactor) -> tuple[int, str]:
    return (0 if isinstance(atom, Name) else 1, str(atom))


def _monomial_key(monomial: Monomial) -> tuple[int, tuple[tuple[int, str], ...]]:
    return (-len(monomial), tuple(_atom_key(a) for a in monomial))


def without_factors(
    monomial: Sequence[SizeFactor], factors: Iterable[SizeFactor]
) -> Monomial | None:
    """A product divided by factors; None if it has not all of them."""
    left = list(monomial)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


LONGEST = 64
"""terms and factors of a size that names are replaced by"""


class WithFindings:
    """Places for what is found of a size at the first query: the names that occur in
    it, its hash, and its text."""

    __slots__ = ("found", "hashed", "written")
    found: frozenset[Name]
    hashed: int
    written: str


@immutable
class Size(WithFindings):
    """A sum of products: `terms` maps monomials to non-zero coefficients, ordered."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def constant(number: int) -> Size:
        """A known number."""
        return Size((((), number),)) if number else Size(())

    @staticmethod
    def of(atom: SizeFactor) -> Size:
        """A name (or another atom) as a size."""
        return Size((((atom,), 1),))

    @staticmethod
    def _from(sums: dict[Monomial, int]) -> Size:
        kept = [(m, c) for m, c in sums.items() if c]
        if len(kept) > 1:
            kept.sort(key=lambda term: _monomial_key(term[0]))
        return Size(tuple(kept))

    @property
    def as_constant(self) -> int | None:
        """The number, if it is one."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    @property
    def as_name(self) -> Name | None:
        """The name, if the size is just one name."""
        if len(self.terms) == 1:
            monomial, coefficient = self.terms[0]
            if coefficient == 1 and len(monomial) == 1:
                atom = monomial[0]
                return atom if isinstance(atom, Name) else None
        return None

    def __add__(self, other: Size | int) -> Size:
        other = as_size(other)
        if not (self.terms and other.terms):
            return self if self.terms else other
        sums = dict(self.terms)
        for monomial, coefficient in other.terms:
            sums[monomial] = sums.get(monomial, 0) + coefficient
        return Size._from(sums)

    def __neg__(self) -> Size:
        return Size(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Size | int) -> Size:
        return self + (-as_size(other))

    def __mul__(self, other: Size | int) -> Size:
        other = as_size(other)
        if self.terms == ONE.terms or other.terms == ONE.terms:
            return other if self.terms == ONE.terms else self
        sums: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                product = left + right
                if left and right:
                    product = tuple(sorted(product, key=_atom_key))
                sums[product] = sums.get(product, 0) + a * b
        return Size._from(sums)

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: Size | int) -> Size:
        return _divide(self, as_size(other), up=False)

    @property
    def is_short(self) -> bool:
        """Whether names may be replaced by it again and again. Numbers that a program
        squares over and over, as a hash, are no sizes: their terms double each time."""
        return sum(1 + len(monomial) for monomial, _ in self.terms) <= LONGEST

    def names(self) -> frozenset[Name]:
        """The names that occur in it."""
        known: frozenset[Name] | None = getattr(self, "found", None)
        if known is not None:
            return known
        found: set[Name] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                match atom:
                    case Name():
                        found.add(atom)
                    case Quotient(dividend, divisor, _):
                        found |= dividend.names() | divisor.names()
                    case Extreme(operands, _):
                        for operand in operands:
                            found |= operand.names()
        object.__setattr__(self, "found", frozenset(found))
        return self.found

    def split(self, names: Collection[Name]) -> tuple[Size, Size]:
        """The terms without any of these names, and the others."""
        moving = () if self.names().isdisjoint(names) else self.terms
        terms = ((Size((term,)).names(), term) for term in moving)
        others = Size(tuple(term for own, term in terms if not own.isdisjoint(names)))
        return self - others if others.terms else self, others

    def divided(self, divisor: Size) -> tuple[Size, Size]:
        """Quotient and remainder by a product, term by term (0 and all by a sum)."""
        if len(divisor.terms) != 1:
            return ZERO, self
        ((factors, number),) = divisor.terms
        whole, rest = ZERO, ZERO
        for monomial, coefficient in self.terms:
            left = without_factors(monomial, factors)
            if left is None or coefficient % number:
                rest = rest + Size(((monomial, coefficient),))
            else:
                whole = whole + Size(((left, coefficient // number),))
        return whole, rest

    def substitute(self, mapping: Mapping[Name, Size]) -> Size:
        """Replace names by sizes; the same object if none occurs."""
        if mapping.keys().isdisjoint(self.names()):
            return self

        def leaf(name: Name) -> Size:
            return mapping[name] if name in mapping else Size.of(name)

        return self.rebuild(leaf)

    def substitute_short(self, mapping: Mapping[Name, Size]) -> Size | None:
        """Replace names by sizes; None if that is long, which the products that have to
        be added decide before any is made."""
        products = 0
        for monomial, _ in self.terms:
            found = (mapping.get(a) for a in monomial if isinstance(a, Name))
            products += prod(len(size.terms) for size in found if size is not None)
        if products > LONGEST:
            return None
        made = self.substitute(mapping)
        return made if made.is_short else None

    def rebuild(self, leaf: Callable[[Name], Size]) -> Size:
        """Recompute the size with each name replaced by `leaf(name)`."""
        sums: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms:
            product = ONE
            for atom in monomial:
                product = product * _rebuild_atom(atom, leaf)
            for made, number in product.terms:
                sums[made] = sums.get(made, 0) + number * coefficient
        return Size._from(sums)

    def evaluate(self, values: Mapping[Name, int]) -> int:
        """The number it stands for when names have these values."""
        return sum(
            coefficient * prod(_evaluate_atom(atom, values) for atom in monomial)
            for monomial, coefficient in self.terms
        )

    def __hash__(self) -> int:
        try:
            return self.hashed
        except AttributeError:
            object.__setattr__(self, "hashed", hash(self.terms))
            return self.hashed

    def __str__(self) -> str:
        try:
            return self.written
        except AttributeError:
            object.__setattr__(self, "written", self.text(str, str))
            return self.written

    def text(
        self, atom: Callable[[SizeFactor], str], number: Callable[[int], str]
    ) -> str:
        """The sum as written in a language with these atoms and numbers."""
        if not self.terms:
            return "0"
        text = ""
        for monomial, coefficient in self.terms:
            factors = list(map(atom, monomial))
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, number(abs(coefficient)))
            joined = " * ".join(factors)
            if text:
                text += f" {'-' if coefficient < 0 else '+'} {joined}"
            else:
                text = f"-{joined}" if coefficient < 0 else joined
        return text


ZERO = Size.constant(0)
ONE = Size.constant(1)


def as_size(number: Size | Name | int) -> Size:
    """A size from a number, a name or a size."""
    match number:
        case Size():
            return number
        case Name():
            return Size.of(number)
        case _:
            return Size.constant(int(number))


def product(sizes: tuple[Size, ...]) -> Size:
    """The product of all; 1 for none."""
    total = ONE
    for size in sizes:
        total = total * size
    return total


def dimension_groups(
    before: tuple[Size, ...], after: tuple[Size, ...]
) -> Iterator[tuple[slice, slice]]:
    """Dimensions of both shapes with the same number of elements, outermost first and
    as few at a time as the sizes show: those of [n][4 * m] and [n][m][2][2] are
    (n, n) and (4 * m, m * 2 * 2). A reshape is one of each group."""
    at = to = 0
    while at < len(before) and to < len(after):
        ends = (
            (end, stop)
            for end in range(at + 1, len(before) + 1)
            for stop in range(to + 1, len(after) + 1)
            if product(before[at:end]) == product(after[to:stop])
        )
        end, stop = next(ends, (len(before), len(after)))
        yield slice(at, end), slice(to, stop)
        at, to = end, stop
    if at < len(before) or to < len(after):  # of size one
        yield slice(at, len(before)), slice(to, len(after))


def ceil_div(dividend: Size, divisor: Size | int) -> Size:
    """The quotient rounded up; the divisor is taken to be positive."""
    return _divide(dividend, as_size(divisor), up=True)


def minimum(*sizes: Size) -> Size:
    """The smallest."""
    return _extreme(sizes, greatest=False)


def maximum(*sizes: Size) -> Size:
    """The greatest."""
    return _extreme(sizes, greatest=True)


def _divide(dividend: Size, divisor: Size, up: bool) -> Size:
    by, known = divisor.as_constant, dividend.as_constant
    if by == 1 or known == 0:
        return dividend
    if dividend == divisor:
        return ONE
    if by and known is not None:
        return Size.constant(-(-known // by) if up else known // by)
    if by and all(coefficient % by == 0 for _, coefficient in dividend.terms):
        return Size(tuple((m, c // by) for m, c in dividend.terms))
    return Size.of(Quotient(dividend, divisor, up))


def _extreme(sizes: tuple[Size, ...], greatest: bool) -> Size:
    flat: list[Size] = []
    best: int | None = None
    for size in sizes:
        inner: tuple[Size, ...] = (size,)
        if len(size.terms) == 1 and size.terms[0][1] == 1:
            atoms = size.terms[0][0]
            only = atoms[0] if len(atoms) == 1 else None
            if isinstance(only, Extreme) and only.greatest == greatest:
                inner = only.operands
        for operand in inner:
            number = operand.as_constant
            if number is None:
                if operand not in flat:
                    flat.append(operand)
            elif best is None or (number > best) == greatest:
                best = number
    if best is not None:
        flat.append(Size.constant(best))
    if len(flat) == 1:
        return flat[0]
    flat.sort(key=str)
    return Size.of(Extreme(tuple(flat), greatest))


def _rebuild_atom(atom: SizeFactor, leaf: Callable[[Name], Size]) -> Size:
    match atom:
        case Name():
            return leaf(atom)
        case Quotient(dividend, divisor, up):
            return _divide(dividend.rebuild(leaf), divisor.rebuild(leaf), up)
        case Extreme(operands, greatest):
            return _extreme(tuple(o.rebuild(leaf) for o in operands), greatest)


def _evaluate_atom(atom: SizeFactor, values: Mapping[Name, int]) -> int:
    match atom:
        case Name():
            return values[atom]
        case Quotient(dividend, divisor, up):
            a, b = dividend.evaluate(values), divisor.evaluate(values)
            return -(-a // b) if up else a // b
        case Extreme(operands, greatest):
            return (max if greatest else min)(o.evaluate(values) for o in operands)
