"""Pass: in kernels, an index is compared with its bounds by one comparison.

    assert (0 <= i && i < n)     →     assert ((u64) i < (u64) n)        as 0 <= n

A negative number is, read without its sign, greater than all sizes. One branch instead
of two is what most of the cost of checks in loops comes to. Facts do not see through
the conversions, so this comes after all passes that ask for facts.

Source: a well-known idiom; Warren, "Hacker's Delight", 4-1.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from minifut.analysis.facts import Facts
from minifut.ir.builder import Builder
from minifut.ir.core import Assert, Atom, Constant, Program, ScalarOp, Stm
from minifut.ir.node import replace
from minifut.ir.scalars import convert
from minifut.ir.scope import scope_of
from minifut.ir.traverse import walk
from minifut.ir.types import SCALARS
from minifut.names import NameSource
from minifut.passes.remove_checks.driver import FactsWalk
from minifut.passes.remove_checks.rules import FactContext, by_facts, conjuncts
from minifut.passes.simplify.dead_code import remove_dead_code
from minifut.rewrite.context import with_expression
from minifut.rewrite.rule import Declined, Outcome, rule
from minifut.rewrite.trace import Trace


def compare_unsigned(
    program: Program, names: NameSource, trace: Trace | None = None
) -> Program:
    """The program whose kernels compare each index once."""
    walk_ = _Walk(names, scope_of(program), trace or Trace())
    functions = tuple(
        walk_.function(f) if any(isinstance(n, Assert) for n in walk(f)) else f
        for f in program.functions
    )
    changed = {
        new.name
        for new, old in zip(functions, program.functions, strict=True)
        if new.body.statements is not old.body.statements
    }
    if not changed:
        return program
    return remove_dead_code(replace(program, functions=functions), changed)


class _Walk(FactsWalk):
    """Changes the checks inside of kernels."""

    inside_kernel = False

    def segmented(self, exp: Any) -> Any:
        self.inside_kernel = True
        made = super().segmented(exp)
        self.inside_kernel = False
        return made

    def statement(self, statement: Stm) -> tuple[Stm, ...]:
        if self.inside_kernel and isinstance(statement.exp, Assert):
            outcome = compare_index_once(statement, self.context)
            if isinstance(outcome, tuple):
                return outcome
        return (replace(statement, exp=self.inside(statement.exp)),)


NO_INDEX = Declined("nothing is compared with zero and with a natural number")


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
        let index: u64 = convert_i64_u64(i)
        let size: u64 = convert_i64_u64(m)
        let below: bool = lt_u64(index, size)
        let () = assert(below, ["outside"], [])
    declines: nothing is compared with zero and with a natural number
        given (i: i64, n: i64)
        let low: bool = le_i64(0i64, i)
        let high: bool = lt_i64(i, n)
        let inside: bool = and_bool(low, high)
        let () = assert(inside, ["outside"], [])
    """
    exp = statement.exp
    if not isinstance(exp, Assert):
        return None
    facts, build = context.facts, context.builder(statement)
    parts = conjuncts(facts, exp.condition)
    natural = {index: part for part in parts if (index := _is_natural(facts, part))}
    done: set[Atom] = set()
    left: list[Atom] = []
    context.proof = ()
    for part in parts:
        less = facts.definition(part)
        if not _compares(less, "lt") or less.operands[0] not in natural:
            continue
        proof = facts.natural_atom(less.operands[1])
        if proof is not None:
            context.proof += proof
            done |= {part, natural[less.operands[0]]}
            left.append(_unsigned(build, less))
    if not left:
        return NO_INDEX
    left += [part for part in parts if part not in done]
    condition = left[0]
    for part in left[1:]:
        condition = build.op("and", condition, part, base="inside")
    return with_expression(statement, replace(exp, condition=condition), build)


def _compares(exp: object, name: str) -> TypeGuard[ScalarOp]:
    if not isinstance(exp, ScalarOp) or exp.operator.name != name:
        return False
    return exp.operator.operands[0].kind == "int"


def _is_natural(facts: Facts, condition: Atom) -> Atom | None:
    """What a condition compares with zero from below."""
    exp = facts.definition(condition)
    if not _compares(exp, "le") or not isinstance(exp.operands[0], Constant):
        return None
    return exp.operands[1] if exp.operands[0].value == 0 else None


def _unsigned(build: Builder, less: ScalarOp) -> Atom:
    """The comparison of the same numbers without their signs."""
    signed = less.operator.operands[0]
    type_ = SCALARS[f"u{signed.bits}"]
    index, size = (
        build.let(ScalarOp(convert(signed, type_), (atom,)), base)
        for atom, base in zip(less.operands, ("index", "size"), strict=True)
    )
    return build.op("lt", index, size, base="below")
