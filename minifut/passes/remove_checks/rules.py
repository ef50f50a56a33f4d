"""Rules that ask the facts of a place; see `remove_checks`.

A rule is a function `rule(site, statement)` that answers with the statements in place
of the one that it got, and the proof why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from minifut.analysis.facts import Facts, Proof
from minifut.ir.builder import Builder
from minifut.ir.core import Assert, Atom, Constant, Copy, If, ScalarOp, Stm
from minifut.ir.node import replace
from minifut.ir.scalars import operator
from minifut.ir.types import BOOL
from minifut.rewrite.rule import REGISTRY, Declined, NamedRule, Outcome, rule
from minifut.rewrite.rule import Site as RewriteSite


@dataclass(frozen=True, slots=True)
class Site:
    """Where a statement stands: `build` makes what comes before it."""

    build: Builder
    facts: Facts


@dataclass(frozen=True, slots=True)
class Proved:
    """The statements in place of one, and the facts by which they mean the same."""

    statements: tuple[Stm, ...]
    proof: Proof


Answer: TypeAlias = Proved | Declined | None
FactRule: TypeAlias = Callable[[Site, Stm], Answer]


def fact_rule(function: FactRule) -> FactRule:
    """Enters a function into the registry of rules; it stays what the driver calls.

    Where a rule stands alone, only definitions, the sizes of arrays and the types of
    what is in scope are known."""

    def rewrite(statement: Stm, site: RewriteSite) -> Outcome:
        facts = Facts(site.scope)
        for name, made in site.definitions.items():
            if made.pattern and made.pattern[0].name == name:
                facts.define(made)
        answer = function(Site(site.builder(statement), facts), statement)
        return answer.statements if isinstance(answer, Proved) else answer

    rewrite.__doc__ = function.__doc__
    rewrite.__module__ = function.__module__
    rule(function.__name__)(rewrite)
    return function


def registered(function: FactRule) -> NamedRule:
    """The rule as the trace knows it."""
    return REGISTRY[function.__name__]


REMOVE_PROVED_CHECK_REFUSED = Declined("no part of the condition is proved")


@fact_rule
def remove_proved_check(site: Site, statement: Stm) -> Answer:
    """A check that what is known implies, or its parts that are implied.

    before:
        given (i: i64)
        let k: i64 = max_i64(0i64, i)
        let natural: bool = le_i64(0i64, k)
        let () = assert(natural, ["negative"], [])
    after:
        let k: i64 = max_i64(0i64, i)
        let natural: bool = le_i64(0i64, k)
    before:
        given (i: i64)
        let k: i64 = max_i64(0i64, i)
        let natural: bool = le_i64(0i64, k)
        let none: i64 = xor_i64(i, i)
        let zero: bool = eq_i64(none, 0i64)
        let both: bool = and_bool(natural, zero)
        let () = assert(both, ["outside"], [])
    after:
        let k: i64 = max_i64(0i64, i)
        let natural: bool = le_i64(0i64, k)
        let none: i64 = xor_i64(i, i)
        let zero: bool = eq_i64(none, 0i64)
        let both: bool = and_bool(natural, zero)
        let () = assert(zero, ["outside"], [])
    declines: no part of the condition is proved
        given (i: i64)
        let natural: bool = le_i64(0i64, i)
        let () = assert(natural, ["negative"], [])
    """
    exp = statement.exp
    if not isinstance(exp, Assert):
        return None
    proof: list[Proof] = []
    parts = _conjuncts(site.facts, exp.condition)
    left: list[Atom] = []
    for part in parts:
        shown = site.facts.holds(part)
        if shown is None:
            left.append(part)
        else:
            proof.append(shown)
    used = tuple(fact for shown in proof for fact in shown)
    if not left:
        return Proved((), used)
    if len(left) == len(parts):
        return REMOVE_PROVED_CHECK_REFUSED
    condition = left[0]
    for part in left[1:]:
        both = ScalarOp(operator("and", BOOL), (condition, part))
        condition = site.build.let(both, "inside")
    check = replace(statement, exp=replace(exp, condition=condition))
    return Proved((*site.build.statements, check), used)


def _conjuncts(facts: Facts, condition: Atom) -> list[Atom]:
    exp = facts.definition(condition)
    if isinstance(exp, ScalarOp) and str(exp.operator) == "and_bool":
        return [part for o in exp.operands for part in _conjuncts(facts, o)]
    return [condition]


DECIDE_BRANCH_REFUSED = Declined("neither branch is proved to be taken")


@fact_rule
def decide_branch(site: Site, statement: Stm) -> Answer:
    """A branch that is always taken, or never.

    before:
        given (i: i64, x: i32, y: i32)
        let k: i64 = max_i64(1i64, i)
        let first: bool = eq_i64(k, 0i64)
        let z: i32 = if first then {x} else {y}
    after:
        let k: i64 = max_i64(1i64, i)
        let first: bool = eq_i64(k, 0i64)
        let z: i32 = if false then {x} else {y}
    declines: neither branch is proved to be taken
        given (i: i64, x: i32, y: i32)
        let first: bool = eq_i64(i, 0i64)
        let z: i32 = if first then {x} else {y}
    """
    exp = statement.exp
    if not isinstance(exp, If) or isinstance(exp.condition, Constant):
        return None
    for truth in (True, False):
        proof = site.facts.holds(exp.condition, truth)
        if proof is not None:
            decided = replace(exp, condition=Constant(truth, BOOL))
            return Proved((replace(statement, exp=decided),), proof)
    return DECIDE_BRANCH_REFUSED


DROP_REMAINDER_REFUSED = Declined("the number may be outside of the divisor")


@fact_rule
def drop_remainder(site: Site, statement: Stm) -> Answer:
    """A remainder of what is at least zero and below the divisor.

    before:
        given (i: i64)
        let k: i64 = and_i64(i, 7i64)
        let r: i64 = mod_i64(k, 8i64)
    after:
        let k: i64 = and_i64(i, 7i64)
        let r: i64 = k
    declines: the number may be outside of the divisor
        given (i: i64)
        let r: i64 = mod_i64(i, 8i64)
    """
    exp = statement.exp
    if not _is_integer(exp, ("mod", "rem")):
        return None
    number, divisor = exp.operands
    low, high = site.facts.natural_atom(number), site.facts.below(number, divisor)
    if low is None or high is None:
        return DROP_REMAINDER_REFUSED
    return Proved((replace(statement, exp=Copy(number)),), low + high)


DROP_CLAMP_REFUSED = Declined("either number may be taken")


@fact_rule
def drop_clamp(site: Site, statement: Stm) -> Answer:
    """A minimum or maximum that is always the same operand.

    before:
        given (i: i64)
        let k: i64 = and_i64(i, 7i64)
        let c: i64 = max_i64(0i64, k)
    after:
        let k: i64 = and_i64(i, 7i64)
        let c: i64 = k
    declines: either number may be taken
        given (i: i64)
        let c: i64 = max_i64(0i64, i)
    """
    exp = statement.exp
    if not _is_integer(exp, ("min", "max")):
        return None
    left, right = exp.operands
    smaller = exp.operator.name == "min"
    for one, other in ((left, right), (right, left)):
        less, more = (one, other) if smaller else (other, one)
        proof = site.facts.at_most(less, more)
        if proof is not None:
            return Proved((replace(statement, exp=Copy(one)),), proof)
    return DROP_CLAMP_REFUSED


def _is_integer(exp: object, names: tuple[str, ...]) -> TypeGuard[ScalarOp]:
    return (
        isinstance(exp, ScalarOp)
        and exp.operator.name in names
        and exp.operator.result.is_integer
    )


RULES: dict[type, tuple[FactRule, ...]] = {
    Assert: (remove_proved_check,),
    If: (decide_branch,),
    ScalarOp: (drop_remainder, drop_clamp),
}
ASKED = frozenset({"mod", "rem", "min", "max"})
"""operators for which there is a rule"""
