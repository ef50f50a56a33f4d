"""What the definition of a name says of its value.

    form_of(x)      x as a polynomial of older names, as far as nothing wraps
    bounds_of(x)    inequalities:   x = min(a, b)   says   x <= a  and  x <= b
    cases_of(x)     alternatives:   x = min(a, b)   is   a where a <= b,  b where b <= a

The integers of the program wrap, so a sum, difference or product has its form only
where that is within the type: by the ranges of what it is made of, or by a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from minifut.analysis.facts import proof
from minifut.analysis.facts.floats import ceilings_of, never_negative
from minifut.analysis.facts.forms import (
    Fact,
    Form,
    Proof,
    atoms_of,
    combine,
    difference,
    number,
    of_atom,
    product,
    type_range,
)
from minifut.ir import core
from minifut.ir.core import Constant, ScalarOp
from minifut.ir.sizes import Extreme, Quotient, Size, SizeFactor
from minifut.ir.types import I64, ScalarType
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.analysis.facts.known import Facts

DEEPEST = 24
"""definitions within definitions that are examined"""

ConditionalForm: TypeAlias = tuple[
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
        facts.put(facts.memo, atom, (of_atom(atom) if form is None else form, None))
        if form is None:
            return of_atom(atom)
        facts.restate(atom, form)
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
        case core.If(Constant(value), then, otherwise):
            taken = (then if value else otherwise).result[0]
            return form_of(facts, taken, depth) if _integer(facts, taken) else None
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


def _magnitude(facts: Facts, exp: ScalarOp, depth: int) -> Form | None:
    form = form_of(facts, exp.operands[0], depth)
    return form if proof.prove(facts, form) is not None else None


FORMS: dict[str, Callable[[Facts, ScalarOp, int], Form | None]] = {
    "add": _sum,
    "sub": _sum,
    "mul": _product,
    "neg": _negated,
    "shl": _shifted,
    "convert": _converted,
    "mod": _remainder,
    "rem": _remainder,
    "abs": _magnitude,
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


def _integer(facts: Facts, atom: core.Atom) -> bool:
    type_ = atom.type if isinstance(atom, Constant) else facts.types.get(atom)
    return isinstance(type_, ScalarType) and type_.is_integer


# --- inequalities ---------------------------------------------------------------------


def bounds_of(facts: Facts, atom: SizeFactor) -> list[Fact]:
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


def of_positive(facts: Facts, form: Form, origin: str) -> Iterator[Fact]:
    """What follows if a form is at least 1: of n / 2 points there is one, so that n is
    at least 2; of n * m, so that m, if it is no less than 0, is no 0 and divides."""
    for atom in atoms_of(form):
        exp = facts.definition(atom) if isinstance(atom, Name) else None
        if isinstance(atom, Quotient) or (
            isinstance(exp, ScalarOp) and exp.operator.name in ("div", "quot")
        ):
            yield from bounds_of(facts, atom)
    for monomial in form if len(form) == 1 else ():
        for atom in monomial if len(monomial) > 1 else ():
            if facts.range_of_atom(atom)[0] == 0:
                yield Fact(difference(of_atom(atom), number(1)), origin)


def _by_definition(one: Form, other: Form, sign: int = 1, less: int = 0) -> Fact:
    """`sign * (one - other) - less >= 0`."""
    form = combine(one, sign, other, -sign)
    return Fact(difference(form, number(less)) if less else form, "by definition")


def _operands(facts: Facts, exp: ScalarOp) -> list[Form]:
    return [form_of(facts, operand) for operand in exp.operands]


def _candidates(facts: Facts, exp: ScalarOp) -> list[Form]:
    """What a minimum, a maximum or an absolute value is the least or greatest of."""
    forms = _operands(facts, exp)
    if exp.operator.name != "abs":
        return forms
    least = facts.range_of_form(forms[0])[0]
    wraps = least <= type_range(exp.operator.result)[0]
    return [] if wraps else [forms[0], product(number(-1), forms[0])]


def _extreme_bounds(facts: Facts, name: Name, exp: ScalarOp) -> list[Fact]:
    sign = -1 if exp.operator.name == "min" else 1
    return [_by_definition(of_atom(name), o, sign) for o in _candidates(facts, exp)]


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
    x, a = of_atom(name), form_of(facts, value)
    if isinstance(by, Constant) and 0 <= by.value < exp.operator.result.bits:
        return _quotient(facts, x, a, number(1 << int(by.value)), up=False)
    if proof.prove(facts, a) is None:
        return []
    return [_by_definition(x, number(0)), _by_definition(a, x)]


def _mask_bounds(facts: Facts, name: Name, exp: ScalarOp) -> list[Fact]:
    x, bounds = of_atom(name), []
    for operand in _operands(facts, exp):
        if proof.prove(facts, operand) is not None:
            bounds += [_by_definition(x, number(0)), _by_definition(operand, x)]
    return bounds


def _converted_bounds(facts: Facts, name: Name, exp: ScalarOp) -> list[Fact]:
    """What is no less than 0 loses high bits only."""
    (operand,), x = exp.operands, of_atom(name)
    if exp.operator.operands[0].is_float:
        if not never_negative(facts, operand):
            return []
        bounds = [_by_definition(x, number(0))]
        ceilings = ceilings_of(facts, exp)
        if len(ceilings) == 1:
            most = form_of(facts, ceilings[0].number)
            if facts.range_of_form(most)[1] <= ceilings[0].exact:
                bounds.append(_by_definition(most, x))
        return bounds
    if not exp.operator.operands[0].is_integer:
        return []
    a = form_of(facts, operand)
    return [_by_definition(a, x)] if proof.prove(facts, a) is not None else []


BOUNDS: dict[str, Callable[[Facts, Name, ScalarOp], list[Fact]]] = {
    "min": _extreme_bounds,
    "max": _extreme_bounds,
    "abs": _extreme_bounds,
    "mod": _remainder_bounds,
    "rem": _remainder_bounds,
    "div": _quotient_bounds,
    "quot": _quotient_bounds,
    "shr": _shift_bounds,
    "and": _mask_bounds,
    "convert": _converted_bounds,
}


# --- alternatives ---------------------------------------------------------------------


def cases_of(facts: Facts, atom: SizeFactor) -> list[ConditionalForm]:
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
                case ScalarOp(operator, _) if operator.name in ("min", "max", "abs"):
                    return _either(_candidates(facts, exp), operator.name != "min")
    return []


def _either(parts: list[Form], greatest: bool) -> list[ConditionalForm]:
    sign = 1 if greatest else -1
    cases: list[ConditionalForm] = []
    for position, part in enumerate(parts):
        others = [other for at, other in enumerate(parts) if at != position]
        known = tuple(
            Fact(combine(part, sign, other, -sign), "one case") for other in others
        )
        cases.append((known, (), part))
    return cases


def parts_of_branch(exp: object, truth: bool) -> list[tuple[core.Atom, bool]]:
    """What holds where a branch has the given truth that one side alone can have: of
    `a && b`, which is `if a then b else false`, both parts if it is true."""
    if not isinstance(exp, core.If):
        return []
    sides = (True, exp.then.result[0]), (False, exp.otherwise.result[0])
    for (_, other), (taken, result) in (sides, sides[::-1]):
        if isinstance(other, Constant) and bool(other.value) != truth:
            return [(exp.condition, taken), (result, truth)]
    return []
