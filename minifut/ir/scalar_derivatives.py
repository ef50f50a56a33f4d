"""The derivatives of scalar operators: one more column of the table in `ir.scalars`.

    mul    ("y", "x")           sin    ("cos(x)",)           exp    ("r",)

A row has a formula for each operand: the partial derivative of the operator in that
operand. `x`, `y`, `z` stand for the operands, `r` for the result; a call is a scalar
operator of the same type; numbers have the operator's type. "0" means that the result
does not depend on the operand, or in steps only (comparisons, rounding, bits).

At a kink one side is chosen: `min` and `max` depend on their first operand where both
are equal, and 0 ** y for y < 1 has derivative 0. Integers follow the same rules where
these make sense, dividing towards zero.
"""

from __future__ import annotations

import ast
from functools import cache

from minifut.errors import InternalError
from minifut.ir.scalars import Operator

STEP = "0"
PI = "3.141592653589793"
LN2, LN10 = "0.6931471805599453", "2.302585092994046"

_ARITHMETIC: dict[str, tuple[str, ...]] = {
    "add": ("1", "1"),
    "sub": ("1", "-1"),
    "mul": ("y", "x"),
    "min": ("1 if x <= y else 0", "0 if x <= y else 1"),
    "max": ("1 if x >= y else 0", "0 if x >= y else 1"),
    "neg": ("-1",),
    "abs": ("sgn(x)",),
}

_FLOATS: dict[str, tuple[str, ...]] = _ARITHMETIC | {
    "div": ("1 / y", "-(r / y)"),
    "mod": ("1", "-trunc(x / y)"),
    "rem": ("1", "-trunc(x / y)"),
    "pow": (
        "y * pow(x, y - 1) if (x != 0) | (y >= 1) else 0",
        "r * log(x) if x > 0 else 0",
    ),
    "atan2": ("y / (x * x + y * y)", "-(x / (x * x + y * y))"),
    "atan2pi": (
        f"y / ({PI} * (x * x + y * y))",
        f"-(x / ({PI} * (x * x + y * y)))",
    ),
    "hypot": ("x / r", "y / r"),
    "copysign": ("copysign(1, x) * copysign(1, y)", "0"),
    "nextafter": ("1", "0"),
    "sqrt": ("0.5 / r",),
    "rsqrt": ("-0.5 * r / x",),
    "cbrt": ("1 / (3 * r * r)",),
    "exp": ("r",),
    "exp2": (f"{LN2} * r",),
    "exp10": (f"{LN10} * r",),
    "expm1": ("r + 1",),
    "log": ("1 / x",),
    "log2": (f"1 / ({LN2} * x)",),
    "log10": (f"1 / ({LN10} * x)",),
    "log1p": ("1 / (1 + x)",),
    "sin": ("cos(x)",),
    "cos": ("-sin(x)",),
    "tan": ("1 + r * r",),
    "asin": ("1 / sqrt(1 - x * x)",),
    "acos": ("-1 / sqrt(1 - x * x)",),
    "atan": ("1 / (1 + x * x)",),
    "sinh": ("cosh(x)",),
    "cosh": ("sinh(x)",),
    "tanh": ("1 - r * r",),
    "asinh": ("1 / sqrt(1 + x * x)",),
    "acosh": ("1 / sqrt(x * x - 1)",),
    "atanh": ("1 / (1 - x * x)",),
    "sinpi": (f"{PI} * cospi(x)",),
    "cospi": (f"-{PI} * sinpi(x)",),
    "tanpi": (f"{PI} * (1 + r * r)",),
    "asinpi": (f"1 / ({PI} * sqrt(1 - x * x))",),
    "acospi": (f"-1 / ({PI} * sqrt(1 - x * x))",),
    "atanpi": (f"1 / ({PI} * (1 + x * x))",),
    "erf": ("1.1283791670955126 * exp(-(x * x))",),
    "erfc": ("-1.1283791670955126 * exp(-(x * x))",),
    "fma": ("y", "x", "1"),
    "mad": ("y", "x", "1"),
    "lerp": ("1 - z", "z", "y - x"),
    "ldexp": ("ldexp(1, y)", "0"),
}

_QUOTIENT = ("quot(1, y)", "-quot(x, y * y)")
_INTEGERS: dict[str, tuple[str, ...]] = _ARITHMETIC | {
    "div": _QUOTIENT,
    "quot": _QUOTIENT,
    "mod": ("1", "0"),
    "rem": ("1", "0"),
    "pow": ("y * pow(x, y - 1)", "0"),
    "shl": ("pow(2, y)", "0"),
    "shr": ("quot(1, pow(2, y))", "0"),
    "not": ("not(x)",),
    "mul_hi": ("y", "x"),
    "mad_hi": ("y", "x", "1"),
}

_LOGIC: dict[str, tuple[str, ...]] = {
    "not": ("x",),
    "and": ("y", "x"),
    "or": ("1", "0"),
}

_STEPS = frozenset((
    "lt", "le", "gt", "ge", "eq", "ne", "isnan", "isinf", "sgn", "floor", "ceil",
    "round", "trunc", "to_bits", "from_bits", "popc", "clz", "ctz", "and", "or", "xor",
))  # fmt: skip


@cache
def partials(operator: Operator) -> tuple[str, ...] | None:
    """The formula for each operand; None where no derivative is known (`gamma`,
    `lgamma`). A conversion between numbers counts as linear."""
    name = operator.name
    if name == "convert":
        kinds = {operator.operands[0].kind, operator.result.kind}
        return (STEP,) if "bool" in kinds else ("1",)
    of_kind = {"float": _FLOATS, "bool": _LOGIC}.get(operator.type.kind, _INTEGERS)
    if name in of_kind:
        return of_kind[name]
    return (STEP,) * len(operator.operands) if name in _STEPS else None


@cache
def parsed(formula: str) -> ast.expr:
    """The formula as a tree of Python's. `not(x)` is a call of the operator."""
    try:
        tree = ast.parse(formula, mode="eval")
    except SyntaxError as error:
        raise InternalError("ir.scalar_derivatives", formula) from error
    return tree.body
