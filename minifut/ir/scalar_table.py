"""The table of scalar operators: a row for each, on the types for which it is the same.

    Row(types, "sin", "xx", "sin", "cos(x)", cost=FUNCTION)
    Row(types, "div", "xxx", "floor_divide", "quot(1, y); -quot(x, y * y)",
        host="wrap(floor_div({0}, {1}))", cost=DIVISION, laws=_DIVIDED)

`signature` has a letter for each operand and one for the result: `x` the row's type,
`b` bool, `i` i32, `u` the unsigned integer as wide.

`numpy` names a function of NumPy or of `ir.scalar_meaning`.

`derivative` has a formula for each operand: the partial derivative in it. `x`, `y`,
`z` stand for the operands, `r` for the result; a call is a scalar operator of the same
type; numbers have the operator's type. "0" means that the result does not depend on the
operand, or in steps only (comparisons, rounding). The derivatives of `to_bits` and
`from_bits` are these operators, of the bits of tangents. At a kink one side is chosen:
`min` and `max` depend on their first operand where both are equal, and 0 ** y for y < 1
has derivative 0. Integers follow the same rules where these make sense, dividing
towards zero. None where no derivative is known.

`c` is a template in OpenCL C, of primary expressions {0}, {1}, {2}; {own} and
{unsigned} are names of types; {v} is the width of a vector, "" for scalars. `wrap(...)`
is computed in the unsigned type, because C leaves overflow undefined; `narrow(...)` is
cast to types narrower than int. Without a template it is a call of the function of that
name. A C function in `ir.scalar_helpers`, named like the operator, goes before: OpenCL
lacks it. `vector` is the template for vectors, where that is another; None if there is
none.

`host` is a template in Python, of Python's integers and bools and NumPy's floats, with
`wrap(...)` as above, "same" if it is the one of C; the functions named here are in
`minifut.opencl.runtime.host_scalars`. None leaves it to a kernel of one point.
"""

from __future__ import annotations

import math
from enum import Enum

from minifut.ir.node import immutable
from minifut.ir.types import BOOL, FLOATS, INTEGERS, ScalarType

Number = int | float | bool


class OperatorCost(Enum):
    """What an operator takes on a device: one instruction like an addition, a long one
    like a division, or a function of many instructions."""

    ADDITION = 1
    DIVISION = 2
    FUNCTION = 3


@immutable
class Identities:
    """What holds of a binary operator; None where there is no such element. -1 has
    all bits set; infinity is the greatest number of the type, if that is finite."""

    left_neutral: Number | None = None
    right_neutral: Number | None = None
    left_absorbing: Number | None = None
    right_absorbing: Number | None = None
    equal_operands: Number | None = None
    commutative: bool = False
    idempotent: bool = False


@immutable
class Row:
    """A scalar operator at some types. `laws` hold on integers and bools: of floats
    commutative, idempotent and neutral ones do (adding 0 turns -0 into 0, which is let
    pass). `exact` results are the same if computed in a wider type of floats."""

    types: tuple[ScalarType, ...]
    name: str
    signature: str
    numpy: str
    derivative: str | None
    c: str = ""
    vector: str | None = "same"
    host: str | None = None
    cost: OperatorCost = OperatorCost.ADDITION
    laws: Identities = Identities()
    exact: bool = False
    sign: str = ""
    "of C and Python for it on integers"


def _both(
    neutral: Number,
    absorbing: Number | None = None,
    equal_operands: Number | None = None,
    idempotent: bool = False,
) -> Identities:
    """A commutative operator."""
    return Identities(
        neutral, neutral, absorbing, absorbing, equal_operands, True, idempotent
    )


_BOOL, _NUMBERS, _ALL = (BOOL,), (*INTEGERS, *FLOATS), (*INTEGERS, *FLOATS, BOOL)
DIVISION, FUNCTION = OperatorCost.DIVISION, OperatorCost.FUNCTION
_LEAST, _GREATEST = -math.inf, math.inf
_SYMMETRIC = Identities(commutative=True, idempotent=True)
_DIVIDED = Identities(right_neutral=1, left_absorbing=0, right_absorbing=0)
_REMAINING = Identities(left_absorbing=0, right_absorbing=0, equal_operands=0)
_SHIFTED = Identities(right_neutral=0, left_absorbing=0)
_QUOTIENT = "quot(1, y); -quot(x, y * y)"
_LESS = "1 if x <= y else 0; 0 if x <= y else 1"
_MORE = "1 if x >= y else 0; 0 if x >= y else 1"
_PI, _LN2, _LN10 = "3.141592653589793", "0.6931471805599453", "2.302585092994046"


def _comparison(
    name: str, numpy: str, sign: str, laws: Identities,
    types: tuple[ScalarType, ...] = _ALL,
) -> Row:  # fmt: skip
    text = f"({{0}} {sign} {{1}})"
    return Row(types, name, "xxb", numpy, "0; 0", text, None, "same", laws=laws,
               exact=True, sign=sign)  # fmt: skip


def _function(name: str, derivative: str | None, numpy: str = "", c: str = "") -> Row:
    """A function of a float."""
    return Row(FLOATS, name, "xx", numpy or name, derivative, c, cost=FUNCTION)


def _rounding(name: str, numpy: str, c: str = "") -> Row:
    return Row(FLOATS, name, "xx", numpy, "0", c, exact=True)


# fmt: off
TABLE: tuple[Row, ...] = (
    _comparison("lt", "less", "<", Identities(equal_operands=False)),
    _comparison("le", "less_equal", "<=", Identities(equal_operands=True)),
    _comparison("gt", "greater", ">", Identities(equal_operands=False)),
    _comparison("ge", "greater_equal", ">=", Identities(equal_operands=True)),
    _comparison("eq", "equal", "==", Identities(commutative=True, equal_operands=True),
        _NUMBERS),
    _comparison("eq", "equal", "==", _both(True, equal_operands=True), _BOOL),
    _comparison("ne", "not_equal", "!=",
        Identities(commutative=True, equal_operands=False), _NUMBERS),
    _comparison("ne", "not_equal", "!=", _both(False, equal_operands=False), _BOOL),

    Row(_NUMBERS, "add", "xxx", "add", "1; 1", "wrap({0} + {1})", host="same",
        laws=_both(0), sign="+"),
    Row(_NUMBERS, "sub", "xxx", "subtract", "1; -1", "wrap({0} - {1})", host="same",
        laws=Identities(right_neutral=0, equal_operands=0), sign="-"),
    Row(_NUMBERS, "mul", "xxx", "multiply", "y; x", "wrap({0} * {1})", host="same",
        laws=_both(1, 0), sign="*"),
    Row(_NUMBERS, "neg", "xx", "negative", "-1", "wrap(-{0})", host="same", exact=True),

    Row(_BOOL, "and", "xxx", "logical_and", "y; x", "({0} & {1})", None,
        "({0} and {1})", laws=_both(True, False, idempotent=True), sign="&"),
    Row(_BOOL, "or", "xxx", "logical_or", "1; 0", "({0} | {1})", None, "({0} or {1})",
        laws=_both(False, True, idempotent=True), sign="|"),
    Row(_BOOL, "xor", "xxx", "logical_xor", "0; 0", "({0} != {1})", None, "same",
        laws=_both(False, equal_operands=False), sign="^"),
    Row(_BOOL, "not", "xx", "logical_not", "x", "(!{0})", None, "(not {0})"),

    Row(INTEGERS, "div", "xxx", "floor_divide", _QUOTIENT,
        host="wrap(floor_div({0}, {1}))", cost=DIVISION, laws=_DIVIDED),
    Row(INTEGERS, "quot", "xxx", "quotient", _QUOTIENT, host="wrap(quotient({0}, {1}))",
        cost=DIVISION, laws=_DIVIDED),
    Row(INTEGERS, "mod", "xxx", "remainder", "1; 0", host="floor_mod({0}, {1})",
        cost=DIVISION, laws=_REMAINING),
    Row(INTEGERS, "rem", "xxx", "fmod", "1; 0", host="remainder({0}, {1})",
        cost=DIVISION, laws=_REMAINING),
    Row(INTEGERS, "pow", "xxx", "integer_power", "y * pow(x, y - 1); 0",
        host="wrap(power({0}, {1}, {bits}))", cost=DIVISION,
        laws=Identities(right_neutral=1)),
    # Comparisons vectorise; the built-in functions of PoCL do not.
    Row(INTEGERS, "min", "xxx", "minimum", _LESS, "({1} < {0} ? {1} : {0})",
        "min({0}, {1})", "min({0}, {1})",
        laws=_both(_GREATEST, _LEAST, idempotent=True)),
    Row(INTEGERS, "max", "xxx", "maximum", _MORE, "({0} < {1} ? {1} : {0})",
        "max({0}, {1})", "max({0}, {1})",
        laws=_both(_LEAST, _GREATEST, idempotent=True)),
    Row(INTEGERS, "and", "xxx", "bitwise_and", "0; 0", "narrow({0} & {1})", host="same",
        laws=_both(-1, 0, idempotent=True), sign="&"),
    Row(INTEGERS, "or", "xxx", "bitwise_or", "0; 0", "narrow({0} | {1})", host="same",
        laws=_both(0, -1, idempotent=True), sign="|"),
    Row(INTEGERS, "xor", "xxx", "bitwise_xor", "0; 0", "narrow({0} ^ {1})", host="same",
        laws=_both(0, equal_operands=0), sign="^"),
    Row(INTEGERS, "shl", "xxx", "left_shift", "pow(2, y); 0",
        host="wrap(shift_left({0}, {1}, {bits}))", laws=_SHIFTED),
    Row(INTEGERS, "shr", "xxx", "right_shift", "quot(1, pow(2, y)); 0",
        host="shift_right({0}, {1}, {bits})", laws=_SHIFTED),
    Row(INTEGERS, "mul_hi", "xxx", "high_product", "y; x",
        host="(({0} * {1}) >> {bits})"),
    Row(INTEGERS, "mad_hi", "xxxx", "high_product_plus", "y; x; 1",
        "({own})(({unsigned})mul_hi({0}, {1}) + ({unsigned}){2})",
        "as_{own}{v}(as_{unsigned}{v}(mul_hi({0}, {1})) + as_{unsigned}{v}({2}))",
        "wrap((({0} * {1}) >> {bits}) + {2})"),
    Row(INTEGERS, "not", "xx", "invert", "not(x)", "({own})(~{0})", "(~{0})",
        "wrap(~{0})"),
    Row(INTEGERS, "abs", "xx", "absolute", "sgn(x)",
        "({own})({0} < 0 ? 0 - ({unsigned}){0} : ({unsigned}){0})",
        "as_{own}{v}(abs({0}))", "wrap(abs({0}))"),
    # A comparison of vectors is -1 where it holds.
    Row(INTEGERS, "sgn", "xx", "sign", "0", "({own})(({0} > 0) - ({0} < 0))",
        "as_{own}{v}(({0} < ({own}{v})(0)) - ({0} > ({own}{v})(0)))", "sign({0})"),
    Row(INTEGERS, "popc", "xi", "population", "0", "(int)popcount({0})",
        host="wrap_u{bits}({0}).bit_count()"),
    Row(INTEGERS, "clz", "xi", "leading_zeros", "0", "(int)clz({0})",
        "convert_int{v}(clz({0}))", "({bits} - wrap_u{bits}({0}).bit_length())"),
    Row(INTEGERS, "ctz", "xi", "trailing_zeros", "0",
        host="trailing_zeros({0}, {bits})"),

    Row(FLOATS, "div", "xxx", "divide", "1 / y; -(r / y)", "({0} / {1})",
        host="({type}({0}) / {type}({1}))", cost=DIVISION,
        laws=Identities(right_neutral=1)),
    Row(FLOATS, "mod", "xxx", "fmod", "1; -trunc(x / y)", "fmod({0}, {1})",
        cost=FUNCTION),
    Row(FLOATS, "rem", "xxx", "fmod", "1; -trunc(x / y)", "fmod({0}, {1})",
        cost=FUNCTION),
    Row(FLOATS, "pow", "xxx", "power",
        "y * pow(x, y - 1) if (x != 0) | (y >= 1) else 0; r * log(x) if x > 0 else 0",
        cost=FUNCTION, laws=Identities(right_neutral=1)),
    Row(FLOATS, "min", "xxx", "least", _LESS, "({1} < {0} || {0} != {0} ? {1} : {0})",
        host="{type}(fmin({0}, {1}))", laws=_SYMMETRIC, exact=True),
    Row(FLOATS, "max", "xxx", "greatest", _MORE,
        "({0} < {1} || {0} != {0} ? {1} : {0})", host="{type}(fmax({0}, {1}))",
        laws=_SYMMETRIC, exact=True),
    Row(FLOATS, "abs", "xx", "absolute", "sgn(x)", "fabs({0})", host="abs({type}({0}))",
        exact=True),
    # The sum makes a negative zero positive.
    Row(FLOATS, "sgn", "xx", "sign", "0",
        "({0} > 0 ? ({own})1 : {0} < 0 ? ({own})-1 : {0} + 0.0f)",
        "((isnan({0}) ? {0} : sign({0})) + 0.0f)", exact=True),
    Row(FLOATS, "fma", "xxxx", "fused", "y; x; 1"),
    Row(FLOATS, "mad", "xxxx", "multiply_add", "y; x; 1", "({0} * {1} + {2})"),
    Row(FLOATS, "lerp", "xxxx", "interpolated", "1 - z; z; y - x",
        "({0} + ({1} - {0}) * {2})"),
    Row(FLOATS, "atan2", "xxx", "arctan2",
        "y / (x * x + y * y); -(x / (x * x + y * y))", cost=FUNCTION),
    Row(FLOATS, "atan2pi", "xxx", "arctan2_over_pi",
        f"y / ({_PI} * (x * x + y * y)); -(x / ({_PI} * (x * x + y * y)))",
        cost=FUNCTION),
    Row(FLOATS, "hypot", "xxx", "hypot", "x / r; y / r", cost=FUNCTION,
        laws=Identities(commutative=True)),
    Row(FLOATS, "copysign", "xxx", "copysign", "copysign(1, x) * copysign(1, y); 0",
        exact=True),
    Row(FLOATS, "nextafter", "xxx", "nextafter", "1; 0", cost=DIVISION, exact=True),
    Row(FLOATS, "ldexp", "xix", "ldexp", "ldexp(1, y); 0", cost=FUNCTION),
    Row(FLOATS, "sqrt", "xx", "sqrt", "0.5 / r", host="sqrt({type}({0}))",
        cost=DIVISION),
    Row(FLOATS, "rsqrt", "xx", "inverse_root", "-0.5 * r / x", cost=DIVISION),
    _function("cbrt", "1 / (3 * r * r)"),
    _function("exp", "r"),
    _function("exp2", f"{_LN2} * r"),
    _function("exp10", f"{_LN10} * r", "power_of_ten"),
    _function("expm1", "r + 1"),
    _function("log", "1 / x"),
    _function("log2", f"1 / ({_LN2} * x)"),
    _function("log10", f"1 / ({_LN10} * x)"),
    _function("log1p", "1 / (1 + x)"),
    _function("sin", "cos(x)"),
    _function("cos", "-sin(x)"),
    _function("tan", "1 + r * r"),
    _function("asin", "1 / sqrt(1 - x * x)", "arcsin"),
    _function("acos", "-1 / sqrt(1 - x * x)", "arccos"),
    _function("atan", "1 / (1 + x * x)", "arctan"),
    _function("sinh", "cosh(x)"),
    _function("cosh", "sinh(x)"),
    _function("tanh", "1 - r * r"),
    _function("asinh", "1 / sqrt(1 + x * x)", "arcsinh"),
    _function("acosh", "1 / sqrt(x * x - 1)", "arccosh"),
    _function("atanh", "1 / (1 - x * x)", "arctanh"),
    _function("sinpi", f"{_PI} * cospi(x)"),
    _function("cospi", f"-{_PI} * sinpi(x)"),
    _function("tanpi", f"{_PI} * (1 + r * r)"),
    _function("asinpi", f"1 / ({_PI} * sqrt(1 - x * x))", "arcsin_over_pi"),
    _function("acospi", f"-1 / ({_PI} * sqrt(1 - x * x))", "arccos_over_pi"),
    _function("atanpi", f"1 / ({_PI} * (1 + x * x))", "arctan_over_pi"),
    _rounding("floor", "floor"),
    _rounding("ceil", "ceil"),
    _rounding("round", "rint", "rint({0})"),
    _rounding("trunc", "trunc"),
    _function("gamma", None, "gamma", "tgamma({0})"),
    _function("lgamma", None, "log_gamma"),
    _function("erf", "1.1283791670955126 * exp(-(x * x))"),
    _function("erfc", "-1.1283791670955126 * exp(-(x * x))"),
    Row(FLOATS, "isnan", "xb", "isnan", "0",
        "((as_{unsigned}({0}) << 1) > (as_{unsigned}(({own})INFINITY) << 1))", None,
        exact=True),
    Row(FLOATS, "isinf", "xb", "isinf", "0",
        "({0} == INFINITY || {0} == -INFINITY)", None, exact=True),
    Row(FLOATS, "to_bits", "xu", "to_bits", "1", "as_{unsigned}{v}({0})", exact=True),
    Row(FLOATS, "from_bits", "ux", "from_bits", "1", "as_{own}{v}({0})", exact=True),
)
# fmt: on
