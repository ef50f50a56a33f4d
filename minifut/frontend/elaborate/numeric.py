"""The scalar operators of the language, and the numeric modules `i8` .. `f64`, `bool`.

    a + b          add at the type of a
    i32.max a b    max_i32
    f64.i32 x      convert_i32_f64

Names and types are the checker's; here is what they mean.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from minifut.errors import Location
from minifut.frontend.elaborate import checks, constants
from minifut.frontend.elaborate.environment import Module
from minifut.frontend.elaborate.values import (
    Call,
    Leaf,
    Primitive,
    Value,
    constant,
    scalar,
    size_of,
)
from minifut.ir import core
from minifut.ir.core import Constant
from minifut.ir.scalars import has_operator, operator
from minifut.ir.types import BOOL, I32, I64, SCALARS, ScalarType
from minifut.names import Name

if TYPE_CHECKING:
    from minifut.frontend.elaborate.work import Work

BINARY = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "//": "quot",
    "%%": "rem", "**": "pow", "&": "and", "|": "or", "^": "xor", "<<": "shl",
    ">>": "shr", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
    "&&": "and", "||": "or",
}  # fmt: skip
EQUALITY = {"==": False, "!=": True}
DIVISIONS = ("div", "mod", "quot", "rem")
SYMBOLS = (*BINARY, *EQUALITY, ">>>")


def apply_operator(
    work: Work,
    symbol: str,
    operands: tuple[Value, ...],
    location: Location | None = None,
) -> Leaf:
    """A binary operator as the language spells it, with its checks."""
    from minifut.frontend.elaborate.equality import equal

    location = location or work.location
    assert location is not None
    left, right = operands
    if symbol in EQUALITY:
        same = equal(work, left, right, location)
        return negate_logic(work, same) if EQUALITY[symbol] else same
    assert isinstance(left, Leaf) and isinstance(right, Leaf)
    if symbol == ">>>":
        return _logical_shift(work, left, right)
    return apply_named(work, BINARY[symbol], (left, right), location)


def apply_named(
    work: Work, name: str, operands: tuple[Leaf, ...], location: Location
) -> Leaf:
    """An operator of the core, with its checks, folded where an i64 is a known size."""
    from minifut.frontend.elaborate.work import track

    type_ = operands[0].scalar_type
    if type_.is_integer:
        if name in DIVISIONS:
            checks.check_not_zero(work, operands[1], location)
        elif name == "pow":
            exponent = operands[1]
            message = ("negative exponent: ", exponent.atom)
            checks.check_not_negative(work, exponent, message, location)
    elif type_ == BOOL:
        folded = _fold_logic(name, operands)
        if folded is not None:
            return folded
    size = track(name, operands) if type_ == I64 else None
    if name == "div" and size is not None:
        # The dividend may have wrapped around; a size has not.
        is_size = checks.never_negative(work, size_of(operands[0]))
        size = size if is_size else None
    if size is not None:
        known, same = size.as_constant, size.as_name
        if known is not None and -(2**63) <= known < 2**63:
            return constant(known, I64)
        if same is not None:
            return scalar(same, I64)
    result = work.op(name, *operands)
    if size is not None:
        result.size = size
    elif name == "mod" and type_ == I64 and isinstance(result.atom, Name):
        divisor = size_of(operands[1])
        if checks.never_negative(work, divisor):
            work.known.below[result.atom] = divisor
    return result


def _fold_logic(name: str, operands: tuple[Leaf, ...]) -> Leaf | None:
    """and, or with a constant on one side."""
    if name not in ("and", "or"):
        return None
    for one, other in (operands, operands[::-1]):
        if isinstance(one.atom, Constant):
            return other if bool(one.atom.value) == (name == "and") else one
    return None


def _logical_shift(work: Work, left: Leaf, right: Leaf) -> Leaf:
    type_ = left.scalar_type
    if type_.kind == "uint":
        return work.op("shr", left, right)
    unsigned = SCALARS["u" + type_.name[1:]]
    shifted = work.op(
        "shr", work.convert(left, unsigned), work.convert(right, unsigned)
    )
    return work.convert(shifted, type_)


def negate_logic(work: Work, leaf: Leaf) -> Leaf:
    """`!` on a bool or integer."""
    if leaf.type == BOOL and isinstance(leaf.atom, Constant):
        return constant(not leaf.atom.value, BOOL)
    return work.op("not", leaf)


def negate(work: Work, leaf: Leaf, location: Location) -> Leaf:
    """`-` in front."""
    type_, atom = leaf.scalar_type, leaf.atom
    if type_ == BOOL:
        return negate_logic(work, leaf)
    if isinstance(atom, Constant) and (type_.kind == "float" or type_.kind == "int"):
        return constant(_wrapped(-atom.value, type_), type_)
    return apply_named(work, "neg", (leaf,), location)


def _wrapped(number: int | float, type_: ScalarType) -> int | float:
    if type_.is_float:
        return number
    half = 1 << (type_.bits - 1)
    return (int(number) + half) % (2 * half) - half


# --- modules -----------------------------------------------------------------------


@cache
def numeric_module(name: str) -> Module:
    """`i32`, `f64`, ...: everything in it."""
    return Module(dict(_members(SCALARS[name])))


def operator_value(symbol: str) -> Primitive:
    """An operator as a function."""
    return Primitive(
        symbol,
        2,
        lambda call: apply_operator(call.work, symbol, call.arguments, call.location),
    )


def _members(type_: ScalarType) -> dict[str, Value]:
    members: dict[str, Value] = {}
    for source in SCALARS.values():
        members[source.name] = _conversion(type_)
    if type_ == BOOL:
        for symbol in ("==", "!=", "&&", "||"):
            members[symbol] = operator_value(symbol)
        return members
    for symbol in SYMBOLS:
        if symbol not in ("&&", "||") and (type_.is_integer or _floats_have(symbol)):
            members[symbol] = operator_value(symbol)
    for name in _operator_names(type_):
        members[name] = _operator_member(name, type_)
    for name, target in (("to_i32", I32), ("to_i64", I64), ("to_f64", SCALARS["f64"])):
        members[name] = _conversion(target)
    members.update(constants.of_type(type_))
    members.update(_composed(type_))
    members.update(_folds(type_))
    return members


def _floats_have(symbol: str) -> bool:
    return symbol in ("+", "-", "*", "/", "%", "**", "<", "<=", ">", ">=", "==", "!=")


@cache
def _operator_names(type_: ScalarType) -> tuple[str, ...]:
    from minifut.ir import scalars

    skipped = {"add", "sub", "mul", "div", "mod", "quot", "rem", "pow", "and", "or",
               "xor", "shl", "shr", "lt", "le", "gt", "ge", "eq", "ne"}  # fmt: skip
    return tuple(
        name
        for name, type_name in scalars.OPERATORS
        if type_name == type_.name and name not in skipped
    )


def _operator_member(name: str, type_: ScalarType) -> Primitive:
    table = operator(name, type_)

    def call(c: Call) -> Value:
        leaves = tuple(leaf for leaf in c.arguments if isinstance(leaf, Leaf))
        if name == "neg":
            return negate(c.work, leaves[0], c.location)
        if name == "abs" and type_.kind == "uint":
            return leaves[0]
        exp = core.ScalarOp(table, tuple(leaf.atom for leaf in leaves))
        result = c.work.leaf(exp, name)
        if type_ == I64 and name in ("min", "max"):
            _remember_extreme(c.work, name, leaves, result)
        return result

    return Primitive(f"{type_}.{name}", len(table.operands), call)


def _remember_extreme(
    work: Work, name: str, operands: tuple[Leaf, ...], result: Leaf
) -> None:
    """The minimum of sizes is not negative, nor is a maximum with one of them."""
    natural = [checks.never_negative(work, size_of(leaf)) for leaf in operands]
    shown = any(natural) if name == "max" else all(natural)
    if shown:
        work.known.sizes.add(result.name)


def _conversion(target: ScalarType) -> Primitive:
    def call(c: Call) -> Value:
        (leaf,) = c.arguments
        assert isinstance(leaf, Leaf)
        return c.work.convert(leaf, target)

    return Primitive(f"to {target}", 1, call)


def _composed(type_: ScalarType) -> dict[str, Value]:
    """Members made of several operators."""
    members: dict[str, Value] = {
        "get_bit": Primitive("get_bit", 2, lambda c: _get_bit(c, type_)),
        "set_bit": Primitive("set_bit", 3, lambda c: _set_bit(c, type_)),
    }
    if type_.is_float:
        members["recip"] = Primitive("recip", 1, lambda c: _reciprocal(c, type_))
        members["from_fraction"] = Primitive(
            "from_fraction", 2, lambda c: _fraction(c, type_)
        )
    return members


def _reciprocal(c: Call, type_: ScalarType) -> Value:
    (x,) = c.arguments
    assert isinstance(x, Leaf)
    return c.work.op("div", constant(1.0, type_), x)


def _fraction(c: Call, type_: ScalarType) -> Value:
    x, y = (c.work.convert(leaf, type_) for leaf in c.arguments)  # type: ignore[arg-type]
    return c.work.op("div", x, y)


def _as_bits(work: Work, x: Leaf, type_: ScalarType) -> Leaf:
    return work.op("to_bits", x) if type_.is_float else x


def _get_bit(c: Call, type_: ScalarType) -> Value:
    bit, x = c.arguments
    assert isinstance(bit, Leaf) and isinstance(x, Leaf)
    bits = _as_bits(c.work, x, type_)
    shifted = c.work.op("shr", bits, c.work.convert(bit, bits.scalar_type))
    return c.work.convert(c.work.op("and", shifted, constant(1, bits.scalar_type)), I32)


def _set_bit(c: Call, type_: ScalarType) -> Value:
    work = c.work
    bit, x, on = c.arguments
    assert isinstance(bit, Leaf) and isinstance(x, Leaf) and isinstance(on, Leaf)
    bits = _as_bits(work, x, type_)
    kind = bits.scalar_type
    place = work.convert(bit, kind)
    hole = work.op("not", work.op("shl", constant(1, kind), place))
    filling = work.op("shl", work.convert(on, kind), place)
    result = work.op("or", work.op("and", bits, hole), filling)
    if not type_.is_float:
        return result
    return work.leaf(core.ScalarOp(operator("from_bits", type_), (result.atom,)))


def _folds(type_: ScalarType) -> dict[str, Value]:
    """sum, product, maximum, minimum."""
    table = {
        "sum": ("add", constants.number(0, type_)),
        "product": ("mul", constants.number(1, type_)),
        "maximum": ("max", constants.lowest(type_)),
        "minimum": ("min", constants.highest(type_)),
    }
    return {name: _fold(*entry, type_) for name, entry in table.items()}


def _fold(name: str, neutral: Leaf, type_: ScalarType) -> Primitive:
    from minifut.frontend.elaborate import soacs

    def call(c: Call) -> Value:
        assert has_operator(name, type_)
        combine = Primitive(
            name,
            2,
            lambda inner: inner.work.op(name, *inner.arguments),  # type: ignore[arg-type]
        )
        return soacs.reduce(c, combine, neutral, c.arguments[0], commutative=True)

    return Primitive(f"{type_} {name}", 1, call)
