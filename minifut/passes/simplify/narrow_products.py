"""Words of products of 64 bits whose factors are of 32: products of words.

u32.u64 (u64.u32 x * u64.u32 y)           →  x * y
u32.u64 ((u64.u32 x * u64.u32 y) >> 32)   →  u32.mul_hi x y

So do generators of random numbers multiply (Philox, Lemire's numbers below a bound),
and hashes. Vectors have no product of 64 bits, and convert by shuffles.
"""

from __future__ import annotations

from minifut.ir.core import Atom, Constant, ScalarOp, Stm
from minifut.ir.scalars import convert, operator
from minifut.ir.types import U32, U64
from minifut.rewrite.context import StatementContext, with_expression
from minifut.rewrite.rule import Declined, Outcome, rule

LOW, WIDE = convert(U64, U32), convert(U32, U64)
PRODUCT, SHIFT = operator("mul", U64), operator("shr", U64)
REFUSED = Declined("it is no word of a product of words")


@rule(ScalarOp)
def multiply_words(statement: Stm, context: StatementContext) -> Outcome:
    """One of the words of a product, without the other.

    before:
        given (x: u32, y: u32)
        let a: u64 = convert_u32_u64(x)
        let b: u64 = convert_u32_u64(y)
        let m: u64 = mul_u64(a, b)
        let h: u64 = shr_u64(m, 32u64)
        let r: u32 = convert_u64_u32(h)
    after:
        let a: u64 = convert_u32_u64(x)
        let b: u64 = convert_u32_u64(y)
        let m: u64 = mul_u64(a, b)
        let h: u64 = shr_u64(m, 32u64)
        let r: u32 = mul_hi_u32(x, y)
    before:
        given (x: u32)
        let a: u64 = convert_u32_u64(x)
        let m: u64 = mul_u64(a, 5u64)
        let r: u32 = convert_u64_u32(m)
    after:
        let a: u64 = convert_u32_u64(x)
        let m: u64 = mul_u64(a, 5u64)
        let r: u32 = mul_u32(x, 5u32)
    declines: it is no word of a product of words
        given (x: u64)
        let r: u32 = convert_u64_u32(x)
    """
    exp = statement.exp_of(ScalarOp)
    if exp.operator != LOW:
        return None
    whole, name = context.definition(exp.operands[0]), "mul"
    if isinstance(whole, ScalarOp) and whole.operator == SHIFT:
        by, name = whole.operands[1], "mul_hi"
        whole = context.definition(whole.operands[0])
        if not isinstance(by, Constant) or by.value != 32:
            return REFUSED
    if not isinstance(whole, ScalarOp) or whole.operator != PRODUCT:
        return REFUSED
    words = [_word(factor, context) for factor in whole.operands]
    known = tuple(word for word in words if word is not None)
    if len(known) < len(words):
        return REFUSED
    return with_expression(statement, ScalarOp(operator(name, U32), known))


def _word(factor: Atom, context: StatementContext) -> Atom | None:
    """A number of 32 bits that a factor is."""
    if isinstance(factor, Constant):
        small = int(factor.value) < 1 << U32.bits
        return Constant(factor.value, U32) if small else None
    made = context.definition(factor)
    if isinstance(made, ScalarOp) and made.operator == WIDE:
        return made.operands[0]
    return None
