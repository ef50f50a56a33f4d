r"""Folds of branches that all points but one need, computed before the branch.

    map (\j -> if i == j then 0 else sum (map2 (*) xs ys[j])) (iota n)
  →
    map (\j -> let s = sum (map2 (*) xs ys[j]) in if i == j then 0 else s) (iota n)

A fold that all points but one need is computed for that one as well: it is one of a
perfect nest then, which may be tiled as the product of matrices that it is.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from minifut.analysis.facts import Facts
from minifut.ir import search, soacs, types
from minifut.ir.core import Body, If, Index, Loop, ScalarOp, Stm
from minifut.ir.node import replace
from minifut.passes.remove_checks.rules import FactContext
from minifut.passes.speculate.branches import NOT_KNOWN, elements_exist, is_plain
from minifut.passes.unroll_nests import is_scalar_function
from minifut.rewrite.rule import Declined, Outcome, rule


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
          return quot_i32(s, 2i32)
        }
    after:
        let i: i64 = and_i64(k, 7i64)
        let xs: [4]i32 = xss[i]
        let s: i32 = redomap(4, (xs), reduce commutative(add_i32, (0i32)),
          \(x: i32) -> (i32) {mul_i32(x, x)})
        let y: i32 = if c then {0i32} else {quot_i32(s, 2i32)}
    declines: an element may not exist, or is at a place that depends on data
        like before, with
        and_i64 => add_i64
    declines: not one side has a fold of scalars, and little before it
        given (c: bool, a: i32, b: i32)
        let y: i32 = if c then {a} else {b}
    """
    exp = statement.exp_of(If)
    side = folded_side(exp)
    if side is None:
        return Declined("not one side has a fold of scalars, and little before it")
    end = 1 + max(n for n, s in enumerate(side.statements) if _is_fold(s))
    first = replace(side, statements=side.statements[:end])
    if not elements_exist(first, context):
        return NOT_KNOWN
    rest = replace(side, statements=side.statements[end:])
    place = "then" if side is exp.then else "otherwise"
    made = replace(statement, exp=replace(exp, **{place: rest}))
    return (*first.statements, made)


def is_for_all_but_one(exp: If, facts: Facts, numbers: Container[Any]) -> bool:
    """Whether the side with a fold is for all points but one, whose number is among
    these."""
    test = facts.definition(exp.condition)
    if not isinstance(test, ScalarOp):
        return False
    side = exp.otherwise
    if test.operator.name == "not":
        test, side = facts.definition(test.operands[0]), exp.then
    if not isinstance(test, ScalarOp) or test.operator.name != "eq":
        return False
    found = [operand for operand in test.operands if operand in numbers]
    return len(found) == 1 and folded_side(exp) is side


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
        isinstance(exp, soacs.Screma)
        and exp.is_redomap
        and all(isinstance(p.type, types.ScalarType) for p in statement.pattern)
        and is_scalar_function(exp.function)
        and not search.contains(exp.function, (Index, Loop))
    )


def _is_read(statement: Stm) -> bool:
    """Whether a statement only says where something is read."""
    exp = statement.exp
    return isinstance(exp, Index) or is_plain(statement)
