"""Branches that are decided or irrelevant, and checks that always hold.

if true then {a} else {b}   →  a          if c then {x} else {x}  →  x
if c then {true} else {false}  →  c       assert(true, ..)        →  nothing
"""

from __future__ import annotations

from minifut.ir import core, scalars, traverse, types
from minifut.ir.core import Assert, Atom, Body, Constant, If, Match, Stm
from minifut.ir.node import replace
from minifut.rewrite.context import StatementContext, with_expression, with_values
from minifut.rewrite.rule import Declined, Outcome, rule


@rule(core.If)
def take_known_branch(statement: Stm, context: StatementContext) -> Outcome:
    """A branch on a constant.

    before:
        given (x: i32, y: i32)
        let z: i32 = if true then {x} else {y}
    after:
        let z: i32 = x
    declines: the condition is not known
        given (c: bool, x: i32, y: i32)
        let z: i32 = if c then {x} else {y}
    """
    exp = statement.exp_of(If)
    if not isinstance(exp.condition, Constant):
        return Declined("the condition is not known")
    body = exp.then if exp.condition.value else exp.otherwise
    return with_values(statement, body.statements, body.result)


def _is_bool(atom: Atom, truth: bool) -> bool:
    return isinstance(atom, Constant) and atom.value is truth


SELECT_TRUTH_REFUSED = Declined("it is no choice between a truth value and a constant")


@rule(core.If)
def select_truth_by_logic(statement: Stm, context: StatementContext) -> Outcome:
    """A branch that computes nothing and chooses a truth value or a constant.

    Without it the device's compiler may jump, or make a switch of several tests of one
    value, and then no vectors.

    before:
        given (c: bool, x: bool)
        let y: bool = if c then {x} else {false}
    after:
        let y: bool = and_bool(c, x)
    before:
        given (c: bool, x: bool)
        let y: bool = if c then {x} else {true}
    after:
        let n: bool = not_bool(c)
        let y: bool = or_bool(n, x)
    before:
        given (c: bool)
        let y: bool = if c then {true} else {false}
    after:
        let y: bool = and_bool(c, true)
    declines: it is no choice between a truth value and a constant
        given (c: bool, x: bool, z: bool)
        let y: bool = if c then {x} else {z}
    """
    exp = statement.exp_of(If)
    if exp.then.statements or exp.otherwise.statements or len(statement.pattern) != 1:
        return SELECT_TRUTH_REFUSED
    (then,), (otherwise,) = exp.then.result, exp.otherwise.result
    build = context.builder(statement)
    for constant, other, opposite in (
        (otherwise, then, True),
        (then, otherwise, False),
    ):
        if _is_bool(constant, False) or _is_bool(constant, True):
            assert isinstance(constant, Constant)
            truth = bool(constant.value)
            negated = truth == opposite
            condition = build.op("not", exp.condition) if negated else exp.condition
            logic = scalars.operator("or" if truth else "and", types.BOOL)
            chosen = core.ScalarOp(logic, (condition, other))
            return with_expression(statement, chosen, build)
    return SELECT_TRUTH_REFUSED


@rule(core.If)
def drop_common_results(statement: Stm, context: StatementContext) -> Outcome:
    """Results that are the same outer value in both branches, sizes above all.

    before:
        given (c: bool, x: i32)
        let (y: i32, z: i32) = if c then {
          let a: i32 = add_i32(x, 1i32)
          return x, a
        } else {x, x}
    after:
        let z: i32 = if c then {add_i32(x, 1i32)} else {x}
        let y: i32 = x
    declines: no result is the same in both branches
        given (c: bool, x: i32, y: i32)
        let z: i32 = if c then {x} else {y}
    """
    exp = statement.exp_of(If)
    pattern = statement.pattern
    pairs = list(zip(exp.then.result, exp.otherwise.result, strict=True))
    common = [one == other for one, other in pairs]
    if not any(common):
        return Declined("no result is the same in both branches")
    known = {
        bound.name: atom
        for bound, (atom, _), same in zip(pattern, pairs, common, strict=True)
        if same
    }
    kept = [n for n, same in enumerate(common) if not same]
    branches = [
        replace(body, result=tuple(body.result[n] for n in kept))
        for body in (exp.then, exp.otherwise)
    ]
    left = Stm(
        traverse.substitute(tuple(pattern[n] for n in kept), known),
        If(exp.condition, *branches),
        statement.attributes,
        statement.location,
    )
    atoms = tuple(known.get(bound.name, bound.name) for bound in pattern)
    return with_values(statement, (left,), atoms)


@rule(core.Match)
def take_known_case(statement: Stm, context: StatementContext) -> Outcome:
    """A match on constants.

    before:
        given (x: i32, y: i32)
        let z: i32 = match (1i8) case (0i8) {x} case (1i8) {y} default {x}
    after:
        let z: i32 = y
    declines: not all that is matched is known
        given (k: i8, x: i32, y: i32)
        let z: i32 = match (k) case (0i8) {x} default {y}
    """
    exp = statement.exp_of(Match)
    values = [a.value for a in exp.scrutinees if isinstance(a, Constant)]
    if len(values) != len(exp.scrutinees):
        return Declined("not all that is matched is known")
    body: Body = exp.default
    for case in reversed(exp.cases):
        pairs = zip(case.values, values, strict=True)
        if all(wanted is None or wanted.value == value for wanted, value in pairs):
            body = case.body
    return with_values(statement, body.statements, body.result)


@rule(core.Assert)
def drop_true_check(statement: Stm, context: StatementContext) -> Outcome:
    """A check of the constant true.

    before:
        let () = assert(true, ["cannot be"], [])
    after:
    declines: the condition is not known
        given (c: bool)
        let () = assert(c, ["may be"], [])
    """
    exp = statement.exp_of(Assert)
    return (
        with_values(statement, (), ())
        if _is_bool(exp.condition, True)
        else Declined("the condition is not known")
    )
