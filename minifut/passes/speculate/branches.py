"""The rule for branches that read elements; see the package."""

from __future__ import annotations

from typing import Any

from minifut.analysis.facts import Facts
from minifut.analysis.facts.forms import Form, difference
from minifut.ir.core import Body, Constant, DimSlice, If, Index, ScalarOp, Stm
from minifut.ir.node import replace
from minifut.ir.scalar_table import OperatorCost
from minifut.ir.scalars import operator_cost
from minifut.ir.types import BOOL, I64, ArrayType, ScalarType
from minifut.names import Name
from minifut.passes.remove_checks.rules import FactContext
from minifut.rewrite.rule import Declined, Outcome, rule

LONGEST, MOST_ELEMENTS = 40, 12
"""statements of a side that is cheaper than a branch that is mispredicted, and elements
that it reads"""
LONGEST_TEST = 16
"""statements that compute a truth value from what is known, which a branch costs if its
condition is mispredicted once in two or three points"""
LONGEST_IN_VECTORS, MOST_IN_VECTORS = 160, 16
"""of one that is cheaper than a branch that is predicted, for 16 points at once"""
NOT_KNOWN = Declined("an element may not exist, or is at a place that depends on data")


@rule(If, paper="Allen, Kennedy, Porterfield, Warren (POPL'83)")
def speculate_branch(statement: Stm, context: FactContext) -> Outcome:
    """Compute both sides of a branch before it.

    before:
        given (k: i64, c: bool, xs: [9]i32)
        let i: i64 = and_i64(k, 7i64)
        let y: i32 = if c then {
          let j: i64 = add_i64(i, 1i64)
          let x: i32 = xs[j]
          return x
        } else {0i32}
    after:
        let i: i64 = and_i64(k, 7i64)
        let j: i64 = add_i64(i, 1i64)
        let x: i32 = xs[j]
        let y: i32 = if c then {x} else {0i32}
    declines: an element may not exist, or is at a place that depends on data
        like before, with
        and_i64 => add_i64
    declines: a side is not cheap scalar code that can always be computed
        like before, with
        return x => return quot_i32(x, x)
    before:
        given (c: bool, a: i32, b: i32)
        let y: bool = if c then {lt_i32(a, b)} else {false}
    after:
        let z: bool = lt_i32(a, b)
        let y: bool = if c then {z} else {false}
    declines: no side reads elements, and it is no `&&` or `||` of few comparisons
        given (c: bool, a: i32, b: i32)
        let y: i32 = if c then {add_i32(a, b)} else {b}
    """
    exp = statement.exp_of(If)
    sides = (exp.then, exp.otherwise)
    reason = reason_to_jump(exp)
    if reason is not None:
        return Declined(reason)
    if not all(elements_exist(side, context) for side in sides):
        return NOT_KNOWN
    chosen = [replace(side, statements=()) for side in sides]
    made = replace(statement, exp=replace(exp, then=chosen[0], otherwise=chosen[1]))
    return (*exp.then.statements, *exp.otherwise.statements, made)


def is_short_branch(node: Any) -> bool:
    return isinstance(node, If) and reason_to_jump(node) is None


def reason_to_jump(exp: If) -> str | None:
    """Why not to compute both sides, whatever the facts are."""
    sides = (exp.then, exp.otherwise)
    reads = any(isinstance(s.exp, Index) for side in sides for s in side.statements)
    if not (reads or _is_test(exp)):
        return "no side reads elements, and it is no `&&` or `||` of few comparisons"
    if _exceeds(exp, LONGEST_IN_VECTORS, MOST_IN_VECTORS):
        return "a side is longer than a branch costs"
    if not all(map(is_plain, (s for side in sides for s in side.statements))):
        return "a side is not cheap scalar code that can always be computed"
    return None


def _is_test(exp: If) -> bool:
    """Whether it is `c && x` or `c || x`, where `x` is computed by few statements."""
    sides = (exp.then, exp.otherwise)
    return 0 < sum(len(side.statements) for side in sides) <= LONGEST_TEST and any(
        isinstance(atom, Constant) and atom.type == BOOL
        for side in sides
        for atom in (side.result if len(side.result) == 1 else ())
    )


def pays(exp: If, in_vectors: bool) -> bool:
    """Whether both sides take less time than a branch; points may be in vectors. What
    is as wide as 64 bits halves these, but integers that are not read are positions."""
    if not _exceeds(exp, LONGEST, MOST_ELEMENTS):
        return True
    kinds = {
        p.type
        for side in (exp.then, exp.otherwise)
        for s in side.statements
        for p in s.pattern
        if isinstance(p.type, ScalarType)
        and (p.type != I64 or isinstance(s.exp, Index))
    }
    lanes = min((8 if kind.bits == 64 else 16 for kind in kinds), default=0)
    longest = LONGEST_IN_VECTORS * lanes // 16
    return (
        in_vectors and I64 not in kinds and not _exceeds(exp, longest, MOST_IN_VECTORS)
    )


def _exceeds(exp: If, longest: int, most: int) -> bool:
    return any(
        len(side.statements) > longest
        or sum(isinstance(s.exp, Index) for s in side.statements) > most
        for side in (exp.then, exp.otherwise)
    )


def is_plain(statement: Stm) -> bool:
    exp = statement.exp
    scalars = all(isinstance(p.type, ScalarType) for p in statement.pattern)
    if isinstance(exp, If):
        return scalars and not (exp.then.statements or exp.otherwise.statements)
    if isinstance(exp, ScalarOp):
        return operator_cost(exp.operator) is OperatorCost.ADDITION
    return scalars and isinstance(exp, Index)


def elements_exist(side: Body, context: FactContext) -> bool:
    """Whether all elements that a side reads exist, whatever the condition is."""
    facts = context.facts
    with facts.inner():
        for statement in side.statements:
            exp = statement.exp
            if isinstance(exp, Index):
                type_ = context.scope[exp.array]
                assert isinstance(type_, ArrayType)
                for place, size in zip(exp.slice, type_.shape, strict=False):
                    if isinstance(place, DimSlice):
                        return False
                    if not _is_within(facts, facts.form(place), facts.form(size)):
                        return False
            facts.execute(statement)
    return True


def _is_within(facts: Facts, at: Form, width: Form) -> bool:
    """Whether a place that depends on positions alone is within a dimension."""
    atoms = (a for monomial in at for a in monomial if isinstance(a, Name))
    if any(isinstance(facts.definition(atom), Index) for atom in atoms):
        return False
    limits = (at, difference(width, at, 1))
    return all(facts.proves(limit) is not None for limit in limits)
