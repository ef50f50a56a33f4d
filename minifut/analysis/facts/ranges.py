"""The least and greatest value of a name, from the ranges of what it is made of.

    min(a, 7)        at most 7           x & 15     0 to 15
    clz(x)           0 to 64             x % n      0 to what n is at most, less 1

What is not within the type of the name may have wrapped, and then is anything of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from minifut.analysis.facts.forms import ValueRange, type_range
from minifut.analysis.facts.meaning import DEEPEST, form_of, form_of_size
from minifut.ir import core
from minifut.ir.core import Constant, ScalarOp
from minifut.ir.sizes import Extreme, Monomial, Quotient, SizeFactor
from minifut.ir.types import I64, ScalarType, element_of
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.analysis.facts.known import Facts


def range_of(facts: Facts, atom: SizeFactor, depth: int = 0) -> ValueRange:
    """The least and greatest value by definition."""
    key = ("range", atom)
    if key in facts.memo:
        found: ValueRange = facts.memo[key]
        return found
    match atom:
        case Extreme(operands, greatest):
            parts = [facts.range_of_form(form_of_size(facts, o)) for o in operands]
            result = _extreme(parts, greatest)
        case Quotient(dividend, divisor, _):
            low, high = facts.range_of_form(form_of_size(facts, dividend))
            by = divisor.as_constant or 1
            result = (low // by, -(-high // by))
            if divisor.as_constant is None:
                result = (min(low, 0), max(high, 0))
        case Name():
            result = _range_of_name(facts, atom, depth)
    facts.put(facts.memo, key, result)
    return result


def _range_of_name(facts: Facts, name: Name, depth: int) -> ValueRange:
    type_ = facts.types.get(name, I64)
    if not isinstance(type_, ScalarType):
        return type_range(I64)
    whole = type_range(type_)
    exp, position = facts.definitions.get(name, (None, 0))
    if depth > DEEPEST:
        return whole
    match exp:
        case ScalarOp(operator, operands) if operator.name in RANGES:
            if not all(_counts(facts, operand) for operand in operands):
                return whole
            ranges = [_operand_range(facts, operand, depth + 1) for operand in operands]
            found = RANGES[operator.name](*ranges)
            if operator.name == "clz" and ranges[0][0] >= 0:
                bits = operator.operands[0].bits
                low, high = ranges[0]
                found = bits - high.bit_length(), bits - low.bit_length()
        case core.If(_, then, otherwise):
            ranges = [
                _operand_range(facts, body.result[position], depth + 1)
                for body in (then, otherwise)
            ]
            found = min(ranges[0][0], ranges[1][0]), max(ranges[0][1], ranges[1][1])
        case _:
            return whole
    if found is None or found[0] < whole[0] or found[1] > whole[1]:
        return whole
    return found


def range_of_multiple(facts: Facts, monomial: Monomial) -> ValueRange | None:
    """The range of `(x / k) * k`, which is at most x."""
    for atom in monomial if len(monomial) == 2 else ():
        exp = facts.definition(atom) if isinstance(atom, Name) else None
        if isinstance(exp, ScalarOp) and exp.operator.name in ("div", "quot"):
            x, k = (form_of(facts, operand) for operand in exp.operands)
            other = monomial[1 - monomial.index(atom)]
            low, high = facts.range_of_form(x)
            if k == {(other,): 1} and low >= 0 and facts.range_of_atom(other)[0] > 0:
                return 0, high
    return None


def _counts(facts: Facts, atom: core.Atom) -> bool:
    """Whether an atom is an integer or a truth value."""
    type_ = atom.type if isinstance(atom, Constant) else facts.types.get(atom, I64)
    return isinstance(type_, ScalarType) and not type_.is_float


def _operand_range(facts: Facts, atom: core.Atom, depth: int) -> ValueRange:
    if isinstance(atom, Constant):
        return int(atom.value), int(atom.value)
    if element_of(facts.types.get(atom, I64)).kind == "bool":
        return (0, 1)
    bound = facts.bounds.get(atom)
    return bound if bound is not None else range_of(facts, atom, depth)


def _extreme(ranges: list[ValueRange], greatest: bool) -> ValueRange:
    pick = max if greatest else min
    return pick(low for low, _ in ranges), pick(high for _, high in ranges)


def _corners(a: ValueRange, b: ValueRange) -> ValueRange:
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _modulo(a: ValueRange, b: ValueRange) -> ValueRange | None:
    return (0, b[1] - 1 if a[0] < 0 else min(a[1], b[1] - 1)) if b[0] > 0 else None


def _rest(a: ValueRange, b: ValueRange) -> ValueRange | None:
    return (0, min(a[1], b[1] - 1)) if b[0] > 0 and a[0] >= 0 else None


def _floored(a: ValueRange, b: ValueRange) -> ValueRange | None:
    if min(b) <= 0:  # a contradiction has its ends the wrong way round
        return None
    quotients = [x // y for x in a for y in b]
    return min(quotients), max(quotients)


def _shifted_right(a: ValueRange, b: ValueRange) -> ValueRange | None:
    return (a[0] >> b[0], a[1] >> b[0]) if b[0] == b[1] and 0 <= b[0] < 64 else None


def _shifted_left(a: ValueRange, b: ValueRange) -> ValueRange | None:
    within = min(a[0], b[0]) >= 0 and b[1] < 64
    return (a[0] << b[0], a[1] << b[1]) if within else None


def _masked(a: ValueRange, b: ValueRange) -> ValueRange | None:
    natural = [r for r in (a, b) if r[0] >= 0]
    return (0, min(high for _, high in natural)) if natural else None


def _joined(a: ValueRange, b: ValueRange) -> ValueRange | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return 0, (1 << max(a[1], b[1]).bit_length()) - 1


RANGES: dict[str, Callable[..., ValueRange | None]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _corners,
    "neg": lambda a: (-a[1], -a[0]),
    "min": lambda a, b: _extreme([a, b], False),
    "max": lambda a, b: _extreme([a, b], True),
    "mod": _modulo,
    "rem": _rest,
    "div": _floored,
    "quot": lambda a, b: _floored(a, b) if a[0] >= 0 else None,
    "shr": _shifted_right,
    "shl": _shifted_left,
    "and": _masked,
    "or": _joined,
    "xor": _joined,
    "convert": lambda a: a,
    "popc": lambda a: (0, 64),
    "clz": lambda a: (0, 64),
    "ctz": lambda a: (0, 64),
    "sgn": lambda a: (-1, 1),
    "abs": lambda a: (max(a[0], -a[1], 0), max(-a[0], a[1])),
}
"""by the ranges of the operands; what is not within the type may have wrapped"""
