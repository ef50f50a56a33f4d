"""Run-time checks: `Assert` statements, and proofs that make them needless.

    xs[i]    assert 0 <= i && i < n, "Index [i] out of bounds for array of shape [n]."

A check that can be decided now is left out: constants, equal sizes, and index variables
that are known to run below a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minifut.errors import Location
from minifut.frontend.elaborate.values import Leaf, constant, size_of
from minifut.ir import core
from minifut.ir.core import Atom, Constant
from minifut.ir.sizes import ONE, Extreme, Quotient, Size
from minifut.ir.types import BOOL
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work

MOST_STEPS = 12
"""index variables replaced by their bounds before a proof is given up"""


def check(
    work: Work, condition: Leaf, message: tuple[str | Atom, ...], location: Location
) -> None:
    """Fail with the message unless the condition holds."""
    atom = condition.atom
    if work.mode.unsafe or (isinstance(atom, Constant) and atom.value):
        return
    if work.mode.warns_of_checks:
        work.warn(location, "Safety check required.")
    work.build.location = work.place_of(location)
    backtrace = _of_user((location, *work.mode.calls))
    work.build.bind((), core.Assert(atom, message, backtrace))


def _of_user(places: tuple[Location, ...]) -> tuple[str, ...]:
    """The places in the user's files, as far as there are any."""
    return tuple(map(str, [p for p in places if not p.in_prelude] or places))


def all_of(work: Work, conditions: list[Leaf]) -> Leaf:
    """The conjunction; true of none."""
    if not conditions:
        return Leaf(Constant(True, BOOL), BOOL)
    result = conditions[0]
    for condition in conditions[1:]:
        result = work.op("and", result, condition)
    return result


# --- proofs ------------------------------------------------------------------------


def never_negative(work: Work, size: Size) -> bool:
    """Can it be shown that a size is at least 0?

    Index variables are replaced by the bound that makes the size smallest, one after
    another; it is shown when no negative coefficient is left.
    """
    for _ in range(MOST_STEPS):
        worst = _index_variable(work, size)
        if worst is None:
            break
        size = worst
    return all(
        coefficient >= 0 and all(_is_natural(work, atom) for atom in monomial)
        for monomial, coefficient in size.terms
    )


def _index_variable(work: Work, size: Size) -> Size | None:
    """The size with one index variable at its worst bound; None if there is none."""
    below = work.known.below
    for monomial, coefficient in size.terms:
        if coefficient > 0:
            continue
        for atom in monomial:
            if isinstance(atom, Name) and atom in below:
                return _at_upper_bound(size, atom, below[atom] - ONE)
    return None


def _at_upper_bound(size: Size, name: Name, bound: Size) -> Size | None:
    """Terms with a negative coefficient get the bound; positive ones get 0 only where
    the variable is alone with a negative term of the same rest, so they stay."""
    slope, rest = size.divided(Size.of(name))
    is_linear = all(name not in monomial for monomial, _ in slope.terms)
    if not is_linear or any(coefficient > 0 for _, coefficient in slope.terms):
        return None
    return rest + slope * bound


def _is_natural(work: Work, atom: object) -> bool:
    match atom:
        case Quotient(dividend, divisor, _):
            positive = (divisor.as_constant or 0) > 0
            return positive and never_negative(work, dividend)
        case Extreme(operands, greatest):
            shown = [never_negative(work, operand) for operand in operands]
            return any(shown) if greatest else all(shown)
        case _:
            return atom in work.known.sizes or atom in work.known.below


def is_below(work: Work, index: Size, bound: Size) -> bool:
    """Can it be shown that index < bound?"""
    return never_negative(work, bound - index - ONE)


# --- the checks --------------------------------------------------------------------


def check_not_zero(work: Work, divisor: Leaf, location: Location) -> None:
    """Before an integer division."""
    atom = divisor.atom
    if work.mode.unsafe or (isinstance(atom, Constant) and atom.value != 0):
        return
    if divisor.size is not None and never_negative(work, divisor.size - ONE):
        return
    zero = constant(0, divisor.scalar_type)
    check(work, work.op("ne", divisor, zero), ("division by zero",), location)


def check_not_negative(
    work: Work, number: Leaf, message: tuple[str | Atom, ...], location: Location
) -> None:
    """Sizes and exponents."""
    atom = number.atom
    if work.mode.unsafe or (isinstance(atom, Constant) and atom.value >= 0):
        return
    if number.size is not None and never_negative(work, number.size):
        return
    if number.scalar_type.kind == "uint":
        return
    zero = constant(0, number.scalar_type)
    check(work, work.op("ge", number, zero), message, location)


def below_conditions(work: Work, index: Leaf, bound: Size) -> list[Leaf]:
    """What has to be tested for 0 <= index < bound."""
    size = size_of(index)
    conditions = []
    if not never_negative(work, size):
        zero = constant(0, index.scalar_type)
        conditions.append(work.op("le", zero, index))
    if not is_below(work, size, bound):
        conditions.append(work.op("lt", index, work.size_leaf(bound)))
    return conditions


def shape_text(work: Work, shape: tuple[Size, ...]) -> list[str | Atom]:
    """`[n][m]` as a message shows it."""
    text: list[str | Atom] = []
    for size in shape:
        text += ["[", work.size_leaf(size).atom, "]"]
    return text
