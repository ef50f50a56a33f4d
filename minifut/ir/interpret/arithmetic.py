"""Scalar operators for the interpreter.

A scalar is a Python int, float or bool that its type can hold exactly; an f32 is a
Python float rounded to 32 bits (a sum, product, quotient or root of two such, computed
in 64 bits and rounded once more, is the correctly rounded result). The operators that
loops live on have a Python expression here; the others go through their NumPy meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from minifut.ir.rounding import round32
from minifut.ir.scalar_meaning import DTYPES, meaning
from minifut.ir.scalars import COMPARISONS, INFIX, LOGIC, Operator
from minifut.ir.types import ArrayType, ScalarType, Type, element_of

NUMPY_TYPES: dict[str, Any] = {name: dtype.type for name, dtype in DTYPES.items()}
FOLDED = frozenset(("add", "mul", "min", "max", "and", "or", "xor"))
"""operators whose ufuncs fold"""


def dtype_of(type_: Type) -> np.dtype:
    """How NumPy has the elements of a type."""
    return DTYPES[element_of(type_).name]


def python_text(operator: Operator, operands: list[str]) -> str | None:
    """The operator as a Python expression of these atoms, if it has a simple one."""
    name, type_ = operator.name, operator.type
    if name in COMPARISONS or name in LOGIC:
        return f"{operands[0]} {INFIX[name]} {operands[1]}"
    if name == "not" and type_.kind == "bool":
        return f"not {operands[0]}"
    if name in INFIX:
        return _wrap(f"{operands[0]} {INFIX[name]} {operands[1]}", type_)
    if name == "neg":
        return _wrap(f"-{operands[0]}", type_)
    if name in ("min", "max") and type_.is_integer:
        return f"{name}({operands[0]}, {operands[1]})"
    if name in ("div", "mod") and type_.is_integer:
        symbol = "//" if name == "div" else "%"
        quotient = f"({operands[0]} {symbol} {operands[1]} if {operands[1]} else 0)"
        return _wrap(quotient, type_) if type_.kind == "int" else quotient
    if name == "convert":
        return _convert(operator, operands[0])
    return None


def _convert(operator: Operator, operand: str) -> str | None:
    source, target = operator.operands[0], operator.result
    if source == target:
        return operand
    if target.kind == "bool":
        return f"{operand} != 0"
    if source.kind == "bool":
        return f"float({operand})" if target.is_float else f"int({operand})"
    if source.is_integer and target.is_integer:
        return _wrap(operand, target)
    if source.is_float and target.is_float:
        return operand if target.bits > source.bits else _wrap(operand, target)
    if target.name == "f64" and source.bits <= 32:
        return f"float({operand})"
    return None


def _wrap(text: str, type_: ScalarType) -> str | None:
    """Bring the value of a Python expression into the range of the type."""
    match type_.name:
        case "f64":
            return f"float({text})"
        case "f32":
            return f"round32({text})"
        case "f16" | "bool":
            return None
    if type_.kind == "uint":
        return f"({text}) & {(1 << type_.bits) - 1}"
    half = 1 << (type_.bits - 1)
    return f"(({text}) + {half} & {(1 << type_.bits) - 1}) - {half}"


@cache
def scalar_function(operator: Operator) -> Callable[..., Any]:
    """The operator on Python numbers: its expression, else its NumPy meaning."""
    names = ["x", "y", "z"][: len(operator.operands)]
    text = python_text(operator, names)
    if text is not None:
        expression = f"lambda {', '.join(names)}: {text}"
        compiled: Callable[..., Any] = eval(expression, {"round32": round32})
        return compiled
    function = meaning(operator)
    types = [NUMPY_TYPES[t.name] for t in operator.operands]

    def apply(*operands: Any) -> Any:
        given = [t(o) for t, o in zip(types, operands, strict=True)]
        with np.errstate(all="ignore"):
            return np.asarray(function(*given)).item()

    return apply


@cache
def lanes_function(operator: Operator) -> Callable[..., Any]:
    """The operator on arrays (or Python numbers), elementwise, with its result type."""
    function = meaning(operator)
    types = [np.dtype(NUMPY_TYPES[t.name]) for t in operator.operands]
    result = np.dtype(NUMPY_TYPES[operator.result.name])

    def apply(*operands: Any) -> Any:
        given = [np.asarray(o, t) for t, o in zip(types, operands, strict=True)]
        with np.errstate(all="ignore"):
            return np.asarray(function(*given)).astype(result, copy=False)

    return apply


class _Extreme:
    """NumPy's fmin or fmax as a fold that takes the first of two zeros."""

    def __init__(self, operator: Operator, ufunc: Any) -> None:
        self.ufunc, self.operator = ufunc, meaning(operator)

    def __call__(self, x: Any, y: Any) -> Any:
        return self.operator(x, y)

    def reduce(self, values: np.ndarray, dtype: Any) -> Any:
        """The extreme of an array."""
        return self.accumulate(values, dtype)[-1]

    def accumulate(self, values: np.ndarray, dtype: Any) -> np.ndarray:
        """The extremes so far."""
        found: np.ndarray = self.ufunc.accumulate(values, dtype=dtype)
        found[found == 0] = values[np.argmax(values == 0)]
        return found


def fold_function(operator: Operator) -> Any | None:
    """What folds with the operator by `reduce` and `accumulate`, like a ufunc."""
    name, type_ = operator.name, operator.type
    if type_.name == "f16":
        return None
    if type_.is_float and name in ("min", "max"):
        return _Extreme(operator, np.fmin if name == "min" else np.fmax)
    return meaning(operator) if name in FOLDED else None


def from_numpy(value: Any, type_: ScalarType) -> Any:
    """A scalar given from outside as the interpreter holds it."""
    return NUMPY_TYPES[type_.name](value).item()


def to_numpy(value: Any, type_: Type) -> Any:
    """A result as NumPy shows it: an array, or a typed NumPy scalar."""
    if isinstance(type_, ArrayType):
        return np.ascontiguousarray(value)
    return NUMPY_TYPES[element_of(type_).name](value)
