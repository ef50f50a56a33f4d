"""Constants of the numeric modules: bounds, and what a float type calls pi or inf."""

from __future__ import annotations

import math

from minifut.frontend.elaborate.values import Leaf, Value, constant
from minifut.ir.types import I32, ScalarType

EPSILON = {"f16": 2.0**-10, "f32": 2.0**-23, "f64": 2.0**-52}


def number(value: int, type_: ScalarType) -> Leaf:
    """A number at a type."""
    return constant(float(value) if type_.is_float else value, type_)


def highest(type_: ScalarType) -> Leaf:
    """The greatest value."""
    if type_.is_float:
        return constant(math.inf, type_)
    bits = type_.bits if type_.kind == "uint" else type_.bits - 1
    return constant((1 << bits) - 1, type_)


def lowest(type_: ScalarType) -> Leaf:
    """The least value."""
    if type_.is_float:
        return constant(-math.inf, type_)
    return constant(0 if type_.kind == "uint" else -(1 << type_.bits - 1), type_)


def of_type(type_: ScalarType) -> dict[str, Value]:
    """All constants of a numeric module."""
    members: dict[str, Value] = {
        "highest": highest(type_),
        "lowest": lowest(type_),
        "num_bits": constant(type_.bits, I32),
    }
    if type_.is_float:
        members |= {
            "inf": constant(math.inf, type_),
            "nan": constant(math.nan, type_),
            "pi": constant(math.pi, type_),
            "e": constant(math.e, type_),
            "epsilon": constant(EPSILON[type_.name], type_),
        }
    return members
