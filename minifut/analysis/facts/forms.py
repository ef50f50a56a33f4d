"""Forms: polynomials with integer coefficients, and facts that say `form >= 0`.

    {(i,): 2, (n, m): -1, (): 3}        2 * i - n * m + 3

Plain dictionaries from monomials to coefficients that are not zero: the terms of a
`Size`, whose atoms and order of factors they share, without the price of its order of
terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import TypeAlias

from minifut.immutables import fixed
from minifut.ir.sizes import Monomial, Size, SizeFactor
from minifut.ir.types import ScalarType

Form: TypeAlias = dict[Monomial, int]
ValueRange: TypeAlias = tuple[int, int]

CONSTANT: Monomial = ()


@fixed
class Fact:
    """`form >= 0`, and what it comes from; without a form, a condition that holds."""

    form: Form
    origin: str

    def __str__(self) -> str:
        if not self.form:
            return self.origin
        return f"{inequality(self.form)} ({self.origin})"


Proof: TypeAlias = tuple[Fact, ...]
"""the facts that a proof used; empty if it needed none"""


def number(value: int) -> Form:
    """A constant."""
    return {CONSTANT: value} if value else {}


def of_atom(atom: SizeFactor) -> Form:
    """A name, or another atom of sizes."""
    return {(atom,): 1}


def combine(one: Form, factor: int, other: Form, other_factor: int) -> Form:
    """`factor * one + other_factor * other`, neither factor being zero."""
    result = {m: c * factor for m, c in one.items()} if factor != 1 else dict(one)
    for monomial, coefficient in other.items():
        total = result.get(monomial, 0) + coefficient * other_factor
        if total:
            result[monomial] = total
        else:
            result.pop(monomial, None)
    return result


def difference(one: Form, other: Form, less: int = 0) -> Form:
    """`one - other - less`."""
    result = combine(one, 1, other, -1)
    return combine(result, 1, number(less), -1) if less else result


def product(one: Form, other: Form) -> Form:
    """The product."""
    for left, right in ((one, other), (other, one)):
        factor = constant_of(left)
        if factor is not None:
            return {m: c * factor for m, c in right.items()} if factor else {}
    return dict((to_size(one) * to_size(other)).terms)


def to_size(form: Form) -> Size:
    """The form as a size."""
    total = Size.constant(0)
    return total + Size(tuple(form.items()))


def constant_of(form: Form) -> int | None:
    """The number, if the form is one."""
    if not form:
        return 0
    return form[CONSTANT] if len(form) == 1 and CONSTANT in form else None


def atoms_of(form: Form) -> Iterator[SizeFactor]:
    """The atoms that occur, with repetitions."""
    for monomial in form:
        yield from monomial


def tightened(form: Form) -> Form:
    """An inequality between integers with the common factor of its coefficients
    divided out: `2 * x - 1 >= 0` is `x - 1 >= 0`."""
    common = 0
    for monomial, coefficient in form.items():
        if monomial:
            common = gcd(common, coefficient)
            if common == 1:
                return form
    if common < 2:
        return form
    result = {m: c // common for m, c in form.items() if m}
    constant = form.get(CONSTANT, 0) // common
    if constant:
        result[CONSTANT] = constant
    return result


def split(form: Form, atom: SizeFactor) -> tuple[Form, Form] | None:
    """`slope, rest` with `form = slope * atom + rest`; None if it is not linear in the
    atom."""
    slope: Form = {}
    rest: Form = {}
    for monomial, coefficient in form.items():
        if atom not in monomial:
            rest[monomial] = coefficient
        elif len(monomial) == 1:
            slope[CONSTANT] = coefficient
        elif monomial.count(atom) > 1:
            return None
        else:
            slope[tuple([a for a in monomial if a != atom])] = coefficient
    return slope, rest


def replaced(form: Form, atom: SizeFactor, value: Form) -> Form | None:
    """The form with a value in place of an atom, if it is linear in the atom."""
    parts = split(form, atom)
    return parts and combine(product(parts[0], value), 1, parts[1], 1)


def inequality(form: Form) -> str:
    """`form >= 0` as text, with what is subtracted on the other side."""
    less = to_size({m: -c for m, c in form.items() if c < 0})
    greater = to_size({m: c for m, c in form.items() if c > 0})
    constant = form.get(CONSTANT, 0)
    if constant == -1 and len(form) > 1:
        return f"{less - 1} < {greater}"
    return f"{less} <= {greater}"


def type_range(type_: object) -> ValueRange:
    """The values of an integer type."""
    assert isinstance(type_, ScalarType)
    if not type_.is_integer:
        return (0, 1)
    if type_.kind == "uint":
        return 0, (1 << type_.bits) - 1
    return -(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1
