"""Proofs: a goal `form >= 0` is reduced by facts until it is plain.

    n - 1 - i >= 0      by   n - 2 - i >= 0      remains   1 >= 0

The newest name of the goal is eliminated with each fact that bounds it on the right
side (a Fourier-Motzkin step); of what has several possible values (a minimum, a branch)
each is tried in its case. A goal is plain when it holds for the ranges of its names
alone. The steps of one query are bounded: what is not found soon is not proved.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from minifut.analysis.facts import meaning
from minifut.analysis.facts.forms import (
    CONSTANT,
    Fact,
    Form,
    Proof,
    atoms_of,
    combine,
    constant_of,
    difference,
    number,
    product,
    split,
    tightened,
)
from minifut.ir import core
from minifut.ir.core import Constant, ScalarOp
from minifut.ir.sizes import SizeFactor
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.analysis.facts.known import Facts

MOST_STEPS = (48, 8)
"""goals examined for one query, and for one within a proof"""
DEEPEST = 7
"""eliminations in a row"""
MOST_CASES = 6
"""names of which each alternative is tried, for one query"""
MOST_TERMS = 10
MOST_FACTS = 24
"""facts about one name that are examined: the newest, and the first, which are those
of its definition; a long body has a check for each of its indices"""


def prove(facts: Facts, goal: Form, most: int = MOST_STEPS[0]) -> Proof | None:
    """The facts by which the form is never negative, found in at most so many steps;
    None: not proved, which is kept until a fact is added."""
    goal = tightened(goal)
    if facts.range_of_form(goal)[0] >= 0:
        return ()
    if facts.proving == len(MOST_STEPS):
        return None
    steps = min(most, MOST_STEPS[facts.proving])
    key = "refused", steps, frozenset(goal.items())
    if facts.memo.get(key) == facts.version:
        return None
    search = _Search(facts, steps)
    facts.proving += 1
    try:
        shown = search.shows(goal, DEEPEST)
    finally:
        facts.proving -= 1
    if not shown:
        facts.put(facts.memo, key, facts.version)
    return tuple(search.used) if shown else None


class _Search:
    def __init__(self, facts: Facts, steps: int) -> None:
        self.facts = facts
        self.used: list[Fact] = []
        self.steps, self.least = steps, -steps
        self.cases = MOST_CASES
        self.seen: set[frozenset[tuple[object, int]]] = set()

    def shows(self, goal: Form, depth: int) -> bool:
        goal = tightened(goal)
        known = constant_of(goal)
        if known is not None:
            return known >= 0
        if self.facts.range_of_form(goal)[0] >= 0:
            return True
        self.steps -= 1
        key = frozenset(goal.items())
        if depth == 0 or self.steps < 0 or key in self.seen or len(goal) > MOST_TERMS:
            return False
        self.seen.add(key)
        atom = max(atoms_of(goal), key=self.age)
        parts = split(goal, atom)
        if parts is None:
            return False
        slope, rest = parts
        sign = self.sign_of(slope)
        if sign == 0:
            return False
        bounds = [
            (fact, bound)
            for fact in self.bounds_on(atom)
            if (bound := self.bound_from(fact, atom, sign)) is not None
        ]
        if not bounds:
            end = self.facts.range_of_atom(atom)[0 if sign > 0 else 1]
            if self.shows(combine(product(slope, number(end)), 1, rest, 1), depth - 1):
                return True
        for fact, bound in bounds:
            if self.steps < self.least:
                return False
            if self.by_fact(fact, bound, slope, rest, sign, depth):
                return True
        return self.by_cases(atom, slope, rest, depth)

    def age(self, atom: SizeFactor) -> int:
        """Greater for what was defined later; most for what is no name."""
        order = self.facts.order
        return order.get(atom, -1) if isinstance(atom, Name) else len(order)

    def bounds_on(self, atom: SizeFactor) -> list[Fact]:
        known = self.facts.about.get(atom, [])
        made = self.facts.remembered("bounds", atom, meaning.bounds_of)
        if len(known) > MOST_FACTS:
            half = MOST_FACTS // 2
            known = [*known[:half], *known[-half:]]
        return [*made, *reversed(known)]

    def sign_of(self, slope: Form) -> int:
        """1 or -1 if the slope never has the other sign; 0 if that is not plain."""
        low, high = self.facts.range_of_form(slope)
        return 1 if low >= 0 else -1 if high <= 0 else 0

    def bound_from(
        self, fact: Fact, atom: SizeFactor, sign: int
    ) -> tuple[Form, Form] | None:
        """The factor of the atom in a fact that bounds it on that side, positive, and
        what else the fact says."""
        parts = split(fact.form, atom)
        if parts is None or not parts[0]:
            return None
        by = parts[0] if sign > 0 else product(number(-1), parts[0])
        least = constant_of(by)
        if least is None:
            least = self.facts.range_of_form(by)[0]
        return (by, parts[1]) if least > 0 else None

    def by_fact(
        self,
        fact: Fact,
        bound: tuple[Form, Form],
        slope: Form,
        rest: Form,
        sign: int,
        depth: int,
    ) -> bool:
        """The atom at its bound by a fact: what remains is a goal of its own.

        A goal of integers that fails is at most -1, so with a fact on `by` times the
        atom what remains may fall short by `by` - 1: k q <= i < k h says q < h.
        """
        by, others = bound
        left = combine(product(slope, others), -sign, product(by, rest), 1)
        left = combine(left, 1, difference(by, number(1)), 1)
        mark = len(self.used)
        self.used.append(fact)
        if self.shows(left, depth - 1):
            return True
        del self.used[mark:]
        return False

    def by_cases(self, atom: SizeFactor, slope: Form, rest: Form, depth: int) -> bool:
        """Each alternative for the atom, with what holds in it."""
        cases = self.facts.remembered("cases", atom, meaning.cases_of)
        if not cases or self.cases == 0 or self.facts.proving > 1:
            return False
        self.cases -= 1
        mark = len(self.used)
        for known, conditions, value in cases:
            with self.facts.inner():
                for fact in known:
                    self.facts.learn(fact)
                for condition, truth in conditions:
                    self.facts.assume(condition, truth, "one branch")
                form = value if isinstance(value, dict) else self.facts.form(value)
                goal = combine(product(slope, form), 1, rest, 1)
                saved, self.seen = self.seen, set()
                shown = self.shows(goal, depth - 1)
                self.seen = saved
            if not shown:
                del self.used[mark:]
                return False
        return True


# --- conditions -----------------------------------------------------------------------


def holds(
    facts: Facts, condition: core.Atom, truth: bool = True, depth: int = 12
) -> Proof | None:
    """The facts by which a condition is true (or false)."""
    if isinstance(condition, Constant):
        return () if condition.value is truth else None
    known = facts.truths.get(condition)
    if known is not None:
        text = f"{condition} is {str(truth).lower()}"
        return (Fact({}, text),) if known is truth else None
    exp = facts.definition(condition)
    if not isinstance(exp, ScalarOp) or depth == 0:
        return None
    name, operands = exp.operator.name, exp.operands
    if name == "not":
        return holds(facts, operands[0], not truth, depth - 1)
    if name in ("and", "or") and exp.operator.operands[0].kind == "bool":
        proofs = (holds(facts, operand, truth, depth - 1) for operand in operands)
        if (name == "and") is truth:
            return _all(proofs)
        found = next((p for p in proofs if p is not None), None)
        if found is not None:
            return found
        return _otherwise(facts, operands, truth, depth - 1)
    return _compared(facts, exp, truth) if name in COMPARISONS else None


def _otherwise(
    facts: Facts, operands: tuple[core.Atom, ...], truth: bool, depth: int
) -> Proof | None:
    """One operand has the truth value, by what holds if the other has not."""
    with facts.inner():
        facts.assume(operands[0], not truth, "otherwise")
        return holds(facts, operands[1], truth, depth)


def _all(proofs: Iterable[Proof | None]) -> Proof | None:
    used: Proof = ()
    for one in proofs:
        if one is None:
            return None
        used += one
    return used


COMPARISONS = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
"""with their opposites"""


def _compared(facts: Facts, exp: ScalarOp, truth: bool) -> Proof | None:
    if not exp.operator.operands[0].is_integer:
        return None
    name = exp.operator.name if truth else COMPARISONS[exp.operator.name]
    left, right = (meaning.form_of(facts, operand) for operand in exp.operands)
    up, down = difference(right, left), difference(left, right)
    match name:
        case "le":
            return prove(facts, up)
        case "lt":
            return prove(facts, _less(up))
        case "ge":
            return prove(facts, down)
        case "gt":
            return prove(facts, _less(down))
        case "eq":
            return _all(prove(facts, form) for form in (up, down))
    either = (prove(facts, _less(form)) for form in (up, down))
    return next((p for p in either if p is not None), None)


def _less(form: Form) -> Form:
    return combine(form, 1, {CONSTANT: 1}, -1)
