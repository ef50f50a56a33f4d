"""Integers that are affine in the lane number: base + lane * step.

    i              base i, step 1          the index of the points
    i * 4 + n      base i * 4 + n, step 4
    a[k]           base a[k], step 0       uniform

Steps are numbers or uniform expressions. What is not affine gives None.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from minifut.ir.sizes import Extreme, Size
from minifut.kernel_ir import nodes as kc
from minifut.kernel_passes.vectorise.varying import varies
from minifut.names import Name

Affine = tuple[kc.Expression, kc.Operand]
"""the value in the first lane, and the step to the next"""

NOTHING: kc.Operand = 0


def affine(
    exp: kc.Expression, known: Mapping[Name, Affine], varying: frozenset[Name]
) -> Affine | None:
    """Base and step of an i64 expression, if it is affine."""
    if not varies(exp, varying):
        return exp, NOTHING
    if exp.type != kc.LONG:
        return None
    match exp:
        case kc.Variable(name, _):
            return known.get(name)
        case kc.Cast(operand, _) if operand.type == kc.LONG:
            return affine(operand, known, varying)
        case kc.SizeValue(size, _):
            return _of_size(size, known, varying)
    found = kc.infix(exp)
    return found and _combined(*found, known, varying)


def _combined(
    symbol: str,
    left: kc.Expression,
    right: kc.Expression,
    known: Mapping[Name, Affine],
    varying: frozenset[Name],
) -> Affine | None:
    if symbol not in ("+", "-", "*"):
        return None
    a, b = affine(left, known, varying), affine(right, known, varying)
    if a is None or b is None:
        return None
    if symbol == "+":
        return a[0] + b[0], plus(a[1], b[1])
    if symbol == "-":
        return a[0] - b[0], plus(a[1], times(b[1], -1))
    if is_zero(b[1]):
        return a[0] * b[0], times(a[1], _number(b[0]))
    if is_zero(a[1]):
        return a[0] * b[0], times(b[1], _number(a[0]))
    return None


def _of_size(
    size: Size, known: Mapping[Name, Affine], varying: frozenset[Name]
) -> Affine | None:
    """Only sums of products in which at most one factor varies."""
    base: kc.Expression | None = None
    step = NOTHING
    uniform, changing = size.split(varying)
    for monomial, coefficient in changing.terms:
        (atom, *others) = [a for a in monomial if Size.of(a).names() & varying]
        if others or not isinstance(atom, Name) or atom not in known:
            return None
        rest = tuple(other for other in monomial if other is not atom)
        factor = Size(((rest, coefficient),))
        value: kc.Operand = coefficient if not rest else kc.SizeValue(factor)
        first, each = known[atom]
        term = first * value
        base = term if base is None else base + term
        step = plus(step, times(each, value))
    if base is None:
        return kc.SizeValue(size), NOTHING
    if uniform.terms:
        number = uniform.as_constant
        base = base + (kc.SizeValue(uniform) if number is None else number)
    return base, step


def _number(exp: kc.Expression) -> kc.Operand:
    return int(exp.value) if isinstance(exp, kc.Literal) else exp


def size_in_lane(
    size: Size, known: Mapping[Name, Affine], varying: frozenset[Name], number: int
) -> Size | None:
    """A size in one lane, if all that varies in it grows by one from lane to lane."""
    there: dict[Name, Size] = {}
    for name in size.names() & varying:
        match known.get(name):
            case (kc.SizeValue(start, _), 1):
                there[name] = start + number
            case (kc.Variable(first, _), 1):
                there[name] = Size.of(first) + number
            case _:
                return None
    return size.substitute(there) if there else None


def is_steady(size: Size, varying: Collection[Name]) -> bool:
    """Whether a size grows by nothing or one where the names grow by one."""
    match size.split(varying)[1].terms:
        case ():
            return True
        case (((Extreme(operands, _),), 1),):
            return all(is_steady(operand, varying) for operand in operands)
        case (((atom,), 1),):
            return atom in varying
    return False


def number_of(step: kc.Operand) -> int | None:
    """A step as a number, if it is constant."""
    if isinstance(step, kc.Literal):
        return int(step.value)
    return step if isinstance(step, int) else None


def is_zero(step: kc.Operand) -> bool:
    """Whether all lanes have the same value."""
    return isinstance(step, int) and step == 0


def plus(a: kc.Operand, b: kc.Operand) -> kc.Operand:
    """The sum of two steps."""
    if is_zero(a) or is_zero(b):
        return b if is_zero(a) else a
    return a + b


def times(a: kc.Operand, b: kc.Operand) -> kc.Operand:
    """The product of two steps."""
    if is_zero(a) or is_zero(b):
        return NOTHING
    return a * b
