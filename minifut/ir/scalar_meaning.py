"""What scalar operators mean, in NumPy.

`meaning(operator)` is a function of typed NumPy scalars or arrays (mixed freely, by
broadcasting), to be called under `numpy.errstate(all="ignore")`; `apply` does that, and
`fold` works on constants. NumPy's integers wrap, its shifts by the width or more and
its division by zero give what `ir.scalars` promises, so most operators are a ufunc.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minifut.ir.core import Constant
from minifut.ir.scalars import Operator
from minifut.ir.types import ScalarType

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(dtype)
    for name, dtype in {
        "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
        "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
        "f16": "f2", "f32": "f4", "f64": "f8", "bool": "?",
    }.items()
}  # fmt: skip


def dtype_of(type_: ScalarType) -> np.dtype[Any]:
    """The NumPy type of a scalar type."""
    return DTYPES[type_.name]


Meaning = Callable[..., Any]


@cache
def meaning(operator: Operator) -> Meaning:
    """The operator on typed NumPy scalars or arrays."""
    name, type_ = operator.name, operator.type
    if name == "convert":
        return _conversion(operator.operands[0], operator.result)
    if name in ("to_bits", "from_bits"):
        target = dtype_of(operator.result)
        return lambda x: x.view(target)
    if name in _SHARED:
        return _SHARED[name]
    if type_.is_float:
        return _float_meaning(name, type_)
    if type_.is_integer:
        return _integer_meaning(name, type_)
    return _LOGIC[name]


def apply(operator: Operator, *operands: Any) -> Any:
    """The operator on typed NumPy scalars or arrays, without warnings."""
    with np.errstate(all="ignore"):
        return meaning(operator)(*operands)


def fold(operator: Operator, *operands: Constant) -> Constant:
    """The operator on constants."""
    given = [dtype_of(c.type).type(c.value) for c in operands]
    return Constant(apply(operator, *given).item(), operator.result)


_SHARED: dict[str, Meaning] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
_LOGIC: dict[str, Meaning] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
    "not": np.logical_not,
}  # fmt: skip


# --- integers --------------------------------------------------------------------

_INTEGERS: dict[str, Meaning] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative,
    "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "not": np.invert, "abs": np.absolute, "sgn": np.sign,
    "shl": np.left_shift, "shr": np.right_shift, "div": np.floor_divide,
    "mod": np.remainder, "rem": np.fmod,
}  # fmt: skip


def _integer_meaning(name: str, type_: ScalarType) -> Meaning:
    if name in _INTEGERS:
        return _INTEGERS[name]
    match name:
        case "quot":
            return lambda x, y: (x - np.fmod(x, y)) // y
        case "pow":
            return _power if type_.kind == "int" else np.power
        case "popc":
            return lambda x: _population(_as_unsigned(x, type_)).astype(np.int32)
        case "clz":
            return lambda x: _leading_zeros(_as_unsigned(x, type_), type_.bits)
        case "ctz":
            return lambda x: _trailing_zeros(_as_unsigned(x, type_))
        case "mul_hi":
            return lambda x, y: _high_product(x, y, type_)
        case _:
            assert name == "mad_hi"
            return lambda x, y, z: _high_product(x, y, type_) + z


def _power(base: Any, exponent: Any) -> Any:
    positive = np.maximum(exponent, exponent.dtype.type(0))
    raised = np.power(base, positive)
    return np.where(exponent < 0, raised.dtype.type(0), raised)[()]


def _as_unsigned(x: Any, type_: ScalarType) -> Any:
    return x.view(np.dtype(f"u{type_.bytes}"))


def _population(x: Any) -> Any:
    one, count = x.dtype.type(1), np.zeros_like(x)
    for bit in range(x.dtype.itemsize * 8):
        count = count + ((x >> x.dtype.type(bit)) & one)
    return count


def _smeared(x: Any) -> Any:
    """All bits below the highest one set as well."""
    distance = 1
    while distance < x.dtype.itemsize * 8:
        x = x | (x >> x.dtype.type(distance))
        distance *= 2
    return x


def _leading_zeros(x: Any, bits: int) -> Any:
    return (np.int32(bits) - _population(_smeared(x)).astype(np.int32))[()]


def _trailing_zeros(x: Any) -> Any:
    lowest = x & (~x + x.dtype.type(1))
    return _population(lowest - x.dtype.type(1)).astype(np.int32)


def _high_product(x: Any, y: Any, type_: ScalarType) -> Any:
    """The upper half of the double-width product."""
    dtype = dtype_of(type_)
    if type_.bits < 64:
        wide = np.dtype(f"{'i' if type_.kind == 'int' else 'u'}{2 * type_.bytes}")
        full = x.astype(wide) * y.astype(wide)
        return (full >> wide.type(type_.bits)).astype(dtype)
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    a, b = x.view(np.uint64), y.view(np.uint64)
    low = (a & mask) * (b & mask)
    middle = (a >> half) * (b & mask) + (low >> half)
    cross = (a & mask) * (b >> half) + (middle & mask)
    high = (a >> half) * (b >> half) + (middle >> half) + (cross >> half)
    if type_.kind == "int":
        zero = np.uint64(0)
        high = high - np.where(x < 0, b, zero) - np.where(y < 0, a, zero)
    return np.asarray(high).view(dtype)[()]


# --- floats ----------------------------------------------------------------------


def _elementwise(function: Callable[..., float]) -> Meaning:
    """A function of Python floats on typed scalars and arrays."""

    def guarded(*numbers: float) -> float:
        try:
            return function(*numbers)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    def meaning(*operands: Any) -> Any:
        dtype = operands[0].dtype
        lifted = np.frompyfunc(lambda *xs: guarded(*map(float, xs)), len(operands), 1)
        return np.asarray(lifted(*operands)).astype(dtype)[()]

    return meaning


def _gamma(x: float) -> float:
    if x == 0.0:
        return math.copysign(math.inf, x)
    return math.nan if x == -math.inf else math.gamma(x)


def _log_gamma(x: float) -> float:
    if x <= 0.0 and x == math.floor(x):
        return math.inf
    return math.lgamma(x)


def _turns(function: Callable[[float], float]) -> Callable[[float], float]:
    """sin, cos or tan of pi * x, exact where x is a multiple of a half."""

    def reduced(x: float) -> float:
        if not math.isfinite(x):
            return math.nan
        rest = math.fmod(x, 2.0)
        twice = rest * 2.0
        if twice == math.floor(twice):
            return _QUARTERS[function][int(twice) % 4]
        return function(math.pi * rest)

    return reduced


_QUARTERS: dict[Any, tuple[float, ...]] = {
    math.sin: (0.0, 1.0, 0.0, -1.0),
    math.cos: (1.0, 0.0, -1.0, 0.0),
    math.tan: (0.0, math.inf, 0.0, -math.inf),
}


def _fused(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once as far as a wider type allows."""
    wide = np.float64 if x.dtype.itemsize < 8 else np.longdouble
    total = np.asarray(x, wide) * np.asarray(y, wide) + np.asarray(z, wide)
    return total.astype(x.dtype)[()]


def _over_pi(function: Meaning) -> Meaning:
    return lambda *xs: (function(*xs) / xs[0].dtype.type(math.pi)).astype(xs[0].dtype)


def _least(x: Any, y: Any) -> Any:
    """The lesser operand, the other one of a NaN, the first of two equal ones."""
    return np.where((y < x) | (x != x), y, x)[()]


def _greatest(x: Any, y: Any) -> Any:
    return np.where((x < y) | (x != x), y, x)[()]


_FLOATS: dict[str, Meaning] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "pow": np.power, "min": _least, "max": _greatest, "mod": np.fmod,
    "rem": np.fmod, "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign,
    "nextafter": np.nextafter, "neg": np.negative, "abs": np.absolute, "sgn": np.sign,
    "sqrt": np.sqrt, "cbrt": np.cbrt, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "round": np.rint,
    "trunc": np.trunc, "isnan": np.isnan, "isinf": np.isinf, "ldexp": np.ldexp,
    "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "atan2pi": _over_pi(np.arctan2), "asinpi": _over_pi(np.arcsin),
    "acospi": _over_pi(np.arccos), "atanpi": _over_pi(np.arctan),
    "sinpi": _elementwise(_turns(math.sin)), "cospi": _elementwise(_turns(math.cos)),
    "tanpi": _elementwise(_turns(math.tan)), "gamma": _elementwise(_gamma),
    "lgamma": _elementwise(_log_gamma), "erf": _elementwise(math.erf),
    "erfc": _elementwise(math.erfc), "fma": _fused,
    "mad": lambda x, y, z: x * y + z,
    "lerp": lambda x, y, t: x + (y - x) * t,
}  # fmt: skip


def _float_meaning(name: str, type_: ScalarType) -> Meaning:
    function = _FLOATS[name]
    if type_.bits > 16 or name in _EXACT_HALF:
        return function
    return _through_single(function)


_EXACT_HALF = {"isnan", "isinf", "nextafter"}


def _through_single(function: Meaning) -> Meaning:
    """f16 is computed in f32 and rounded."""

    def rounded(*operands: Any) -> Any:
        half = [x.astype(np.float32) if x.dtype.kind == "f" else x for x in operands]
        return function(*half).astype(np.float16)

    return rounded


# --- conversions -------------------------------------------------------------------


def _conversion(source: ScalarType, target: ScalarType) -> Meaning:
    dtype = dtype_of(target)
    if source.is_float and target.is_integer:
        return lambda x: _truncated(x, dtype)
    if target.kind == "bool":
        return lambda x: np.not_equal(x, x.dtype.type(0))
    return lambda x: x.astype(dtype)


def _truncated(x: Any, dtype: np.dtype[Any]) -> Any:
    """Truncate and saturate; a negative number becomes an unsigned one by way of the
    signed type as wide."""
    if dtype.kind != "u":
        return _saturated(x, dtype)
    negative = _saturated(np.fmin(x, 0), np.dtype(f"i{dtype.itemsize}")).astype(dtype)
    return np.where(x < 0, negative, _saturated(x, dtype))[()]


def _saturated(x: Any, dtype: np.dtype[Any]) -> Any:
    """Truncate; beyond the range the nearest integer; 0 for what is not finite."""
    limits = np.iinfo(dtype)
    wide = np.trunc(x.astype(np.float64))
    # 2**63 and 2**64 are floats, the greatest i64 and u64 are not: compare first.
    high, low = wide >= float(limits.max), wide <= float(limits.min)
    inside = np.where(high | low | ~np.isfinite(wide), 0.0, wide)
    number = inside.astype(dtype)
    number = np.where(high, dtype.type(limits.max), number)
    number = np.where(low, dtype.type(limits.min), number)
    return np.where(np.isfinite(x), number, dtype.type(0))[()]
