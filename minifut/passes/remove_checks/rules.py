"""Rules whose conditions are facts of a place; see `remove_checks`.

They get a context with the facts, and note there the proof by which the statements that
they return mean the same.
"""

from __future__ import annotations

from typing import TypeGuard

from minifut.analysis.facts import Fact, Facts, Proof, forms
from minifut.ir.builder import Builder
from minifut.ir.core import Assert, Atom, Constant, Copy, If, Iota, ScalarOp, Stm
from minifut.ir.node import mutable, replace
from minifut.ir.scalars import operator
from minifut.ir.scope import Scope
from minifut.ir.types import BOOL
from minifut.names import Name, NameSource
from minifut.passes.remove_checks.parts import Test, conjuncts, named, rest_of
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
    first_inside: int = 0
    """how many names were known before the function of the innermost SOAC"""

    def is_shared(self, atom: Atom) -> bool:
        """Whether an integer is the same at all points of the innermost SOAC."""
        order = self.facts.order
        return all(
            isinstance(each, Name) and order.get(each, -1) < self.first_inside
            for each in forms.atoms_of(self.facts.form(atom))
        )

    def builder(self, statement: Stm) -> Builder:
        """A builder whose statements carry the location of this one."""
        return Builder(self.names, self.scope, statement.location)


def by_facts(_: Stm, context: FactContext) -> Remark:
    """The facts of the proof."""
    facts = dict.fromkeys(map(str, context.proof))
    return Remark(tuple(f"by {fact}" for fact in facts))


def learn_element(facts: Facts, name: Name, array: Name, width: forms.Form) -> None:
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
    x, start = forms.of_atom(name), facts.form(source.start)
    if step == 1 and not start:
        facts.run_over(name, width, "the map")
        return
    end = forms.combine(
        start, 1, forms.combine(width, 1, forms.number(1), -1), int(step)
    )
    low, high = (start, end) if step == 1 else (end, start)
    least, most = facts.range_of_form(low)[0], facts.range_of_form(high)[1]
    if facts.within_type(name, least, most):
        facts.learn(Fact(forms.difference(x, low), "the map"))
        facts.learn(Fact(forms.difference(high, x), "the map"))


def learn_limit(facts: Facts, name: Name, array: Name) -> None:
    """The name is an element of the array, whose elements may have a known limit."""
    limit = facts.element_limit(array)
    if limit is not None:
        facts.learn(Fact(forms.of_atom(name), "its elements"))
        facts.learn(
            Fact(forms.difference(limit, forms.of_atom(name), 1), "its elements")
        )


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
        like before, with
        let () = assert(natural,
        => let inside: bool = le_i64(0i64, j)
        => let () = assert(inside,
    before:
        given (n: i64, xs: [n]f64, y: f64)
        let last: i64 = sub_i64(n, 1i64)
        let most: f64 = convert_i64_f64(last)
        let least: f64 = min_f64(most, y)
        let place: f64 = max_f64(0f64, least)
        let k: i64 = convert_f64_i64(place)
        let below: bool = lt_i64(k, n)
        let () = assert(below, ["outside"], [])
    after:
        like before, with
        let () = assert(below,
        => let inside: bool = lt_i64(0i64, n)
        => let () = assert(inside,
    before:
        given (n: i64, xs: [n]f32, y: f32)
        let last: i64 = sub_i64(n, 1i64)
        let most: f32 = convert_i64_f32(last)
        let least: f32 = min_f32(most, y)
        let place: f32 = max_f32(0f32, least)
        let k: i64 = convert_f32_i64(place)
        let below: bool = lt_i64(k, n)
        let () = assert(below, ["outside"], [])
    after:
        like before, with
        let () = assert(below,
        => let inside: bool = lt_i64(0i64, n)
        => let inside_1: bool = le_i64(last, 16777216i64)
        => let enough: bool = and_bool(inside, inside_1)
        => let inside_2: bool = or_bool(enough, below)
        => let () = assert(inside_2,
    declines: no part of the condition is proved
        given (i: i64)
        let natural: bool = le_i64(0i64, i)
        let () = assert(natural, ["negative"], [])
    """
    exp = statement.exp_of(Assert)
    proof: list[Proof] = []
    parts = conjuncts(context.facts, exp.condition)
    left: list[Test] = []
    is_new = False
    for part in parts:
        shown = context.facts.holds(part)
        if shown is not None:
            proof.append(shown)
            continue
        found = rest_of(context.facts, part, context.is_shared)
        is_new = is_new or found is not None
        rest, of_rest = found or ([part], [])
        left += rest
        proof += of_rest
    context.proof = tuple(fact for shown in proof for fact in shown)
    if not left:
        return ()
    if not proof and not is_new:
        return Declined("no part of the condition is proved")
    build = context.builder(statement)
    condition = build.all_of([named(build, part) for part in left], "inside")
    context.facts.assume(exp.condition, True, "a check")
    return with_expression(statement, replace(exp, condition=condition), build)


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
