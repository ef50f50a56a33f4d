"""Constant folding and algebraic identities of operators.

add_i32(2, 3)   →  5          mul_i32(x, 1)  →  x
eq_i32(x, x)    →  true       not_bool(not_bool(c))  →  c
pow_f32(x, 3)   →  mul_f32(mul_f32(x, x), x)
"""

from __future__ import annotations

from minifut.ir import core
from minifut.ir.constant_folding import fold
from minifut.ir.core import Atom, Constant, Copy, ScalarOp, SizeExp, Stm
from minifut.ir.scalar_table import Identities, Number
from minifut.ir.scalars import identities, operator
from minifut.ir.types import BOOL, I64
from minifut.rewrite.context import StatementContext, with_expression
from minifut.rewrite.rule import Declined, Outcome, rule


def may_fold(exp: ScalarOp) -> bool:
    """Whether a rule for operators may apply: a quick test before them."""
    operands = exp.operands
    return (
        len(operands) == 1
        or Constant in map(type, operands)
        or operands[0] == operands[1]
        or (exp.operator.name == "add" and exp.operator.result.is_integer)
    )


def value_of(exp: ScalarOp) -> Atom | None:
    """The constant or operand that an operator gives, if these rules know it."""
    if not may_fold(exp):
        return None
    return _folded(exp) or _by_identity(exp)


@rule(core.ScalarOp)
def fold_constants(statement: Stm, context: StatementContext) -> Outcome:
    """An operator whose operands are all known.

    before:
        let x: i32 = add_i32(2i32, 3i32)
    after:
        let x: i32 = 5i32
    declines: not all operands are constants
        given (y: i32)
        let x: i32 = add_i32(2i32, y)
    """
    folded = _folded(statement.exp_of(ScalarOp))
    if folded is None:
        return Declined("not all operands are constants")
    return with_expression(statement, Copy(folded))


def _folded(exp: ScalarOp) -> Constant | None:
    constants = [a for a in exp.operands if isinstance(a, Constant)]
    if len(constants) != len(exp.operands):
        return None
    return fold(exp.operator, *constants)


APPLY_IDENTITIES_REFUSED = Declined("no identity of the operator fits")


@rule(core.ScalarOp)
def apply_identities(statement: Stm, context: StatementContext) -> Outcome:
    """An operator with a neutral or absorbing operand, or with equal operands.

    before:
        given (y: i32)
        let x: i32 = mul_i32(y, 1i32)
    after:
        let x: i32 = y
    declines: no identity of the operator fits
        given (y: i32)
        let x: i32 = mul_i32(y, 2i32)
    """
    found = _by_identity(statement.exp_of(ScalarOp))
    if found is None:
        return APPLY_IDENTITIES_REFUSED
    return with_expression(statement, Copy(found))


def _by_identity(exp: ScalarOp) -> Atom | None:
    if len(exp.operands) != 2:
        return None
    known = identities(exp.operator)
    left, right = exp.operands
    found = _one_sided(known, left, right)
    if found is not None:
        return found
    result = exp.operator.result
    for side, absorbing in (
        (left, known.left_absorbing),
        (right, known.right_absorbing),
    ):
        if isinstance(side, Constant) and _is(side, absorbing):
            return Constant(side.value, result)
    if left == right and known.idempotent:
        return left
    if left == right and known.equal_operands is not None:
        return Constant(known.equal_operands, result)
    return None


def _one_sided(known: Identities, left: Atom, right: Atom) -> Atom | None:
    if isinstance(left, Constant) and _is(left, known.left_neutral):
        return right
    if isinstance(right, Constant) and _is(right, known.right_neutral):
        return left
    return None


def _is(constant: Constant, number: Number | None) -> bool:
    return number is not None and constant.value == number


POWER_REFUSED = Declined("only small powers are products")


@rule(core.ScalarOp)
def multiply_for_power(statement: Stm, context: StatementContext) -> Outcome:
    """A power with the exponent 2, 3 or 4: 10 to 100 times as fast. A square is the
    same number; the others have at most 1.5 units in the last place of error, where
    OpenCL's `pow` may have 16. Of f16 each product would be rounded: only squares.

    before:
        given (y: f32)
        let x: f32 = pow_f32(y, 3f32)
    after:
        let a: f32 = mul_f32(y, y)
        let x: f32 = mul_f32(a, y)
    declines: only small powers are products
        given (y: f32)
        let x: f32 = pow_f32(y, 0.5f32)
    """
    exp = statement.exp_of(ScalarOp)
    if exp.operator.name != "pow":
        return POWER_REFUSED
    base, exponent = exp.operands
    type_ = exp.operator.result
    most = 2 if type_.is_float and type_.bits == 16 else 4
    if not isinstance(exponent, Constant) or exponent.value not in range(2, most + 1):
        return POWER_REFUSED
    build = context.builder(statement)
    square = base if exponent.value == 2 else build.mul(base, base)
    other = base if exponent.value == 3 else square
    product = ScalarOp(operator("mul", type_), (square, other))
    return with_expression(statement, product, build)


UNDO_TWICE_REFUSED = Declined("the operand is not made by the same operator")


@rule(core.ScalarOp)
def undo_twice(statement: Stm, context: StatementContext) -> Outcome:
    """A negation or complement of one; a conversion of a type to itself. Truth values
    that are not equal differ, by an operator of which the order does not matter.

    before:
        given (c: bool)
        let d: bool = not_bool(c)
        let e: bool = not_bool(d)
    after:
        let d: bool = not_bool(c)
        let e: bool = c
    before:
        given (a: bool, b: bool)
        let c: bool = eq_bool(a, b)
        let d: bool = not_bool(c)
    after:
        let c: bool = eq_bool(a, b)
        let d: bool = xor_bool(a, b)
    declines: the operand is not made by the same operator
        given (c: bool)
        let e: bool = not_bool(c)
    """
    exp = statement.exp_of(ScalarOp)
    if len(exp.operands) != 1:
        return UNDO_TWICE_REFUSED
    applied, operand = exp.operator, exp.operands[0]
    if applied.name == "convert" and applied.operands[0] == applied.result:
        return with_expression(statement, Copy(operand))
    inner = context.definition(operand)
    if not isinstance(inner, ScalarOp) or applied.name not in ("not", "neg"):
        return UNDO_TWICE_REFUSED
    if inner.operator == applied:
        return with_expression(statement, Copy(inner.operands[0]))
    if inner.operator.name == "eq" and inner.operator.operands[0] == BOOL:
        differ = ScalarOp(operator("xor", BOOL), inner.operands)
        return with_expression(statement, differ)
    return UNDO_TWICE_REFUSED


REMAINDERS = {"div": "mod", "quot": "rem"}
"""of divisions that round down, and towards zero"""


@rule(core.ScalarOp)
def recompose_quotient(statement: Stm, context: StatementContext) -> Outcome:
    """A quotient times the divisor plus the remainder is what was divided: flat indices
    that were taken apart, whose elements are neighbours then.

    before:
        given (i: i64)
        let q: i64 = div_i64(i, 7i64)
        let r: i64 = mod_i64(i, 7i64)
        let m: i64 = mul_i64(q, 7i64)
        let x: i64 = add_i64(m, r)
    after:
        let q: i64 = div_i64(i, 7i64)
        let r: i64 = mod_i64(i, 7i64)
        let m: i64 = mul_i64(q, 7i64)
        let x: i64 = i
    declines: it adds no remainder to what was divided
        like before, with
        mod_i64 => rem_i64
    """
    operands = _operands(statement.exp, "add")
    for product, rest in filter(None, (operands, operands[::-1])):
        factors = _operands(context.definition(product), "mul")
        for quotient, divisor in filter(None, (factors, factors[::-1])):
            whole = _divided(quotient, rest, context)
            if whole is not None and whole[1] == divisor:
                return with_expression(statement, Copy(whole[0]))
    return Declined("it adds no remainder to what was divided")


def _divided(
    quotient: Atom, rest: Atom, context: StatementContext
) -> tuple[Atom, ...] | None:
    """What was divided by what, if these are the quotient and the remainder."""
    for division, remainder in REMAINDERS.items():
        whole = _operands(context.definition(quotient), division)
        if whole and whole == _operands(context.definition(rest), remainder):
            return whole
    return None


def _operands(exp: object, name: str) -> tuple[Atom, ...]:
    """The operands of an operation on integers, if it is the one of that name."""
    match exp:
        case ScalarOp(made, operands) if made.name == name and made.result.is_integer:
            return operands
    return ()


READ_SIZE_REFUSED = Declined("the size has to be computed")


@rule(core.SizeExp)
def read_size(statement: Stm, context: StatementContext) -> Outcome:
    """A size that is a name or a number.

    before:
        given (n: i64, xs: [n]i32)
        let k: i64 = size(n)
    after:
        let k: i64 = n
    declines: the size has to be computed
        given (n: i64, xs: [n]i32)
        let k: i64 = size(n + 1)
    """
    exp = statement.exp_of(SizeExp)
    number, name = exp.size.as_constant, exp.size.as_name
    if number is not None:
        return with_expression(statement, Copy(Constant(number, I64)))
    return READ_SIZE_REFUSED if name is None else with_expression(statement, Copy(name))
