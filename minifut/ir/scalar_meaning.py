"""What scalar operators mean, in NumPy.

`meaning(operator)` is a function of typed NumPy scalars or arrays (mixed freely, by
broadcasting), to be called under `numpy.errstate(all="ignore")`; `apply` does that.
NumPy's integers wrap, its shifts by the width or more and
its division by zero give what `ir.scalars` promises, so most operators are a ufunc. The
other functions that `ir.scalar_table` names are here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minifut.ir.scalars import Operator, row_of
from minifut.ir.types import F16, ScalarType

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
    if operator.name == "convert":
        return _conversion(operator.operands[0], operator.result)
    row = row_of(operator)
    function: Meaning = globals().get(row.numpy) or getattr(np, row.numpy)
    if operator.type == F16 and not row.exact:
        return _through_single(function)
    return function


def apply(operator: Operator, *operands: Any) -> Any:
    """The operator on typed NumPy scalars or arrays, without warnings."""
    with np.errstate(all="ignore"):
        return meaning(operator)(*operands)


# --- integers --------------------------------------------------------------------


def quotient(x: Any, y: Any) -> Any:
    """x / y, towards zero."""
    return (x - np.fmod(x, y)) // y


def integer_power(base: Any, exponent: Any) -> Any:
    """base ** exponent; 0 for negative exponents."""
    positive = np.maximum(exponent, exponent.dtype.type(0))
    raised = np.power(base, positive)
    return np.where(exponent < 0, raised.dtype.type(0), raised)[()]


def _ones(x: Any) -> Any:
    one, count = x.dtype.type(1), np.zeros_like(x)
    for bit in range(x.dtype.itemsize * 8):
        count = count + ((x >> x.dtype.type(bit)) & one)
    return count.astype(np.int32)


def _as_unsigned(x: Any) -> Any:
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def population(x: Any) -> Any:
    """How many bits are set."""
    return _ones(_as_unsigned(x))


def leading_zeros(x: Any) -> Any:
    """How many bits precede the highest one."""
    x, distance, bits = _as_unsigned(x), 1, x.dtype.itemsize * 8
    while distance < bits:  # set all below the highest one as well
        x = x | (x >> x.dtype.type(distance))
        distance *= 2
    return (np.int32(bits) - _ones(x))[()]


def trailing_zeros(x: Any) -> Any:
    """How many bits follow the lowest one."""
    x = _as_unsigned(x)
    return _ones((x & (~x + x.dtype.type(1))) - x.dtype.type(1))


def high_product(x: Any, y: Any) -> Any:
    """The upper half of the double-width product."""
    dtype = np.result_type(x, y)
    bits = dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")
        full = x.astype(wide) * y.astype(wide)
        return (full >> wide.type(bits)).astype(dtype)
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    a, b = x.view(np.uint64), y.view(np.uint64)
    low = (a & mask) * (b & mask)
    middle = (a >> half) * (b & mask) + (low >> half)
    cross = (a & mask) * (b >> half) + (middle & mask)
    high = (a >> half) * (b >> half) + (middle >> half) + (cross >> half)
    if dtype.kind == "i":
        zero = np.uint64(0)
        high = high - np.where(x < 0, b, zero) - np.where(y < 0, a, zero)
    return np.asarray(high).view(dtype)[()]


def high_product_plus(x: Any, y: Any, z: Any) -> Any:
    """The upper half of x * y, plus z."""
    return high_product(x, y) + z


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


@_elementwise
def gamma(x: float) -> float:
    """The gamma function; infinite at zero, with its sign."""
    if x == 0.0:
        return math.copysign(math.inf, x)
    return math.nan if x == -math.inf else math.gamma(x)


@_elementwise
def log_gamma(x: float) -> float:
    """log |gamma(x)|; infinite at the poles."""
    return math.inf if x <= 0.0 and x == math.floor(x) else math.lgamma(x)


def _turns(
    function: Callable[[float], float], quarters: tuple[float, ...]
) -> Callable[[float], float]:
    """sin, cos or tan of pi * x, exact where x is a multiple of a half."""

    def reduced(x: float) -> float:
        if not math.isfinite(x):
            return math.nan
        rest = math.fmod(x, 2.0)
        twice = rest * 2.0
        if twice == math.floor(twice):
            return quarters[int(twice) % 4]
        return function(math.pi * rest)

    return reduced


def _over_pi(function: Meaning) -> Meaning:
    return lambda *xs: (function(*xs) / xs[0].dtype.type(math.pi)).astype(xs[0].dtype)


sinpi = _elementwise(_turns(math.sin, (0.0, 1.0, 0.0, -1.0)))
cospi = _elementwise(_turns(math.cos, (1.0, 0.0, -1.0, 0.0)))
tanpi = _elementwise(_turns(math.tan, (0.0, math.inf, 0.0, -math.inf)))
erf, erfc = _elementwise(math.erf), _elementwise(math.erfc)
arcsin_over_pi, arccos_over_pi = _over_pi(np.arcsin), _over_pi(np.arccos)
arctan_over_pi, arctan2_over_pi = _over_pi(np.arctan), _over_pi(np.arctan2)


def fused(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once as far as a wider type allows."""
    wide = np.float64 if x.dtype.itemsize < 8 else np.longdouble
    total = np.asarray(x, wide) * np.asarray(y, wide) + np.asarray(z, wide)
    return total.astype(x.dtype)[()]


def multiply_add(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded twice."""
    return x * y + z


def interpolated(x: Any, y: Any, t: Any) -> Any:
    """From x to y."""
    return x + (y - x) * t


def inverse_root(x: Any) -> Any:
    """1 / sqrt(x)."""
    return x.dtype.type(1) / np.sqrt(x)


def power_of_ten(x: Any) -> Any:
    """10 ** x."""
    return np.power(x.dtype.type(10), x)


def least(x: Any, y: Any) -> Any:
    """The lesser operand, the other one of a NaN, the first of two equal ones."""
    return np.where((y < x) | (x != x), y, x)[()]


def greatest(x: Any, y: Any) -> Any:
    """The greater operand, likewise."""
    return np.where((x < y) | (x != x), y, x)[()]


def to_bits(x: Any) -> Any:
    """The bits of a float as an unsigned integer."""
    return _as_unsigned(x)


def from_bits(x: Any) -> Any:
    """The float of these bits."""
    return x.view(np.dtype(f"f{x.dtype.itemsize}"))


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
