"""Every scalar operator on the device means what it means in NumPy, on each type.

One kernel per type computes all its operators on the product of interesting numbers.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from minifut.ir.core import Program
from minifut.ir.parser import parse_program
from minifut.ir.scalar_meaning import apply, dtype_of
from minifut.ir.scalars import Operator, all_operators
from minifut.ir.types import SCALARS, ScalarType
from tests.opencl.device_programs import entry, load

pytestmark = [pytest.mark.device, pytest.mark.optimised]

EXACT = {
    "add", "sub", "mul", "div", "min", "max", "neg", "abs", "sgn", "floor", "ceil",
    "round", "trunc", "fma", "copysign", "to_bits", "from_bits", "isnan", "isinf",
    "convert", "lt", "le", "gt", "ge", "eq", "ne", "nextafter", "sqrt", "ldexp",
}  # fmt: skip


def operators_of(type_: ScalarType) -> list[Operator]:
    """The operators named after a type."""
    return [operator for operator in all_operators() if operator.type == type_]


def numbers(type_: ScalarType) -> np.ndarray:
    """Interesting numbers of a type."""
    dtype = dtype_of(type_)
    if type_.kind == "bool":
        return np.array([False, True])
    if type_.is_float:
        special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.75, 7.0, 1e-3, np.inf, -np.inf]
        return np.array([*special, np.nan, 100.25, -65000.0], dtype)
    limits = np.iinfo(dtype)
    near = [0, 1, 2, 3, 7, 8, 31, 33, 64, 100, limits.max, limits.max - 1, limits.min]
    if type_.kind == "int":
        near += [-1, -2, -3, -7, limits.min + 1]
    return np.array([n for n in near if limits.min <= n <= limits.max], dtype)


def program_of(operators: list[Operator]) -> Program:
    """A map that applies each operator to operands of its own arrays a, b, c."""
    types = list(dict.fromkeys(t for o in operators for t in o.operands))
    columns = {
        (t, place): f"{'abc'[place]}_{t}"
        for t in types
        for place in range(max(len(o.operands) for o in operators))
    }
    parameters = [f"{name}: [n]{t}" for (t, _), name in columns.items()]
    lines, returned = [], []
    for (t, place), name in columns.items():
        lines.append(f"    let x{place}_{t}: {t} = {name}[i]")
    for number, operator in enumerate(operators):
        inner = ", ".join(f"x{p}_{t}" for p, t in enumerate(operator.operands))
        lines.append(f"    let y{number}: {operator.result} = {operator}({inner})")
        returned.append(f"returns y{number}")
    results = [f"r{i}: [n]{o.result}" for i, o in enumerate(operators)]
    head = entry(
        1,
        " ".join(f"[]{t}" for t, _ in columns),
        " ".join(f"[]{o.result}" for o in operators),
    )
    outputs = ", ".join(str(o.result) for o in operators)
    names = ", ".join(f"r{i}" for i in range(len(operators)))
    body = "\n".join(lines)
    return parse_program(
        f"{head}fun main(n: i64, {', '.join(parameters)}) -> ({', '.join(results)}) {{\n"
        f"  let ({', '.join(results)}) = segmap grid (i < n) -> ({outputs}) {{\n{body}\n"
        f"    return {', '.join(returned)}\n  }}\n  return {names}\n}}\n"
    )


@pytest.mark.sweep
@pytest.mark.parametrize("type_", SCALARS.values(), ids=str)
def test_operators(type_: ScalarType) -> None:
    operators = operators_of(type_)
    types = list(dict.fromkeys(t for o in operators for t in o.operands))
    arity = max(len(o.operands) for o in operators)
    longest = max(len(numbers(t)) for t in types)
    picks = np.array(list(itertools.product(range(longest), repeat=min(arity, 2)))).T
    picks = np.concatenate([picks, picks[:1][:, ::-1]])
    given: dict[tuple[ScalarType, int], np.ndarray] = {
        (t, place): numbers(t)[picks[place] % len(numbers(t))]
        for t in types
        for place in range(arity)
    }
    instance = load(program_of(operators), "cpu")
    results = instance.main(*given.values())
    wrong = []
    for operator, result in zip(operators, results, strict=True):
        operands = [given[t, place] for place, t in enumerate(operator.operands)]
        expected = np.asarray(apply(operator, *operands))
        message = difference(operator, result, expected, operands)
        if message:
            wrong.append(message)
    assert not wrong, "\n".join(wrong)


def difference(
    operator: Operator, result: Any, expected: np.ndarray, operands: list[np.ndarray]
) -> str:
    """What is wrong with the result of an operator; "" if nothing is."""
    if result.dtype != expected.dtype:
        return f"{operator}: {result.dtype} instead of {expected.dtype}"
    if not operator.result.is_float or operator.name in EXACT:
        close = (result == expected) | ((result != result) & (expected != expected))
    else:
        bits = {16: 2e-3, 32: 4e-6, 64: 1e-13}[operator.result.bits]
        close = np.isclose(
            result.astype("f8"), expected.astype("f8"), bits, 1e-6, equal_nan=True
        )
    if operator.name == "to_bits":  # which NaN it is, is not specified
        close |= np.isnan(operands[0])
    if close.all():
        return ""
    at = int(np.argmin(close))
    shown = ", ".join(str(o[at]) for o in operands)
    return f"{operator}({shown}) = {result[at]}, should be {expected[at]}"
