"""The one table of scalar operators.

Checker, constant folder, interpreter and C printer all read it: an operator's name, its
operand and result types and its cost stand here; its meaning in NumPy, its spelling in
OpenCL C, its algebraic identities and its derivative beside it in `ir.scalar_meaning`,
`ir.scalar_opencl`, `ir.scalar_identities` and `ir.scalar_derivatives`, under the same
names.

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

from enum import Enum
from functools import cache

from minifut.ir.node import value
from minifut.ir.types import BOOL, I32, SCALARS, U16, U32, U64, ScalarType


@value
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


COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
LOGIC = ("and", "or", "xor")
INTEGER_BINARY = (
    "add", "sub", "mul", "div", "mod", "quot", "rem", "pow", "min", "max",
    "and", "or", "xor", "shl", "shr", "mul_hi",
)  # fmt: skip
INTEGER_UNARY = ("neg", "not", "abs", "sgn")
COUNTS = ("popc", "clz", "ctz")
FLOAT_BINARY = (
    "add", "sub", "mul", "div", "pow", "min", "max", "mod", "rem",
    "atan2", "atan2pi", "hypot", "copysign", "nextafter",
)  # fmt: skip
FLOAT_UNARY = (
    "neg", "abs", "sgn", "sqrt", "rsqrt", "cbrt", "exp", "exp2", "exp10", "expm1",
    "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sinpi", "cospi", "tanpi",
    "asinpi", "acospi", "atanpi", "floor", "ceil", "round", "trunc",
    "gamma", "lgamma", "erf", "erfc",
)  # fmt: skip
FLOAT_TERNARY = ("fma", "mad", "lerp")
FLOAT_TESTS = ("isnan", "isinf")

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
"""the signs of C and Python for these operators on integers"""

_DIVISIONS = frozenset(("div", "mod", "quot", "rem", "pow"))
_ROOTS = frozenset(("div", "sqrt", "rsqrt", "nextafter"))
_SIMPLE = frozenset((
    "add", "sub", "mul", "min", "max", "neg", "abs", "sgn", "fma", "mad", "lerp",
    "to_bits", "copysign", "floor", "ceil", "round", "trunc", "convert",
    *FLOAT_TESTS, *COMPARISONS,
))  # fmt: skip

_BITS = {16: U16, 32: U32, 64: U64}


def _signatures(
    type_: ScalarType,
) -> dict[str, tuple[tuple[ScalarType, ...], ScalarType]]:
    """Everything that is named after a type, with its operand and result types."""
    table: dict[str, tuple[tuple[ScalarType, ...], ScalarType]] = {}

    def enter(names: tuple[str, ...], arity: int, result: ScalarType = type_) -> None:
        table.update(dict.fromkeys(names, ((type_,) * arity, result)))

    enter(COMPARISONS, 2, BOOL)
    if type_ == BOOL:
        enter(LOGIC, 2)
        enter(("not",), 1)
    elif type_.is_integer:
        enter(INTEGER_BINARY, 2)
        enter(INTEGER_UNARY, 1)
        enter(COUNTS, 1, I32)
        enter(("mad_hi",), 3)
    else:
        enter(FLOAT_BINARY, 2)
        enter(FLOAT_UNARY, 1)
        enter(FLOAT_TERNARY, 3)
        enter(FLOAT_TESTS, 1, BOOL)
        bits = _BITS[type_.bits]
        table["ldexp"] = ((type_, I32), type_)
        table["to_bits"] = ((type_,), bits)
        table["from_bits"] = ((bits,), type_)
    return table


OPERATORS: dict[tuple[str, str], Operator] = {
    (name, type_.name): Operator(name, operands, result)
    for type_ in SCALARS.values()
    for name, (operands, result) in _signatures(type_).items()
}
"""By name and type: all but the conversions"""


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


class OperatorCost(Enum):
    """What an operator takes on a device: one instruction like an addition, a long one
    like a division, or a function of many instructions."""

    ADDITION = 1
    DIVISION = 2
    FUNCTION = 3


@cache
def operator_cost(operator: Operator) -> OperatorCost:
    """The cost of an operator."""
    name = operator.name
    if not operator.operands[0].is_float:
        return OperatorCost.DIVISION if name in _DIVISIONS else OperatorCost.ADDITION
    if name in _SIMPLE:
        return OperatorCost.ADDITION
    return OperatorCost.DIVISION if name in _ROOTS else OperatorCost.FUNCTION


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
