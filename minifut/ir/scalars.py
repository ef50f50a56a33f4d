"""Scalar operators: what is known of each, from its row in `ir.scalar_table`.

Checker, constant folder, interpreter, differentiation, C and host printer all read that
one table, those of meaning and spelling through `ir.scalar_meaning`, `ir.scalar_opencl`
and `lowering.host.operators`.

All operators are total. Integer arithmetic wraps; dividing by zero gives 0 (also `mod`
and `rem`); shifting by the width or more gives 0, or the sign for `shr` of a signed
number; a negative integer exponent gives 0. A conversion of a float to an integer
truncates and saturates, a negative one to an unsigned type by way of the signed type as
wide; what is not finite becomes 0. f16 is computed in f32, rounded after each operator.

    div     towards minus infinity        quot    towards zero
    mod     sign of the divisor           rem     sign of the dividend
            (of floats as rem, as C's fmod)
    shr     arithmetic for signed, logical for unsigned integers
    round   halves to even
    min max of floats ignore NaN, and give the first of two zeros
    sgn     of a zero is 0.0
"""

from __future__ import annotations

import math
import operator as python
from collections.abc import Callable, Sequence
from functools import cache

from minifut.ir.node import immutable, replace
from minifut.ir.scalar_table import TABLE, Identities, Number, OperatorCost, Row
from minifut.ir.sizes import Size
from minifut.ir.types import BOOL, I32, SCALARS, U16, U32, U64, ScalarType

OF_POLYNOMIALS: dict[str, Callable[[Size, Size], Size]] = {
    "add": python.add,
    "sub": python.sub,
    "mul": python.mul,
}
"""operators of integers that give polynomials of polynomials, where nothing wraps"""


@immutable
class Operator:
    """`name` with its types, e.g. add (i32, i32) -> i32; printed `add_i32`."""

    name: str
    operands: tuple[ScalarType, ...]
    result: ScalarType

    def __hash__(self) -> int:
        # Python remembers the hashes of strings
        return hash(self.name) ^ hash(self.result.name)

    @property
    def type(self) -> ScalarType:
        """The type that the operator is named after."""
        return self.result if self.name == "from_bits" else self.operands[0]

    def __str__(self) -> str:
        if self.name == "convert":
            return f"convert_{self.operands[0]}_{self.result}"
        return f"{self.name}_{self.type}"


_WORDS = {16: U16, 32: U32, 64: U64}


def operator_of(row: Row, type_: ScalarType) -> Operator:
    """The operator of a row at one of its types."""
    letters = {"x": type_, "b": BOOL, "i": I32, "u": _WORDS.get(type_.bits, type_)}
    *operands, result = (letters[letter] for letter in row.signature)
    return Operator(row.name, tuple(operands), result)


ROWS = {(row.name, t.name): row for row in TABLE for t in row.types}
OPERATORS = {
    (row.name, type_.name): operator_of(row, type_)
    for type_ in SCALARS.values()
    for row in TABLE
    if type_ in row.types
}
"""By name and type: all but the conversions"""

INFIX = {row.name: row.sign for row in TABLE if row.sign}
"""the signs of C and Python for these operators on integers"""
COMPARISONS = tuple(dict.fromkeys(r.name for r in TABLE if r.signature == "xxb"))
LOGIC = tuple(row.name for row in TABLE if row.types == (BOOL,) and row.sign)


def operator(name: str, type_: ScalarType) -> Operator:
    """The operator of that name and type; a KeyError if there is none."""
    return OPERATORS[name, type_.name]


def has_operator(name: str, type_: ScalarType) -> bool:
    """Whether there is an operator of that name at that type."""
    return (name, type_.name) in OPERATORS


@cache
def convert(source: ScalarType, target: ScalarType) -> Operator:
    """The conversion between two scalar types (also of a type to itself)."""
    return Operator("convert", (source,), target)


def row_of(operator: Operator) -> Row:
    """The row of an operator, which is no conversion."""
    return ROWS[operator.name, operator.type.name]


def operator_cost(operator: Operator) -> OperatorCost:
    """The cost of an operator; conversions cost an addition."""
    if operator.name == "convert":
        return OperatorCost.ADDITION
    return row_of(operator).cost


STEP = "0"


@cache
def partials(operator: Operator) -> tuple[str, ...] | None:
    """The formula of the partial derivative in each operand; None where none is known.
    A conversion between numbers counts as linear."""
    if operator.name == "convert":
        kinds = {operator.operands[0].kind, operator.result.kind}
        return (STEP,) if "bool" in kinds else ("1",)
    formulas = row_of(operator).derivative
    return None if formulas is None else tuple(formulas.split("; "))


def integer_range(type_: ScalarType) -> tuple[int, int]:
    """The least and greatest number of an integer type."""
    if type_.kind == "uint":
        return 0, 2**type_.bits - 1
    return -(2 ** (type_.bits - 1)), 2 ** (type_.bits - 1) - 1


@cache
def identities(operator: Operator) -> Identities:
    """What holds of an operator, with numbers of its type; nothing for most. For floats
    what holds for every value: infinity is no neutral element of `min`, of it and NaN
    that is infinity."""
    if operator.name == "convert":
        return Identities()
    laws, type_ = row_of(operator).laws, operator.type
    if type_.is_float:
        laws = replace(laws, left_absorbing=None, right_absorbing=None)
        laws = replace(laws, equal_operands=None)

    def number(element: Number | None) -> Number | None:
        if element in (-math.inf, math.inf):
            return integer_range(type_)[element == math.inf]
        return element if element is None else type_.nearest(element)

    return replace(
        laws,
        left_neutral=number(laws.left_neutral),
        right_neutral=number(laws.right_neutral),
        left_absorbing=number(laws.left_absorbing),
        right_absorbing=number(laws.right_absorbing),
    )


COMPARE: dict[str, Callable[[int, int], bool]] = {
    name: getattr(python, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")
}
"""what comparisons say of two integers"""


def known_truth(name: str, values: Sequence[object]) -> bool | None:
    """What an operator on truths gives, of which those are known that are a bool; None
    if it is not known."""
    match name, values:
        case "and", _ if any(value is False for value in values):
            return False
        case "or", _ if any(value is True for value in values):
            return True
        case "and" | "or", (bool(), bool()):
            return name == "and"
        case "not", (bool(holds),):
            return not holds
        case "xor" | "ne", (bool(left), bool(right)):
            return left != right
        case "eq", (bool(left), bool(right)):
            return left == right
    return None


@cache
def parse_operator(text: str) -> Operator | None:
    """The operator printed as `text`; None if there is none."""
    name, _, last = text.rpartition("_")
    if name.startswith("convert_"):
        source, target = SCALARS.get(name[len("convert_") :]), SCALARS.get(last)
        return convert(source, target) if source and target else None
    return OPERATORS.get((name, last))


def all_operators() -> tuple[Operator, ...]:
    """The whole table, conversions included."""
    types = SCALARS.values()
    conversions = (convert(a, b) for a in types for b in types)
    return (*OPERATORS.values(), *conversions)
