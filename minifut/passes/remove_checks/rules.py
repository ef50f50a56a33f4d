"""Rules whose conditions are facts of a place; see `remove_checks`.

They get a context with the facts, and note there the proof by which the statements that
they return mean the same.
"""

from __future__ import annotations

from typing import TypeGuard

from minifut.analysis.facts import Fact, Facts, Proof
from minifut.analysis.facts.forms import Form, combine, difference, number, of_atom
from minifut.ir.builder import Builder
from minifut.ir.core import Assert, Atom, Constant, Copy, If, Iota, ScalarOp, Stm
from minifut.ir.node import mutable, replace
from minifut.ir.scalars import operator
from minifut.ir.scope import Scope
from minifut.ir.types import BOOL
from minifut.names import Name, NameSource
from minifut.rewrite.context import with_expression
from minifut.rewrite.rule import Declined, Outcome, Remark, rule
from minifut.rewrite.trace import Derivation

SELECTING = frozenset({"mod", "rem", "min", "max", "abs"})
"""operators that are cheaper, or none, where the ranges of their operands are known"""


@mutable
class FactContext:
    """The place of a statement: fresh names, types, and facts; and the `proof` of the
    rule that fired last."""

    names: NameSource
    scope: Scope
    facts: Facts
    derivation: Derivation | None = None
    proof: Proof = ()
    emitted: tuple[Stm, ...] = ()

    def builder(self, statement: Stm) -> Builder:
        """A builder whose statements carry the location of this one."""
        return Builder(self.names, self.scope, statement.location)


def by_facts(_: Stm, context: FactContext) -> Remark:
    """The facts of the proof."""
    facts = dict.fromkeys(map(str, context.proof))
    return Remark(tuple(f"by {fact}" for fact in facts))


def learn_element(facts: Facts, name: Name, array: Name, width: Form) -> None:
    """The name is an element of the array: one of an iota is within its numbers, others
    may have a known limit."""
    facts.order[name] = len(facts.order)  # the newest name: proofs eliminate it first
    learn_limit(facts, name, array)
    source = facts.definition(array)
    if not isinstance(source, Iota):
        return
    step = source.stride.value if isinstance(source.stride, Constant) else 0
    if step not in (1, -1):
        return
    x, start = of_atom(name), facts.form(source.start)
    if step == 1 and not start:
        facts.run_over(name, width, "the map")
        return
    end = combine(start, 1, combine(width, 1, number(1), -1), int(step))
    low, high = (start, end) if step == 1 else (end, start)
    least, most = facts.range_of_form(low)[0], facts.range_of_form(high)[1]
    if facts.within_type(name, least, most):
        facts.learn(Fact(difference(x, low), "the map"))
        facts.learn(Fact(difference(high, x), "the map"))


def learn_limit(facts: Facts, name: Name, array: Name) -> None:
    """The name is an element of the array, whose elements may have a known limit."""
    limit = facts.element_limit(array)
    if limit is not None:
        facts.learn(Fact(of_atom(name), "its elements"))
        facts.learn(Fact(difference(limit, of_atom(name), 1), "its elements"))


@rule(Assert, remark=by_facts)
def remove_proved_check(statement: Stm, context: FactContext) -> Outcome:
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
        like before, with
        assert(both => assert(zero
    before:
        given (i: i64)
        let j: i64 = xor_i64(i, i)
        let k: i64 = max_i64(0i64, i)
        let least: i64 = min_i64(k, j)
        let natural: bool = le_i64(0i64, least)
        let () = assert(natural, ["negative"], [])
    after:
        let j: i64 = xor_i64(i, i)
        let k: i64 = max_i64(0i64, i)
        let least: i64 = min_i64(k, j)
        let natural: bool = le_i64(0i64, least)
        let inside: bool = le_i64(0i64, j)
        let () = assert(inside, ["negative"], [])
    declines: no part of the condition is proved
        given (i: i64)
        let natural: bool = le_i64(0i64, i)
        let () = assert(natural, ["negative"], [])
    """
    exp = statement.exp_of(Assert)
    proof: list[Proof] = []
    parts = conjuncts(context.facts, exp.condition)
    left: list[Atom | ScalarOp] = []
    for part in parts:
        shown = context.facts.holds(part)
        if shown is not None:
            proof.append(shown)
            continue
        rest, of_rest = _with_operands(context.facts, part)
        left += rest
        proof += of_rest
    used = tuple(fact for shown in proof for fact in shown)
    context.proof = used
    if not left:
        return ()
    if not proof:
        return Declined("no part of the condition is proved")
    build = context.builder(statement)
    named = [
        build.let(part, "inside") if isinstance(part, ScalarOp) else part
        for part in left
    ]
    condition = build.all_of(named, "inside")
    return with_expression(statement, replace(exp, condition=condition), build)


def conjuncts(facts: Facts, condition: Atom) -> list[Atom]:
    """The conditions that must all hold for this one to hold."""
    exp = facts.definition(condition)
    if isinstance(exp, ScalarOp) and str(exp.operator) == "and_bool":
        return [part for o in exp.operands for part in conjuncts(facts, o)]
    return [condition]


def _with_operands(
    facts: Facts, condition: Atom
) -> tuple[list[Atom | ScalarOp], list[Proof]]:
    """What is left to test of `x <= min(a, b)` or `max(a, b) <= y` where the comparison
    with an operand is proved, and the proofs: often the other one is the same at all
    points of a map."""
    exp = facts.definition(condition)
    if isinstance(exp, ScalarOp) and exp.operator.name in ("le", "lt"):
        less, more = exp.operands
        above, below = facts.definition(more), facts.definition(less)
        pairs: list[tuple[Atom, Atom]] = []
        if _is_integer(above, ("min",)):
            pairs = [(less, operand) for operand in above.operands]
        elif _is_integer(below, ("max",)):
            pairs = [(operand, more) for operand in below.operands]
        compare = facts.below if exp.operator.name == "lt" else facts.at_most
        shown = [compare(*pair) for pair in pairs]
        proofs = [found for found in shown if found is not None]
        if proofs:
            tests = zip(pairs, shown, strict=True)
            return [ScalarOp(exp.operator, p) for p, s in tests if s is None], proofs
    return [condition], []


@rule(If, remark=by_facts)
def decide_branch(statement: Stm, context: FactContext) -> Outcome:
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
        like before, with
        max_i64(1i64 => max_i64(0i64
    """
    exp = statement.exp
    if not isinstance(exp, If) or isinstance(exp.condition, Constant):
        return None
    for truth in (True, False):
        proof = context.facts.holds(exp.condition, truth)
        if proof is not None:
            context.proof = proof
            decided = replace(exp, condition=Constant(truth, BOOL))
            return with_expression(statement, decided)
    return Declined("neither branch is proved to be taken")


@rule(ScalarOp, remark=by_facts)
def drop_remainder(statement: Stm, context: FactContext) -> Outcome:
    """A remainder of what is at most one divisor away from it.

    before:
        given (i: i64)
        let k: i64 = and_i64(i, 7i64)
        let r: i64 = mod_i64(k, 8i64)
    after:
        let k: i64 = and_i64(i, 7i64)
        let r: i64 = k
    before:
        given (n: i64, xs: [n]i32)
        let m: i64 = add_i64(n, 9i64)
        let k: i64 = add_i64(m, 3i64)
        let r: i64 = mod_i64(k, m)
    after:
        let m: i64 = add_i64(n, 9i64)
        let k: i64 = add_i64(m, 3i64)
        let r: i64 = sub_i64(k, m)
    declines: the number may be outside of the divisor
        given (i: i64)
        let r: i64 = mod_i64(i, 8i64)
    """
    exp = statement.exp
    if not _is_integer(exp, ("mod", "rem")):
        return None
    found = context.facts.remainder(exp)
    if found is None:
        return Declined("the number may be outside of the divisor")
    context.proof, times = found
    if not times:
        return with_expression(statement, Copy(exp.operands[0]))
    name = "sub" if times == 1 else "add"
    less = ScalarOp(operator(name, exp.operator.result), exp.operands)
    return with_expression(statement, less)


@rule(ScalarOp, remark=by_facts)
def drop_clamp(statement: Stm, context: FactContext) -> Outcome:
    """A minimum, maximum or absolute value that is always the same operand.

    before:
        given (i: i64)
        let k: i64 = and_i64(i, 7i64)
        let c: i64 = max_i64(0i64, k)
    after:
        let k: i64 = and_i64(i, 7i64)
        let c: i64 = k
    before:
        given (i: i64)
        let k: i64 = and_i64(i, 7i64)
        let c: i64 = abs_i64(k)
    after:
        let k: i64 = and_i64(i, 7i64)
        let c: i64 = k
    declines: either number may be taken
        given (i: i64)
        let c: i64 = max_i64(0i64, i)
    """
    exp = statement.exp
    if not _is_integer(exp, ("min", "max", "abs")):
        return None
    left, right = (*exp.operands, Constant(0, exp.operator.result))[:2]
    smaller = exp.operator.name == "min"
    for one, other in ((left, right), (right, left))[: len(exp.operands)]:
        less, more = (one, other) if smaller else (other, one)
        proof = context.facts.at_most(less, more)
        if proof is not None:
            context.proof = proof
            return with_expression(statement, Copy(one))
    return Declined("either number may be taken")


def _is_integer(exp: object, names: tuple[str, ...]) -> TypeGuard[ScalarOp]:
    return (
        isinstance(exp, ScalarOp)
        and exp.operator.name in names
        and exp.operator.result.is_integer
    )
