"""Pass: in kernels, an index is compared with its bounds by one comparison.

    assert (0 <= i && i < n)     →     assert ((u64) i < (u64) n)        as 0 <= n

A negative number is, read without its sign, greater than all sizes. One branch instead
of two is most of the cost of checks in loops. Facts do not follow
the conversions, so this comes after all passes that require facts.
"""

from __future__ import annotations

import itertools
from typing import Any, TypeGuard

from minifut.ir import scalars, scope, traverse, types
from minifut.ir.core import Assert, Constant, Function, Program, ScalarOp, Stm
from minifut.ir.node import replace
from minifut.names import NameSource
from minifut.passes.flatten.cheap import has_check
from minifut.passes.flatten.context import SEGMENTED
from minifut.passes.remove_checks.driver import NO_RULES, FactsWalk
from minifut.passes.remove_checks.parts import conjuncts
from minifut.passes.remove_checks.rules import FactContext, by_facts
from minifut.passes.simplify.dead_code import with_functions
from minifut.rewrite.context import with_expression
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.trace import Trace


def compare_unsigned(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """Compare an index with both of its bounds at once."""
    checker = _Walk(names, scope.scope_of(program), trace or Trace())
    return with_functions(program, tuple(map(checker.function, program.functions)))


@rule(Assert, paper="Warren, Hacker's Delight (2012), 4-1", remark=by_facts)
def compare_index_once(statement: Stm, context: FactContext) -> Outcome:
    """One comparison of unsigned numbers for both bounds of an index.

    before:
        given (n: i64, xs: [n]f32)
        let i: i64 = xor_i64(n, n)
        let m: i64 = add_i64(n, 1i64)
        let low: bool = le_i64(0i64, i)
        let high: bool = lt_i64(i, m)
        let inside: bool = and_bool(low, high)
        let () = assert(inside, ["outside"], [])
    after:
        let i: i64 = xor_i64(n, n)
        let m: i64 = add_i64(n, 1i64)
        let low: bool = le_i64(0i64, i)
        let high: bool = lt_i64(i, m)
        let inside: bool = and_bool(low, high)
        let one: u64 = convert_i64_u64(i)
        let other: u64 = convert_i64_u64(m)
        let below: bool = lt_u64(one, other)
        let () = assert(below, ["outside"], [])
    declines: no number that is natural bounds an index
        given (i: i64)
        let low: bool = le_i64(0i64, i)
        let () = assert(low, ["outside"], [])
    """
    exp = statement.exp_of(Assert)
    facts, build = context.facts, context.builder(statement)
    parts = conjuncts(facts, exp.condition)
    left = list(parts)
    context.proof = ()
    for low, high in itertools.permutations(parts, 2):
        natural, less = facts.definition(low), facts.definition(high)
        if not (_compares(natural, "le") and _compares(less, "lt")):
            continue
        signed, (index, size) = less.operator.operands[0], less.operands
        proof = facts.natural_atom(size)
        if natural.operands != (Constant(0, signed), index) or proof is None:
            continue
        context.proof += proof
        unsigned = scalars.convert(signed, types.SCALARS[f"u{signed.bits}"])
        one, other = (build.let(ScalarOp(unsigned, (a,))) for a in (index, size))
        left = [part for part in left if part not in (low, high)]
        left.append(build.op("lt", one, other, base="below"))
    if left == parts:
        return Declined("no number that is natural bounds an index")
    condition = build.all_of(left)
    return with_expression(statement, replace(exp, condition=condition), build)


def _compares(exp: object, name: str) -> TypeGuard[ScalarOp]:
    if not isinstance(exp, ScalarOp) or exp.operator.name != name:
        return False
    return exp.operator.operands[0].kind == "int"


class _Walk(FactsWalk):
    """Changes the checks inside of kernels."""

    rules = NO_RULES
    finds_invariants = False
    sought = (Assert,)

    def function(self, function: Function) -> Function:
        checked = any(
            isinstance(node, SEGMENTED) and has_check(node.body.statements)
            for node in traverse.walk(function)
        )
        return super().function(function) if checked else function

    def segmented(self, exp: Any) -> Any:
        self.rules = {Assert: (compare_index_once,)}
        made = super().segmented(exp)
        self.rules = NO_RULES
        return made
