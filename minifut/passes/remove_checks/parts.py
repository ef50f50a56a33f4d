"""What is left to test of a check, of which parts are proved.

    x <= min(a, b)                     x <= b, where x <= a is proved
    i64.f64 (max 0 (min n' y)) < m     0 < m, where n < m is proved (n' = f64.i64 n)
    i64.f32 (max 0 (min n' y)) < m     0 < m && n <= 2^24 || ..

Often what is left is the same at all points of a map, so that it is tested once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from minifut.analysis.facts import Facts, Proof
from minifut.analysis.facts.floats import ceilings_of
from minifut.ir.builder import Builder, i64
from minifut.ir.core import Atom, ScalarOp
from minifut.ir.node import immutable
from minifut.ir.scalars import operator
from minifut.ir.types import I64


@immutable
class Sufficient:
    """The condition need not be tested where all these tests are true."""

    tests: tuple[ScalarOp, ...]
    condition: Atom


Test: TypeAlias = Atom | ScalarOp | Sufficient


def conjuncts(facts: Facts, condition: Atom) -> list[Atom]:
    """The conditions that must all hold for this one to hold."""
    exp = facts.definition(condition)
    if isinstance(exp, ScalarOp) and str(exp.operator) == "and_bool":
        return [part for o in exp.operands for part in conjuncts(facts, o)]
    return [condition]


def rest_of(
    facts: Facts, condition: Atom, is_shared: Callable[[Atom], bool]
) -> tuple[list[Test], list[Proof]] | None:
    """What is left to test of a comparison, and what proves the rest; None if it is as
    it was. Tests that are but sufficient are of what all points share."""
    exp = facts.definition(condition)
    if not isinstance(exp, ScalarOp) or exp.operator.name not in ("le", "lt"):
        return None
    if not exp.operator.operands[0].is_integer:
        return None
    less, more = exp.operands
    above, below = facts.definition(more), facts.definition(less)
    pairs: list[tuple[Atom, Atom]] = []
    if isinstance(above, ScalarOp) and above.operator.name == "min":
        pairs = [(less, operand) for operand in above.operands]
    elif isinstance(below, ScalarOp) and below.operator.name == "max":
        pairs = [(operand, more) for operand in below.operands]
    else:
        return _of_converted(facts, condition, exp, is_shared)
    shown = [_compare(facts, exp, *pair) for pair in pairs]
    proofs = [found for found in shown if found is not None]
    tests = zip(pairs, shown, strict=True)
    left: list[Test] = [ScalarOp(exp.operator, p) for p, s in tests if s is None]
    return (left, proofs) if proofs else None


def _compare(facts: Facts, exp: ScalarOp, less: Atom, more: Atom) -> Proof | None:
    compare = facts.below if exp.operator.name == "lt" else facts.at_most
    return compare(less, more)


def _of_converted(
    facts: Facts, condition: Atom, exp: ScalarOp, is_shared: Callable[[Atom], bool]
) -> tuple[list[Test], list[Proof]] | None:
    """What is left of a comparison of a float that was clamped and converted."""
    less, more = exp.operands
    ceilings = ceilings_of(facts, facts.definition(less))
    if not ceilings:
        return None
    left: list[ScalarOp] = []
    proofs: list[Proof] = []
    is_all = True
    for each in ceilings:
        if facts.range_of_form(facts.form(each.number))[1] > each.exact:
            exact = ScalarOp(operator("le", I64), (each.number, i64(each.exact)))
            left, is_all = [*left, exact], False
        shown = _compare(facts, exp, each.number, more)
        if shown is None:
            left.append(ScalarOp(exp.operator, (each.number, more)))
            is_all = is_all and each.is_reached
        else:
            proofs.append(shown)
    if is_all:
        return (list(left), proofs) if proofs else None
    if not all(is_shared(operand) for test in left for operand in test.operands):
        return None
    return [Sufficient(tuple(left), condition)], proofs


def named(build: Builder, test: Test) -> Atom:
    """The condition that a test is, named."""
    if isinstance(test, ScalarOp):
        return build.let(test, "inside")
    if not isinstance(test, Sufficient):
        return test
    enough = build.all_of([build.let(part, "inside") for part in test.tests], "enough")
    return build.op("or", enough, test.condition, base="inside")
