r"""Pass: short branches in functions of SOACs compute both sides where all elements
exist that these read.

    map (\i -> if flags[i] then xs[i - 1] else 0) (1..<n)
  →
    map (\i -> let x = xs[i - 1] in if flags[i] then x else 0) (1..<n)

What is left of the branch is a select: points are vectors then, and no branch has to be
predicted by a condition on data. By the facts of the place, without the condition, all
indices are within their dimensions; they depend on positions alone, so what is read
more is beside what is read anyway.

Conditions: both sides are scalar code of cheap operators, which cannot trap, with at
most `LONGEST` statements and `MOST_ELEMENTS` elements; the condition is computed for
each point: by one that is the same for a row, a processor jumps for the whole row.

    map (\j -> if i == j then 0 else sum (map2 (*) xs ys[j])) (iota n)
  →
    map (\j -> let s = sum (map2 (*) xs ys[j]) in if i == j then 0 else s) (iota n)

A fold that all points but one need is computed for that one as well: it is one of a
perfect nest then, which may be tiled as the product of matrices that it is.

Source: Allen, Kennedy, Porterfield and Warren, "Conversion of control dependence to
data dependence" (POPL'83).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minifut.analysis.facts import Facts
from minifut.analysis.facts.forms import Form, difference
from minifut.ir.core import (
    Body,
    DimSlice,
    If,
    Index,
    Iota,
    Lambda,
    Loop,
    Program,
    ScalarOp,
    Stm,
)
from minifut.ir.node import replace
from minifut.ir.scalar_table import OperatorCost
from minifut.ir.scalars import operator_cost
from minifut.ir.scope import scope_of
from minifut.ir.soacs import Screma
from minifut.ir.traverse import contains, walk
from minifut.ir.types import ArrayType, ScalarType
from minifut.names import Name, NameSource
from minifut.passes.remove_checks.driver import FactsWalk
from minifut.passes.remove_checks.rules import FactContext
from minifut.passes.simplify.driver import simplify
from minifut.passes.unroll_nests import is_scalar_function
from minifut.rewrite.rule import Declined, Outcome, Rule, rule
from minifut.rewrite.trace import Trace

LONGEST = 40
"""statements of a side that is cheaper than a branch that is mispredicted"""
MOST_ELEMENTS = 8
"""that a side reads"""


def speculate(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """The program with both sides of such branches computed."""
    if not any(_is_short_branch(n) or folded_side(n) for n in walk(program)):
        return program
    sweep = _Walk(names, scope_of(program), trace or Trace())
    functions = tuple(map(sweep.function, program.functions))
    if not sweep.changed:
        return program
    return simplify(replace(program, functions=functions), names)


class _Walk(FactsWalk):
    """Tries branches of the functions of SOACs, inner ones first."""

    rules: Mapping[type, tuple[Rule, ...]] = {}

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.own: set[Name] = set()
        self.numbers: frozenset[Name] = frozenset()
        self.changed = False

    def statement(self, statement: Stm) -> tuple[Stm, ...]:
        statement = replace(statement, exp=self.inside(statement.exp))
        self.own.update(p.name for p in statement.pattern)
        exp = statement.exp
        if isinstance(exp, If) and exp.condition in self.own:
            outcome = speculate_branch(statement, self.context)
            if not isinstance(outcome, tuple) and self.is_for_all_but_one(exp):
                outcome = fold_before_branch(statement, self.context)
            if isinstance(outcome, tuple):
                self.changed = True
                return outcome
        return (statement,)

    def is_for_all_but_one(self, exp: If) -> bool:
        """Whether the side with a fold is for all points but the one of a number."""
        test = self.facts.definition(exp.condition)
        if not isinstance(test, ScalarOp):
            return False
        side = exp.otherwise
        if test.operator.name == "not":
            test, side = self.facts.definition(test.operands[0]), exp.then
        if not isinstance(test, ScalarOp) or test.operator.name != "eq":
            return False
        numbers = [operand for operand in test.operands if operand in self.numbers]
        return len(numbers) == 1 and folded_side(exp) is side

    def combinator(self, exp: Any) -> Any:
        numbers = self.numbers
        self.numbers = frozenset(
            parameter.name
            for parameter, array in zip(
                exp.function.parameters, exp.arrays, strict=True
            )
            if isinstance(self.facts.definition(array), Iota)
        )
        changed = super().combinator(exp)
        self.numbers = numbers
        return changed

    def node(self, node: Any) -> Any:
        own = self.own
        if isinstance(node, Lambda):
            self.own = {p.name for p in node.parameters}
        changed = super().node(node)
        self.own = own
        return changed

    def of_points(self, function: Lambda) -> Lambda:
        own, self.own = self.own, {p.name for p in function.parameters}
        changed = super().of_points(function)
        self.own = own
        return changed

    def loop(self, exp: Loop) -> Loop:
        own, self.own = self.own, set()
        changed = super().loop(exp)
        self.own = own
        return changed


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
        given (i: i64, c: bool, xs: [9]i32)
        let y: i32 = if c then {
          let x: i32 = xs[i]
          return x
        } else {0i32}
    declines: a side is not cheap scalar code that can always be computed
        given (c: bool, a: i32, xs: [9]i32)
        let y: i32 = if c then {
          let x: i32 = xs[0i64]
          return quot_i32(a, x)
        } else {0i32}
    declines: no side reads elements
        given (c: bool, a: i32, b: i32)
        let y: i32 = if c then {a} else {b}
    """
    exp = statement.exp
    if not isinstance(exp, If):
        return None
    sides = (exp.then, exp.otherwise)
    reason = reason_to_jump(exp)
    if reason is not None:
        return Declined(reason)
    if not all(_elements_exist(side, context) for side in sides):
        return Declined(
            "an element may not exist, or is at a place that depends on data"
        )
    chosen = [replace(side, statements=()) for side in sides]
    made = replace(statement, exp=replace(exp, then=chosen[0], otherwise=chosen[1]))
    return (*exp.then.statements, *exp.otherwise.statements, made)


@rule(If)
def fold_before_branch(statement: Stm, context: FactContext) -> Outcome:
    r"""Compute a fold of one side before a branch.

    before:
        given (k: i64, c: bool, xss: [9][4]i32)
        let i: i64 = and_i64(k, 7i64)
        let y: i32 = if c then {0i32} else {
          let xs: [4]i32 = xss[i]
          let s: i32 = redomap(4, (xs), reduce commutative(add_i32, (0i32)),
            \(x: i32) -> (i32) {mul_i32(x, x)})
          let t: i32 = quot_i32(s, 2i32)
          return t
        }
    after:
        let i: i64 = and_i64(k, 7i64)
        let xs: [4]i32 = xss[i]
        let s: i32 = redomap(4, (xs), reduce commutative(add_i32, (0i32)),
          \(x: i32) -> (i32) {mul_i32(x, x)})
        let y: i32 = if c then {0i32} else {
          let t: i32 = quot_i32(s, 2i32)
          return t
        }
    declines: an element may not exist, or is at a place that depends on data
        given (i: i64, c: bool, xss: [9][4]i32)
        let y: i32 = if c then {0i32} else {
          let xs: [4]i32 = xss[i]
          let s: i32 = redomap(4, (xs), reduce commutative(add_i32, (0i32)),
            \(x: i32) -> (i32) {mul_i32(x, x)})
          return s
        }
    declines: not one side has a fold of scalars, and little before it
        given (c: bool, a: i32, b: i32)
        let y: i32 = if c then {a} else {b}
    """
    exp = statement.exp
    if not isinstance(exp, If):
        return None
    side = folded_side(exp)
    if side is None:
        return Declined("not one side has a fold of scalars, and little before it")
    end = 1 + max(n for n, s in enumerate(side.statements) if _is_fold(s))
    first = replace(side, statements=side.statements[:end])
    if not _elements_exist(first, context):
        return Declined(
            "an element may not exist, or is at a place that depends on data"
        )
    rest = replace(side, statements=side.statements[end:])
    place = "then" if side is exp.then else "otherwise"
    made = replace(statement, exp=replace(exp, **{place: rest}))
    return (*first.statements, made)


def folded_side(node: Any) -> Body | None:
    """The only side of a branch with a fold, if it comes after little else."""
    if not isinstance(node, If):
        return None
    sides = [s for s in (node.then, node.otherwise) if any(map(_is_fold, s.statements))]
    if len(sides) != 1:
        return None
    (side,) = sides
    last = max(n for n, s in enumerate(side.statements) if _is_fold(s))
    simple = all(_is_fold(s) or _is_read(s) for s in side.statements[: last + 1])
    return side if simple else None


def _is_fold(statement: Stm) -> bool:
    exp = statement.exp
    return (
        isinstance(exp, Screma)
        and exp.is_redomap
        and all(isinstance(p.type, ScalarType) for p in statement.pattern)
        and is_scalar_function(exp.function)
        and not contains(exp.function, (Index, Loop))
    )


def _is_read(statement: Stm) -> bool:
    """Whether a statement only says where something is read."""
    exp = statement.exp
    return isinstance(exp, Index) or _is_plain(statement)


def _is_short_branch(node: Any) -> bool:
    return isinstance(node, If) and reason_to_jump(node) is None


def reason_to_jump(exp: If) -> str | None:
    """Why not to compute both sides, whatever the facts are."""
    sides = (exp.then, exp.otherwise)
    reads = [sum(isinstance(s.exp, Index) for s in side.statements) for side in sides]
    if not any(reads):
        return "no side reads elements"
    if max(reads) > MOST_ELEMENTS or any(len(s.statements) > LONGEST for s in sides):
        return "a side is longer than a branch costs"
    if not all(map(_is_plain, (s for side in sides for s in side.statements))):
        return "a side is not cheap scalar code that can always be computed"
    return None


def _is_plain(statement: Stm) -> bool:
    exp = statement.exp
    scalars = all(isinstance(p.type, ScalarType) for p in statement.pattern)
    if isinstance(exp, If):
        return scalars and not (exp.then.statements or exp.otherwise.statements)
    if isinstance(exp, ScalarOp):
        return operator_cost(exp.operator) is OperatorCost.ADDITION
    return scalars and isinstance(exp, Index)


def _elements_exist(side: Body, context: FactContext) -> bool:
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
