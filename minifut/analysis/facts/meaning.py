"""What the definition of a name says of its value.

    form_of(x)      x as a polynomial of older names, as far as nothing wraps
    range_of(x)     the least and greatest value, from the ranges of the operands
    bounds_of(x)    inequalities:   x = min(a, b)   says   x <= a  and  x <= b
    cases_of(x)     alternatives:   x = min(a, b)   is   a where a <= b,  b where b <= a

The integers of the program wrap, so a sum, difference or product has its form only
where that is within the type: by the ranges of what it is made of, or by a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from minifut.analysis.facts import proof
from minifut.analysis.facts.forms import (
    Fact,
    Form,
    Proof,
    Range,
    combine,
    difference,
    number,
    of_atom,
    product,
)
from minifut.ir import core
from minifut.ir.core import Constant, ScalarOp
from minifut.ir.sizes import Atom, Extreme, Quotient, Size
from minifut.ir.types import I64, ScalarType, element_of
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.analysis.facts.known import Facts

DEEPEST = 24
"""definitions within definitions that are looked at"""

Case: TypeAlias = tuple[
    tuple[Fact, ...], tuple[tuple[core.Atom, bool], ...], Form | core.Atom
]
"""facts and conditions that hold, and the value that the name has then"""


# --- forms ----------------------------------------------------------------------------


def form_of(facts: Facts, atom: core.Atom, depth: int = 0) -> Form:
    """An integer as a polynomial of names that are not made by a sum or product."""
    if isinstance(atom, Constant):
        return number(int(atom.value))
    found: tuple[Form, int | None] | None = facts.memo.get(atom)
    if found is not None and found[1] in (None, facts.version):
        return found[0]
    exp = facts.definition(atom)
    form = None if depth > DEEPEST else _expanded(facts, exp, depth + 1)
    if form is not None and not _fits(facts, atom, form):
        form = None
    if form is not None or exp is None:
        form = of_atom(atom) if form is None else form
        facts.put(facts.memo, atom, (form, None))
        return form
    if facts.proving < len(proof.MOST_STEPS):
        facts.put(facts.memo, atom, (of_atom(atom), facts.version))
    return of_atom(atom)


def form_of_size(facts: Facts, size: Size) -> Form:
    """A size with the forms of its names."""
    if not size.terms:
        return {}
    form: Form = {}
    for monomial, coefficient in size.terms:
        term = number(coefficient)
        for atom in monomial:
            inner = form_of(facts, atom) if isinstance(atom, Name) else of_atom(atom)
            term = product(term, inner)
        form = combine(form, 1, term, 1)
    return form


def if_positive(facts: Facts, form: Form) -> Form:
    """The form where it is known to be at least 1: max(n - 2, 0) is n - 2 there."""
    if len(form) != 1:
        return form
    ((monomial, coefficient),) = form.items()
    atom = monomial[0] if len(monomial) == 1 else None
    if not isinstance(atom, Extreme) or not atom.greatest or coefficient != 1:
        return form
    parts = [form_of_size(facts, operand) for operand in atom.operands]
    left = [part for part in parts if facts.range_of_form(part)[1] > 0]
    return left[0] if len(left) == 1 else form


def _expanded(facts: Facts, exp: object, depth: int) -> Form | None:
    match exp:
        case core.Copy(atom) if _integer(facts, atom):
            return form_of(facts, atom, depth)
        case core.SizeExp(size):
            return form_of_size(facts, size)
        case ScalarOp(operator, _) if operator.result.is_integer:
            rule = FORMS.get(operator.name)
            return rule(facts, exp, depth) if rule else None
    return None


def _sum(facts: Facts, exp: ScalarOp, depth: int) -> Form:
    sign = -1 if exp.operator.name == "sub" else 1
    left, right = (form_of(facts, operand, depth) for operand in exp.operands)
    return combine(left, 1, right, sign)


def _product(facts: Facts, exp: ScalarOp, depth: int) -> Form:
    left, right = (form_of(facts, operand, depth) for operand in exp.operands)
    return product(left, right)


def _negated(facts: Facts, exp: ScalarOp, depth: int) -> Form:
    return product(number(-1), form_of(facts, exp.operands[0], depth))


def _shifted(facts: Facts, exp: ScalarOp, depth: int) -> Form | None:
    by = exp.operands[1]
    if not isinstance(by, Constant) or not 0 <= by.value < exp.operator.result.bits:
        return None
    return product(form_of(facts, exp.operands[0], depth), number(1 << int(by.value)))


def _converted(facts: Facts, exp: ScalarOp, depth: int) -> Form | None:
    source = exp.operator.operands[0]
    return form_of(facts, exp.operands[0], depth) if source.is_integer else None


def remainder(facts: Facts, exp: ScalarOp) -> tuple[Proof, int] | None:
    """The multiple of the divisor, 0, 1 or -1 times it, from which a remainder of what
    is within the divisor of it is the distance."""
    left, right = _operands(facts, exp)
    for times in (0, 1) if exp.operator.name == "rem" else (0, 1, -1):
        rest = combine(left, 1, right, -times) if times else left
        low = proof.prove(facts, rest)
        if low is not None:
            high = proof.prove(facts, difference(right, rest, 1))
            if high is not None:
                return low + high, times
    return None


def _remainder(facts: Facts, exp: ScalarOp, depth: int) -> Form | None:
    found = remainder(facts, exp)
    if found is None:
        return None
    left, right = _operands(facts, exp)
    return combine(left, 1, right, -found[1]) if found[1] else left


FORMS: dict[str, Callable[[Facts, ScalarOp, int], Form | None]] = {
    "add": _sum,
    "sub": _sum,
    "mul": _product,
    "neg": _negated,
    "shl": _shifted,
    "convert": _converted,
    "mod": _remainder,
    "rem": _remainder,
}


def _fits(facts: Facts, name: Name, form: Form) -> bool:
    """Whether a form is within the type of the name, so that nothing wraps.

    What can only wrap once, at one end, does not where its sign is known to be that of
    the other end: n - k of a size n that turns out not to be negative."""
    least, most = type_range(facts.types.get(name, I64))
    low, high = facts.range_of_form(form)
    if least <= low and high <= most:
        return True
    span = most - least + 1
    known_low, known_high = facts.bounds.get(name, (least, most))
    if low >= least and high < known_low + span:
        return True
    if high <= most and low > known_high - span:
        return True
    return (
        low >= least or proof.prove(facts, difference(form, number(least))) is not None
    ) and (
        high <= most or proof.prove(facts, difference(number(most), form)) is not None
    )


def type_range(type_: object) -> Range:
    """The values of an integer type."""
    assert isinstance(type_, ScalarType)
    if not type_.is_integer:
        return (0, 1)
    if type_.kind == "uint":
        return 0, (1 << type_.bits) - 1
    return -(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1


def _integer(facts: Facts, atom: core.Atom) -> bool:
    type_ = atom.type if isinstance(atom, Constant) else facts.types.get(atom)
    return isinstance(type_, ScalarType) and type_.is_integer


# --- ranges ---------------------------------------------------------------------------


def range_of(facts: Facts, atom: Atom, depth: int = 0) -> Range:
    """The least and greatest value by definition."""
    key = ("range", atom)
    if key in facts.memo:
        found: Range = facts.memo[key]
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


def _range_of_name(facts: Facts, name: Name, depth: int) -> Range:
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


def _counts(facts: Facts, atom: core.Atom) -> bool:
    """Whether an atom is an integer or a truth value."""
    type_ = atom.type if isinstance(atom, Constant) else facts.types.get(atom, I64)
    return isinstance(type_, ScalarType) and not type_.is_float


def _operand_range(facts: Facts, atom: core.Atom, depth: int) -> Range:
    if isinstance(atom, Constant):
        return int(atom.value), int(atom.value)
    if element_of(facts.types.get(atom, I64)).kind == "bool":
        return (0, 1)
    bound = facts.bounds.get(atom)
    return bound if bound is not None else range_of(facts, atom, depth)


def _extreme(ranges: list[Range], greatest: bool) -> Range:
    pick = max if greatest else min
    return pick(low for low, _ in ranges), pick(high for _, high in ranges)


def _corners(a: Range, b: Range) -> Range:
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _modulo(a: Range, b: Range) -> Range | None:
    return (0, b[1] - 1) if b[0] > 0 else None


def _rest(a: Range, b: Range) -> Range | None:
    return (0, min(a[1], b[1] - 1)) if b[0] > 0 and a[0] >= 0 else None


def _floored(a: Range, b: Range) -> Range | None:
    if min(b) <= 0:  # a contradiction has its ends the wrong way round
        return None
    quotients = [x // y for x in a for y in b]
    return min(quotients), max(quotients)


def _shifted_right(a: Range, b: Range) -> Range | None:
    return (a[0] >> b[0], a[1] >> b[0]) if b[0] == b[1] and 0 <= b[0] < 64 else None


def _masked(a: Range, b: Range) -> Range | None:
    natural = [r for r in (a, b) if r[0] >= 0]
    return (0, min(high for _, high in natural)) if natural else None


def _joined(a: Range, b: Range) -> Range | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return 0, (1 << max(a[1], b[1]).bit_length()) - 1


RANGES: dict[str, Callable[..., Range | None]] = {
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
    "and": _masked,
    "or": _joined,
    "xor": _joined,
    "convert": lambda a: a,
    "popc": lambda a: (0, 64),
    "clz": lambda a: (0, 64),
    "ctz": lambda a: (0, 64),
    "sgn": lambda a: (-1, 1),
}
"""by the ranges of the operands; what is not within the type may have wrapped"""


# --- inequalities ---------------------------------------------------------------------


def bounds_of(facts: Facts, atom: Atom) -> list[Fact]:
    """What the definition of an atom says as inequalities."""
    match atom:
        case Extreme(operands, greatest):
            sign = 1 if greatest else -1
            parts = [form_of_size(facts, operand) for operand in operands]
            return [_by_definition(of_atom(atom), part, sign) for part in parts]
        case Quotient(dividend, divisor, up):
            a, b = form_of_size(facts, dividend), form_of_size(facts, divisor)
            return _quotient(facts, of_atom(atom), a, b, up)
        case Name():
            exp = facts.definition(atom)
            if isinstance(exp, ScalarOp) and exp.operator.result.is_integer:
                rule = BOUNDS.get(exp.operator.name)
                return rule(facts, atom, exp) if rule else []
    return []


def _by_definition(one: Form, other: Form, sign: int = 1, less: int = 0) -> Fact:
    """`sign * (one - other) - less >= 0`."""
    form = combine(one, sign, other, -sign)
    return Fact(difference(form, number(less)) if less else form, "by definition")


def _operands(facts: Facts, exp: ScalarOp) -> list[Form]:
    return [form_of(facts, operand) for operand in exp.operands]


def _extreme_bounds(facts: Facts, name: Name, exp: ScalarOp) -> list[Fact]:
    sign = 1 if exp.operator.name == "max" else -1
    return [_by_definition(of_atom(name), o, sign) for o in _operands(facts, exp)]


def _remainder_bounds(facts: Facts, name: Name, exp: ScalarOp) -> list[Fact]:
    a, b = _operands(facts, exp)
    if proof.prove(facts, difference(b, number(1))) is None:
        return []
    x = of_atom(name)
    above = proof.prove(facts, a) is not None
    if exp.operator.name == "rem" and not above:
        return []
    bounds = [_by_definition(x, number(0)), _by_definition(b, x, less=1)]
    return [*bounds, _by_definition(a, x)] if above else bounds


def _quotient_bounds(facts: Facts, name: Name, exp: ScalarOp) -> list[Fact]:
    a, b = _operands(facts, exp)
    if exp.operator.name == "quot" and proof.prove(facts, a) is None:
        return []
    return _quotient(facts, of_atom(name), a, b, up=False)


def _quotient(facts: Facts, x: Form, a: Form, b: Form, up: bool) -> list[Fact]:
    """x = a / b for a positive b: b * x <= a < b * x + b (or rounded up)."""
    if proof.prove(facts, difference(b, number(1))) is None:
        return []
    times = product(b, x)
    most = combine(combine(b, 1, times, 1), 1, number(1), -1)
    if up:
        bounds = [
            _by_definition(times, a),
            _by_definition(combine(a, 1, b, 1), times, less=1),
        ]
    else:
        bounds = [_by_definition(a, times), _by_definition(most, a)]
    if proof.prove(facts, a) is not None:
        bounds += [_by_definition(x, number(0)), _by_definition(a, x)]
    return bounds


def _shift_bounds(facts: Facts, name: Name, exp: ScalarOp) -> list[Fact]:
    value, by = exp.operands
    if not isinstance(by, Constant) or not 0 <= by.value < exp.operator.result.bits:
        return []
    a, b = form_of(facts, value), number(1 << int(by.value))
    return _quotient(facts, of_atom(name), a, b, up=False)


def _mask_bounds(facts: Facts, name: Name, exp: ScalarOp) -> list[Fact]:
    x, bounds = of_atom(name), []
    for operand in _operands(facts, exp):
        if proof.prove(facts, operand) is not None:
            bounds += [_by_definition(x, number(0)), _by_definition(operand, x)]
    return bounds


BOUNDS: dict[str, Callable[[Facts, Name, ScalarOp], list[Fact]]] = {
    "min": _extreme_bounds,
    "max": _extreme_bounds,
    "mod": _remainder_bounds,
    "rem": _remainder_bounds,
    "div": _quotient_bounds,
    "quot": _quotient_bounds,
    "shr": _shift_bounds,
    "and": _mask_bounds,
}


# --- alternatives ---------------------------------------------------------------------


def cases_of(facts: Facts, atom: Atom) -> list[Case]:
    """The values that an atom may have, each with what holds then."""
    match atom:
        case Extreme(operands, greatest):
            return _either([form_of_size(facts, o) for o in operands], greatest)
        case Name():
            exp, position = facts.definitions.get(atom, (None, 0))
            match exp:
                case core.If(condition, then, otherwise):
                    return [
                        ((), ((condition, truth),), body.result[position])
                        for truth, body in ((True, then), (False, otherwise))
                    ]
                case ScalarOp(operator, _) if operator.name in ("min", "max"):
                    return _either(_operands(facts, exp), operator.name == "max")
    return []


def _either(parts: list[Form], greatest: bool) -> list[Case]:
    sign = 1 if greatest else -1
    cases: list[Case] = []
    for position, part in enumerate(parts):
        others = [other for at, other in enumerate(parts) if at != position]
        known = tuple(
            Fact(combine(part, sign, other, -sign), "one case") for other in others
        )
        cases.append((known, (), part))
    return cases
